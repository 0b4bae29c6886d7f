/** Resolves schemas given by their registry id, and existing topics, to the properties of a stream. */
import { invalidRequest } from '../../service-error.ts'
import { describeTopicConfig } from '../../../../shared/kafka/admin/topic-config.ts'
import { mayAdoptTopic, mayUseSubject } from '../../../../shared/model/adoption.ts'
import { LIMITS } from '../../../../shared/model/limits.ts'
import { NoSuchMessage } from '../../../../shared/codecs/protobuf-messages.ts'
import { SchemaRefused } from '../../../../shared/codecs/read-schemas.ts'
import { subjectOf } from '../../registry/registry.ts'
import { fieldsOf } from '../../registry/fields.ts'
import type { StreamFormat } from '../../../../shared/model/stream-formats.ts'
import type { StreamSchemaRow } from '../../store/streams.ts'
import type { Deps } from '../../deps.ts'
import { withDeadline } from '../../concurrency/with-deadline.ts'

type AdoptDeps = Pick<Deps, 'registry' | 'adoption' | 'cluster' | 'withAdmin'>

/**
 * Throws 400 at /schema_id for a schema that does not exist, that the account may not use, or that can't be a stream's; for an adopted
 * topic also if the topic's subject exists and the schema is not a version of it; and at /message where a Protobuf schema is needed, and at
 * `messagePath` where that has no such message.
 */
export async function resolveSchemaId(
  { registry, adoption }: Pick<AdoptDeps, 'registry' | 'adoption'>,
  accountId: string,
  schemaId: number,
  { topic, message, messagePath = '/schema_id' }: { topic?: string | undefined; message?: string | undefined; messagePath?: string },
): Promise<StreamSchemaRow & { format: StreamFormat }> {
  const refuse = (message: string) => invalidRequest([{ path: '/schema_id', message }])
  try {
    const found = await withDeadline(registry.find(schemaId), 'reading the schema')
    if (!found?.subjects.some((subject) => mayUseSubject(adoption, accountId, subject)))
      throw refuse('is not the id of a schema in the registry that this account may use')
    const subject = topic === undefined ? undefined : subjectOf(topic)
    if (
      subject !== undefined &&
      !found.subjects.includes(subject) &&
      (await withDeadline(registry.newestOf(subject), 'reading the schema'))
    )
      throw refuse(`is not a version of the topic's subject ${subject}`)
    if (message !== undefined && found.format !== 'protobuf')
      throw invalidRequest([{ path: '/message', message: `is for Protobuf schemas; this one is in ${found.format}` }])
    const schema_text = message === undefined ? found.text : { ...found.text, message }
    const schema = fieldsOf(found.format, schema_text)
    if (Object.keys(schema).length > LIMITS.stream_fields_max) throw refuse(`has more than ${LIMITS.stream_fields_max} fields`)
    return { format: found.format, schema, schema_text }
  } catch (error) {
    if (error instanceof SchemaRefused)
      throw error.cause instanceof NoSuchMessage
        ? invalidRequest([{ path: messagePath, message: error.message }])
        : refuse(`can't be used: ${error.message}`)
    throw error
  }
}

export type AdoptedTopic = {
  topic: string
  partitions: number
  retention_ms: number
  batch_bytes_max: number
  is_compacted: boolean
  compatibility: string
  schema_id: number
}

/** Describes an existing topic. Throws 400 at /topic, or at /schema_id if none is given and the topic's subject has none. */
export async function resolveTopic(
  { registry, adoption, cluster, withAdmin }: AdoptDeps,
  accountId: string,
  topic: string,
  schemaId: number | undefined,
): Promise<AdoptedTopic> {
  const refuse = (path: string, message: string) => invalidRequest([{ path, message }])
  const isAllowed = mayAdoptTopic(adoption, accountId, topic)
  const layout = isAllowed ? await withDeadline(cluster.describeTopic(topic), 'looking for the topic') : undefined
  if (!layout) throw refuse('/topic', 'is not a topic that this account may adopt')
  if (layout.leaders.length > LIMITS.adopted_partitions_max)
    throw refuse('/topic', `has ${layout.leaders.length} partitions, more than ${LIMITS.adopted_partitions_max}`)
  const config = await withDeadline(
    withAdmin((admin) => describeTopicConfig(admin, topic)),
    'reading the topic’s settings',
  )
  const subject = subjectOf(topic)
  const schema_id = schemaId ?? (await withDeadline(registry.newestOf(subject), 'reading the topic’s schema'))
  if (schema_id === undefined) throw refuse('/schema_id', `is required: the registry has no subject ${subject}`)
  return {
    topic,
    partitions: layout.leaders.length,
    ...config,
    compatibility: await withDeadline(registry.compatibilityOf(subject), 'reading the topic’s compatibility'),
    schema_id,
  }
}

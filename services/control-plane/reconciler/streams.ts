/** The idempotent steps that set a stream up, or remove it. Handlers run them at once; the reconciler runs them again after a crash. */
import { ensureTopics, removeTopics } from '../../../shared/kafka/admin/admin.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { schemaTextOf, type Schemed } from '../../../shared/model/schema-text.ts'
import { subjectOf, type Registry } from '../registry/registry.ts'
import { deleteStreamRow, saveStreamSchema, updateStream, type StreamRow } from '../store/streams.ts'
import type { Deps } from '../deps.ts'
import { findNewSchemas, saveSchemas } from './adopted-streams.ts'

type StreamDeps = Pick<Deps, 'db' | 'withAdmin' | 'registry' | 'replicationFactor'>

/** Registers a schema under the stream's subject: one made from its fields, or the text of one from the registry. Returns the id. */
export async function registerSchema(
  registry: Registry,
  { name, topic, compatibility }: StreamRow,
  schema: Omit<Schemed, 'name'>,
): Promise<number> {
  const text = schemaTextOf({ ...schema, name })
  return schema.schema_text
    ? registry.registerAsIs(subjectOf(topic), schema.format, text, compatibility)
    : registry.register(subjectOf(topic), schema.format, text.text, compatibility)
}

/** Registers the schema, creates the topic, sets the row active. An adopted stream has both already: only its schemas are saved. */
export async function setUpStream(deps: StreamDeps, stream: StreamRow): Promise<void> {
  const { db, withAdmin, registry, replicationFactor } = deps
  if (stream.is_adopted) {
    await saveStreamSchema(db, stream.id, stream.schema_id!, stream)
    await saveSchemas(db, stream.id, await findNewSchemas(db, registry, stream))
    await updateStream(db, stream.id, { status: 'active' })
    return
  }
  const schemaId = await registerSchema(registry, stream, stream)
  await withAdmin((admin) =>
    ensureTopics(admin, [
      {
        topic: stream.topic,
        partitions: stream.partitions,
        replicationFactor,
        config: {
          'retention.ms': stream.retention_ms,
          'max.message.bytes': String(LIMITS.topic_batch_bytes_max),
          // Chains fail records that are further ahead (`check-output.ts`), whatever the cluster's own default is.
          'message.timestamp.after.max.ms': '3600000',
        },
      },
    ]),
  )
  await saveStreamSchema(db, stream.id, schemaId, stream)
  await updateStream(db, stream.id, { status: 'active', schema_id: schemaId })
}

/** Removes topic and schema, unless the stream was adopted, and, last, the row. */
export async function takeDownStream({ db, withAdmin, registry }: StreamDeps, stream: StreamRow): Promise<void> {
  if (!stream.is_adopted) {
    await withAdmin((admin) => removeTopics(admin, [stream.topic]))
    await registry.remove(subjectOf(stream.topic))
  }
  await deleteStreamRow(db, stream.id)
}

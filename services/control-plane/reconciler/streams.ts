/** The idempotent steps that make a stream real, or undo it. Handlers run them at once; the reconciler runs them again after a crash. */
import { ensureTopics, removeTopics } from '../../../shared/kafka/admin/admin.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { schemaTextOf } from '../../../shared/model/stream-formats.ts'
import { jsonSchemaOf } from '../../../shared/model/stream-schema.ts'
import { subjectOf } from '../../../shared/registry/registry.ts'
import { deleteStreamRow, saveStreamSchema, updateStream, type StreamRow } from '../../../shared/store/streams.ts'
import type { Deps } from '../deps.ts'

type StreamDeps = Pick<Deps, 'db' | 'withAdmin' | 'registry' | 'replicationFactor'>

/** Registers the schema, makes the topic, sets the row active. */
export async function finishStream({ db, withAdmin, registry, replicationFactor }: StreamDeps, stream: StreamRow): Promise<void> {
  const schema =
    stream.format === 'json' ? JSON.stringify(jsonSchemaOf(stream.name, stream.schema)) : schemaTextOf(stream.format, stream.schema)
  const schemaId = await registry.register(subjectOf(stream.topic), stream.format, schema, stream.compatibility)
  await withAdmin((admin) =>
    ensureTopics(admin, [
      {
        topic: stream.topic,
        partitions: stream.partitions,
        replicationFactor,
        config: { 'retention.ms': stream.retention_ms, 'max.message.bytes': String(LIMITS.topic_batch_bytes_max) },
      },
    ]),
  )
  await saveStreamSchema(db, stream.id, schemaId, stream.schema)
  await updateStream(db, stream.id, { status: 'active', schema_id: schemaId })
}

/** Removes topic, schema and, last, the row. */
export async function undoStream({ db, withAdmin, registry }: StreamDeps, stream: StreamRow): Promise<void> {
  await withAdmin((admin) => removeTopics(admin, [stream.topic]))
  await registry.remove(subjectOf(stream.topic))
  await deleteStreamRow(db, stream.id)
}

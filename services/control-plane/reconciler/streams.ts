/** The idempotent steps that set a stream up, or remove it. Handlers run them at once; the reconciler runs them again after a crash. */
import { ensureTopics, removeTopics } from '../../../shared/kafka/admin/admin.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { schemaTextOf, type Schemed } from '../../../shared/model/schema-text.ts'
import { subjectOf, type Registry } from '../registry/registry.ts'
import { ServiceError } from '../service-error.ts'
import { inTransaction, type Queryable } from '../store/database.ts'
import { deleteStreamRow, lockAnyStream, saveStreamSchema, updateStream, type StreamRow } from '../store/streams.ts'
import type { Deps } from '../deps.ts'
import { findNewSchemas, saveSchemas } from '../definitions/adopted-schemas.ts'

type StreamDeps = Pick<Deps, 'db' | 'withAdmin' | 'registry' | 'replicationFactor' | 'log'>

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

/**
 * Sets the stream active, with what it needs to be. Throws 409, and leaves nothing behind, where its creation is being undone: what removes
 * it may have been here before its topic was.
 */
async function activate(
  deps: StreamDeps,
  stream: StreamRow,
  change: Parameters<typeof updateStream>[2],
  save: (trx: Queryable) => Promise<void>,
): Promise<void> {
  const isKept = await inTransaction(deps.db, async (trx) => {
    const row = await lockAnyStream(trx, stream.id)
    if (row?.status !== 'creating') return row !== undefined && row.status !== 'deleting'
    await save(trx)
    await updateStream(trx, stream.id, { ...change, status: 'active' })
    return true
  })
  if (isKept) return
  await removeMade(deps, stream)
  throw new ServiceError('conflict', `the stream "${stream.name}" was removed while it was being created`)
}

/** Registers the schema, creates the topic, sets the row active. An adopted stream has both already: only its schemas are saved. */
export async function setUpStream(deps: StreamDeps, stream: StreamRow): Promise<void> {
  const { db, withAdmin, registry, replicationFactor } = deps
  if (stream.is_adopted) {
    // The given one is stored before the others, whose sizes count with it.
    await saveStreamSchema(db, stream.id, stream.schema_id!, stream)
    const others = await findNewSchemas(deps, stream)
    return activate(deps, stream, {}, (trx) => saveSchemas(trx, stream.id, others))
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
  await activate(deps, stream, { schema_id: schemaId }, (trx) => saveStreamSchema(trx, stream.id, schemaId, stream))
}

async function removeMade({ withAdmin, registry }: StreamDeps, { is_adopted, topic }: StreamRow): Promise<void> {
  if (is_adopted) return
  await withAdmin((admin) => removeTopics(admin, [topic]))
  await registry.remove(subjectOf(topic))
}

/** Removes topic and schema, unless the stream was adopted, and, last, the row. */
export async function takeDownStream(deps: StreamDeps, stream: StreamRow): Promise<void> {
  await removeMade(deps, stream)
  await deleteStreamRow(deps.db, stream.id)
}

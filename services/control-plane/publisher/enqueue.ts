/** What goes into the outbox when a definition changes. */
import { definitionKeys, type PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Queryable } from '../store/database.ts'
import { enqueue, enqueueRevision } from '../store/outbox.ts'
import { insertRevision, updatePipeline, type PipelineRow } from '../store/pipelines.ts'
import { enqueueBinaries } from '../store/smartmodules.ts'

/** Puts the binaries that were not published yet into the outbox, in the caller's transaction. */
export async function enqueueBinariesOf(trx: Queryable, { steps }: PipelineDefinition): Promise<void> {
  await enqueueBinaries(
    trx,
    steps.flatMap(({ sha256, canary }) => (canary ? [sha256, canary.sha256] : [sha256])),
  )
}

/** Puts the binaries, the revision and then the definition into the outbox, in the caller's transaction. */
export async function enqueueDefinition(trx: Queryable, row: PipelineRow): Promise<void> {
  await enqueueBinariesOf(trx, row.definition)
  await enqueueRevision(trx, { ...row.definition, revision: row.revision })
  const { desired, attempt, revision } = row
  await enqueue(trx, definitionKeys.pipeline(row.id), { ...row.definition, desired, attempt, revision })
}

/** Whether processors know the pipeline: not if it was never started, or is still being created. */
export const isPublished = ({ status, desired }: Pick<PipelineRow, 'status' | 'desired'>): boolean =>
  status !== 'creating' && (status !== 'created' || desired !== 'stopped')

/** What lets a pipeline's tasks start anew. One that has failed is tried again: its status becomes `starting`. */
export const anew = ({ attempt, status }: PipelineRow): Parameters<typeof updatePipeline>[2] => ({
  attempt: attempt + 1,
  ...(status === 'failed' ? { status: 'starting', status_reason: null } : {}),
})

/**
 * Stores the pipeline's next revision and queues it for publishing, unless the pipeline was never started, or is still being created: tasks
 * would find no topics, and the end of its creation publishes what it is by then. Returns the updated row.
 */
export async function storeRevision(
  trx: Queryable,
  row: PipelineRow,
  definition: PipelineDefinition,
  change: Parameters<typeof updatePipeline>[2] = {},
): Promise<PipelineRow> {
  await insertRevision(trx, definition)
  const updated = await updatePipeline(trx, row.id, { ...change, revision: definition.revision, definition })
  if (isPublished(row)) await enqueueDefinition(trx, updated)
  return updated
}

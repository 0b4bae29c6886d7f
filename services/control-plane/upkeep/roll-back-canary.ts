/** Canaries with a share of the keys: their results as tasks report them, and rollback by the pipeline's next revision. */
import { inTransaction } from '../store/database.ts'
import { handledBy } from '../definitions/canary-counts.ts'
import { storeCanaryRevision } from '../definitions/canary-of.ts'
import type { Deps } from '../deps.ts'
import { endCanary, type CanaryRow } from '../store/canaries.ts'
import { listObserved } from '../store/observed.ts'
import { lockPipeline, type PipelineRow } from '../store/pipelines.ts'

/** Why the canary's share is taken from it, and whether the pipeline has failed for that; undefined while it is not. */
export async function canaryFault(
  { db }: Pick<Deps, 'db'>,
  row: CanaryRow,
  pipeline: PipelineRow,
): Promise<{ reason: string; hasFailed: boolean } | undefined> {
  const observed = await listObserved(db, pipeline.id)
  if (observed.some(({ quarantined }) => quarantined.includes(row.definition.sha256)))
    return { reason: 'is quarantined: its calls trap or do not return', hasFailed: true }
  const { isOff, records, failed, excess } = handledBy(row, pipeline, observed)
  if (!isOff) return undefined
  // The next revision's tasks count from zero. How a call trapped is in the pipeline's log.
  const reason = excess
    ? `failed ${excess.failed} of the ${excess.records} records that it handled in a task; ${row.max_failing} of them are allowed`
    : `was taken off by a task, because it trapped or did not return; before that it had handled ${records}, ${failed} of which failed`
  return { reason, hasFailed: false }
}

/** Rolls the canary back; one with a share hands it back with the pipeline's next revision. */
export async function rollBack(
  { db, notifyPublisher }: Pick<Deps, 'db' | 'notifyPublisher'>,
  row: CanaryRow,
  reason: string,
  hasFailed = false,
): Promise<void> {
  await inTransaction(db, async (trx) => {
    // Locked first, as in a change of the pipeline.
    const pipeline = await lockPipeline(trx, row.pipeline_id)
    const { records, failed } = pipeline ? handledBy(row, pipeline, await listObserved(trx, pipeline.id)) : { records: 0, failed: 0 }
    const end = { status: 'rolled_back', status_reason: reason, handled: records, handled_failed: failed } as const
    if (!(await endCanary(trx, row, end)) || !pipeline || row.share === null) return
    if (pipeline.status !== 'deleting') await storeCanaryRevision(trx, pipeline, undefined, hasFailed)
  })
  notifyPublisher()
}

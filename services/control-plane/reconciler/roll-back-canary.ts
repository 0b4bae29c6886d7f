/** Canaries with a share of the keys: their results as tasks report them, and rollback by the pipeline's next revision. */
import { inTransaction } from '../store/database.ts'
import type { ObservedTask } from '../../../shared/model/observed.ts'
import { CANARY_MEASURES } from '../../../shared/model/telemetry.ts'
import { publishCanary } from '../definitions/canary-of.ts'
import type { Deps } from '../deps.ts'
import { rollBackCanary, type CanaryRow } from '../store/canaries.ts'
import { listObserved } from '../store/observed.ts'
import { lockPipeline, type PipelineRow } from '../store/pipelines.ts'

type Observed = Pick<ObservedTask, 'revision' | 'measures' | 'quarantined'>

/** Records that the canary handled, and failed, since the tasks started with the pipeline's revision, and whether one has taken it off. */
export function handledBy(
  { step, share }: Pick<CanaryRow, 'step' | 'share'>,
  { revision }: Pick<PipelineRow, 'revision'>,
  observed: readonly Observed[],
): { records: number; failed: number; isOff: boolean } {
  const own = observed.filter((task) => task.revision === revision).flatMap(({ measures }) => measures)
  const sumOf = (wanted: string) =>
    own.reduce((sum, each) => sum + (each.step === step + 1 && each.name === wanted && each.kind === 'count' ? each.sum : 0), 0)
  if (share === null) return { records: 0, failed: 0, isOff: false }
  return { records: sumOf(CANARY_MEASURES.records), failed: sumOf(CANARY_MEASURES.failed), isOff: sumOf(CANARY_MEASURES.off) > 0 }
}

/** Why the canary's share is taken from it, and whether the pipeline has failed for that; undefined while it is not. */
export async function shareFault(
  { db }: Pick<Deps, 'db'>,
  row: CanaryRow,
  pipeline: PipelineRow,
): Promise<{ reason: string; hasFailed: boolean } | undefined> {
  const observed = await listObserved(db, pipeline.id)
  if (observed.some(({ quarantined }) => quarantined.includes(row.definition.sha256)))
    return { reason: 'is quarantined: its calls trap or do not return', hasFailed: true }
  const { isOff, records, failed } = handledBy(row, pipeline, observed)
  return isOff
    ? {
        // The next revision's tasks count from zero. Why a task stopped the canary is in the pipeline's log.
        reason:
          `was taken off by a task: it trapped, did not return, or failed more than ${row.max_failing} of its records; ` +
          `before that it had handled ${records}, ${failed} of which failed`,
        hasFailed: false,
      }
    : undefined
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
    if (!(await rollBackCanary(trx, row, reason)) || !pipeline || row.share === null) return
    if (pipeline.status !== 'deleting') await publishCanary(trx, pipeline, undefined, hasFailed)
  })
  notifyPublisher()
}

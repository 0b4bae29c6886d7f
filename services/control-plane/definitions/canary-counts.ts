/** What a canary with a share of the keys has handled, as its pipeline's tasks report it. */
import type { ObservedTask } from '../../../shared/model/observed.ts'
import { CANARY_MEASURES } from '../../../shared/model/telemetry.ts'
import type { CanaryRow } from '../store/canaries.ts'
import type { PipelineRow } from '../store/pipelines.ts'

/**
 * Records that the canary handled, and failed, since the tasks started with the pipeline's revision; whether a task has taken it off, and
 * how many records of that task it had failed by then, where that was why.
 */
export function handledBy(
  { step, share }: Pick<CanaryRow, 'step' | 'share'>,
  { revision }: Pick<PipelineRow, 'revision'>,
  observed: readonly Pick<ObservedTask, 'revision' | 'measures'>[],
): { records: number; failed: number; isOff: boolean; excess?: { records: number; failed: number } } {
  const own = observed.filter((task) => task.revision === revision)
  const sumOf = (wanted: string, tasks = own) =>
    tasks
      .flatMap(({ measures }) => measures)
      .reduce((sum, each) => sum + (each.step === step + 1 && each.name === wanted && each.kind === 'count' ? each.sum : 0), 0)
  if (share === null) return { records: 0, failed: 0, isOff: false }
  const failing = own.find((task) => sumOf(CANARY_MEASURES.offFailed, [task]) > 0)
  // What the task had handled by then, with the records of the round that stopped it: they were run again without the canary.
  const perRun = (wanted: string, task: (typeof own)[number]) => Math.round(sumOf(wanted, [task]) / sumOf(CANARY_MEASURES.off, [task]))
  const excess = failing && {
    records: perRun(CANARY_MEASURES.offRecords, failing),
    failed: perRun(CANARY_MEASURES.offFailed, failing),
  }
  const others = failing ? own.filter((task) => task !== failing) : own
  return {
    records: sumOf(CANARY_MEASURES.records, others) + (excess?.records ?? 0),
    failed: sumOf(CANARY_MEASURES.failed, others) + (excess?.failed ?? 0),
    isOff: sumOf(CANARY_MEASURES.off) > 0,
    ...(excess && { excess }),
  }
}

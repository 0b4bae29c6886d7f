/** Reports of tasks that don't run: those of stopped pipelines, and of pipelines that have failed for good. */
import { runIdOf, runOf, tasksOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { isTaskOver, keyOfReport, observedKey, runOfReport, type ObservedTask } from '../../../shared/model/observed.ts'
import type { TaskId } from '../../../shared/model/task.ts'

export type FinalsOptions = {
  processorId: string
  pipelines: ReadonlyMap<string, PipelineDefinition>
  /** Whether a runner may still have the task. */
  holds(taskKey: string): boolean
  /** Whether this processor is to run the task, or to report it. */
  isPlacedHere(definition: PipelineDefinition, id: TaskId): boolean
  now(): number
}

/** What a processor says of a task that no runner has. */
export function reportOfNone(
  definition: PipelineDefinition,
  { role, task }: TaskId,
  { processorId, now }: Pick<FinalsOptions, 'processorId' | 'now'>,
  status: 'starting' | 'stopped' | 'failed',
  reason: string | null,
): ObservedTask {
  const { revision, attempt } = definition
  const at = new Date(now()).toISOString()
  const work = { records_per_second: 0, in_flight: 0, held_back: false, quarantined: [], measures: [], partitions: [] }
  return { ...runOf(definition), role, task, processor_id: processorId, revision, attempt, status, reason, at, ...work }
}

export function createFinals({ processorId, pipelines, holds, isPlacedHere, now }: FinalsOptions) {
  /** The final report of each task of a stopped pipeline, kept until the task starts again or the pipeline is deleted. */
  const finals = new Map<string, ObservedTask>()

  const idle = (definition: PipelineDefinition, id: TaskId, status: 'stopped' | 'failed', reason: string | null): ObservedTask =>
    reportOfNone(definition, id, { processorId, now }, status, reason)

  return {
    reports: (): ObservedTask[] => [...finals.values()],
    /** A task has ended. The control plane waits for the report that a stopped pipeline has drained; one that moved has a new owner. */
    onTaskEnded(last: ObservedTask): void {
      const definition = pipelines.get(runOfReport(last))
      const key = keyOfReport(last)
      if (definition && isTaskOver(last) && last.attempt === definition.attempt && definition.desired !== 'stopped') finals.set(key, last)
      if (definition?.desired !== 'stopped') return
      finals.set(key, { ...last, ...idle(definition, last, 'stopped', null), revision: last.revision, partitions: last.partitions })
    },
    /** Whether the task has failed or finished in this attempt. */
    isSettled(definition: PipelineDefinition, id: TaskId): boolean {
      const known = finals.get(observedKey(runIdOf(definition), id))
      return known !== undefined && isTaskOver(known) && known.attempt === definition.attempt
    },
    /** The task runs again. */
    forget: (taskKey: string): void => void finals.delete(taskKey),
    /** A pipeline may be stopped before any of its tasks ran: the processor that would run them must report that nothing runs. */
    update(): void {
      for (const [key, last] of finals) {
        const definition = pipelines.get(runOfReport(last))
        // A task that has moved is its new owner's to report.
        if (!definition || (isTaskOver(last) && !isPlacedHere(definition, last))) finals.delete(key)
      }
      for (const [runId, definition] of pipelines) {
        if (definition.desired !== 'stopped') continue
        for (const id of tasksOf(definition)) {
          const key = observedKey(runId, id)
          const known = finals.get(key)
          const isReported = known?.status === 'stopped' && known.revision === definition.revision && known.attempt === definition.attempt
          if (holds(key) || isReported) continue
          if (isPlacedHere(definition, id)) finals.set(key, idle(definition, id, 'stopped', null))
        }
      }
    },
    /** All of this processor's tasks of a run that must not run, but for those that a runner still has. */
    idle: (definition: PipelineDefinition, status: 'stopped' | 'failed', reason: string): ObservedTask[] =>
      tasksOf(definition)
        .filter((id) => isPlacedHere(definition, id) && !holds(observedKey(runIdOf(definition), id)))
        .map((id) => idle(definition, id, status, reason)),
  }
}

/** Reports of tasks that don't run: those of stopped pipelines, and of pipelines that have failed for good. */
import { observedKey, runIdOf, taskNumbersOf, type ObservedTask, type PipelineDefinition } from '../../../shared/model/definition.ts'

export type FinalsOptions = {
  processorId: string
  pipelines: ReadonlyMap<string, PipelineDefinition>
  /** Whether a runner may still have the task. */
  holds(taskKey: string): boolean
  /** Whether this processor is to run the task, or to report it. */
  isMine(definition: PipelineDefinition, index: number): boolean
  now(): number
}

const isOver = ({ status }: ObservedTask): boolean => status === 'failed' || status === 'finished'

export function createFinals({ processorId, pipelines, holds, isMine, now }: FinalsOptions) {
  /** The final report of each task of a stopped pipeline, kept until the task starts again or the pipeline is deleted. */
  const finals = new Map<string, ObservedTask>()

  function idle(definition: PipelineDefinition, task: number, status: 'stopped' | 'failed', reason: string | null): ObservedTask {
    const { revision, attempt } = definition
    const at = new Date(now()).toISOString()
    const work = { records_per_second: 0, in_flight: 0, held_back: false, quarantined: [], measures: [], partitions: [] }
    return { pipeline_id: runIdOf(definition), task, processor_id: processorId, revision, attempt, status, reason, at, ...work }
  }

  return {
    reports: (): ObservedTask[] => [...finals.values()],
    /** A task has ended. The control plane waits for the report that a stopped pipeline has drained; one that only moved has a new owner. */
    onTaskEnded(last: ObservedTask): void {
      const definition = pipelines.get(last.pipeline_id)
      const key = observedKey(last.pipeline_id, last.task)
      if (definition && isOver(last) && last.attempt === definition.attempt && definition.desired !== 'stopped') finals.set(key, last)
      if (definition?.desired !== 'stopped') return
      finals.set(key, { ...last, ...idle(definition, last.task, 'stopped', null), revision: last.revision, partitions: last.partitions })
    },
    /** Whether the task has failed or finished in this attempt. */
    isSettled(definition: PipelineDefinition, index: number): boolean {
      const known = finals.get(observedKey(runIdOf(definition), index))
      return known !== undefined && isOver(known) && known.attempt === definition.attempt
    },
    /** The task runs again. */
    forget: (taskKey: string): void => void finals.delete(taskKey),
    /** A pipeline may be stopped before any of its tasks ran: the processor that would run them must report that nothing runs. */
    update(): void {
      for (const [key, last] of finals) {
        const definition = pipelines.get(last.pipeline_id)
        // A task that has moved is its new owner's to report.
        if (!definition || (isOver(last) && !isMine(definition, last.task))) finals.delete(key)
      }
      for (const [runId, definition] of pipelines) {
        if (definition.desired !== 'stopped') continue
        for (const index of taskNumbersOf(definition)) {
          const key = observedKey(runId, index)
          const known = finals.get(key)
          const isReported = known?.status === 'stopped' && known.revision === definition.revision && known.attempt === definition.attempt
          if (holds(key) || isReported) continue
          if (isMine(definition, index)) finals.set(key, idle(definition, index, 'stopped', null))
        }
      }
    },
    /** All of this processor's tasks of a run that must not run, but for those that a runner still has. */
    idle: (definition: PipelineDefinition, status: 'stopped' | 'failed', reason: string): ObservedTask[] =>
      taskNumbersOf(definition)
        .filter((index) => isMine(definition, index) && !holds(observedKey(runIdOf(definition), index)))
        .map((index) => idle(definition, index, status, reason)),
  }
}

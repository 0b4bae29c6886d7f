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

export function createFinals({ processorId, pipelines, holds, isMine, now }: FinalsOptions) {
  /** The final report of each task of a stopped pipeline, kept until the task starts again or the pipeline is deleted. */
  const finals = new Map<string, ObservedTask>()

  function idle(definition: PipelineDefinition, task: number, status: 'stopped' | 'failed', reason: string | null): ObservedTask {
    const { revision, attempt } = definition
    const at = new Date(now()).toISOString()
    const work = { records_per_second: 0, in_flight: 0, held_back: false, quarantined: [], partitions: [] }
    return { pipeline_id: runIdOf(definition), task, processor_id: processorId, revision, attempt, status, reason, at, ...work }
  }

  return {
    reports: (): ObservedTask[] => [...finals.values()],
    /** A task has ended. The control plane waits for the report that a stopped pipeline has drained; one that only moved has a new owner. */
    onTaskEnded(last: ObservedTask): void {
      const definition = pipelines.get(last.pipeline_id)
      if (definition?.desired !== 'stopped') return
      const key = observedKey(last.pipeline_id, last.task)
      finals.set(key, { ...last, ...idle(definition, last.task, 'stopped', null), revision: last.revision, partitions: last.partitions })
    },
    /** The task runs again. */
    forget: (taskKey: string): void => void finals.delete(taskKey),
    /** A pipeline may be stopped before any of its tasks ran: the processor that would run them must report that nothing runs. */
    update(): void {
      for (const [key, { pipeline_id }] of finals) if (!pipelines.has(pipeline_id)) finals.delete(key)
      for (const [runId, definition] of pipelines) {
        if (definition.desired !== 'stopped') continue
        for (const index of taskNumbersOf(definition)) {
          const key = observedKey(runId, index)
          const known = finals.get(key)
          if (holds(key) || (known?.revision === definition.revision && known.attempt === definition.attempt)) continue
          if (isMine(definition, index)) finals.set(key, idle(definition, index, 'stopped', null))
        }
      }
    },
    /** All of this processor's tasks of a run that has failed. */
    failed: (definition: PipelineDefinition, reason: string): ObservedTask[] =>
      taskNumbersOf(definition)
        .filter((index) => isMine(definition, index))
        .map((index) => idle(definition, index, 'failed', reason)),
  }
}

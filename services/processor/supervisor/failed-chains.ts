/**
 * Chain tasks that have failed, of pipelines with an intake. The intake stops meanwhile, wherever in the fleet it runs: its topic would
 * keep all that it reads and no chain handles. A record on `dps.fleet`, which the processor of the failed task writes and removes.
 */
import { z } from 'zod'
import { runIdOf, tasksOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { keyOfReport, observedKey, runOfReport, type ObservedTask } from '../../../shared/model/observed.ts'
import { isSameTask, TaskId } from '../../../shared/model/task.ts'
import { openFleetRecords, type FleetTopic } from './fleet-records.ts'

const Failed = z.object({ run_id: z.string(), task: TaskId, attempt: z.number() })

export type FailedChains = {
  /** A chain task of this attempt has failed, and there is an intake. */
  has(definition: PipelineDefinition): boolean
  /**
   * Takes over what tasks report that are this processor's own, forgets what has been started again since, and writes what could not be
   * written so far.
   */
  update(
    pipelines: ReadonlyMap<string, PipelineDefinition>,
    reports: readonly ObservedTask[],
    isOwn: (definition: PipelineDefinition, task: TaskId) => boolean,
  ): void
  caughtUp: Promise<void>
  close(): Promise<void>
}

export function openFailedChains(around: FleetTopic): FailedChains {
  /** By the key of the task's report. */
  const failed = openFleetRecords({ ...around, purpose: 'failed-chains', prefix: 'failed/', schema: Failed })
  return {
    has(definition) {
      if (failed.values.size === 0 || definition.source.kind === 'topic') return false
      return tasksOf(definition).some((id) => failed.values.get(observedKey(runIdOf(definition), id))?.attempt === definition.attempt)
    },
    update(pipelines, reports, isOwn) {
      for (const report of reports) {
        const definition = pipelines.get(runOfReport(report))
        const { role, task, attempt, status } = report
        if (role === 'intake' || definition?.source.kind !== 'connector' || definition.attempt !== attempt) continue
        const [key, run_id] = [keyOfReport(report), runIdOf(definition)]
        const isKnown = failed.values.get(key)?.attempt === attempt
        // A processor that starts tries failed tasks again.
        const isOver = isKnown && (status === 'running' || status === 'paused')
        if ((!isOver && (isKnown || status !== 'failed')) || !isOwn(definition, report)) continue
        if (isOver) failed.remove(key)
        else failed.put(key, { run_id, task: { role, task }, attempt })
      }
      for (const [key, { run_id, task, attempt }] of failed.values) {
        const definition = pipelines.get(run_id)
        const isWanted = definition !== undefined && tasksOf(definition).some((each) => isSameTask(each, task))
        if (!isWanted || attempt < definition.attempt) failed.remove(key)
      }
      failed.write()
    },
    caughtUp: failed.caughtUp,
    close: failed.close,
  }
}

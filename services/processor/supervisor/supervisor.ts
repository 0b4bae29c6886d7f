/**
 * Which tasks run on this processor, and in which runner: the definitions say what should run, the fleet says where, and `blame.ts` says
 * which pipelines share a runner. Passes may run any number of times, triggered by anything. Nothing of an account runs in this process.
 */
import { runIdOf, tasksOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { observedKey, type ObservedTask } from '../../../shared/model/observed.ts'
import type { TaskId } from '../../../shared/model/task.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import type { Blame } from './blame.ts'
import type { Declined } from './declined.ts'
import type { FailedChains } from './failed-chains.ts'
import { createFinals } from './finals.ts'
import type { Fleet } from './fleet.ts'
import { niceOf } from './nice.ts'
import { placeTask } from './placement.ts'
import type { Placement } from './runner-group.ts'
import type { RunnerEnd } from './runner-process.ts'
import { openRunners, type Runners, type RunnersOptions } from './runners.ts'
import type { Verdicts } from './verdicts.ts'

export type SupervisorOptions = Pick<
  RunnersOptions,
  'settings' | 'env' | 'memoryBytesMax' | 'now' | 'log' | 'definitions' | 'connectorDefaults' | 'onChange' | 'onLogs'
> & {
  fleet: Fleet
  declined: Declined
  verdicts: Verdicts
  failedChains: FailedChains
  blame: Blame
}

export type Supervisor = {
  /** Compares the wanted tasks with the running ones. */
  reconcile(): void
  observed(): ObservedTask[]
  usage: Runners['usage']
  /** Starts no more tasks; running ones go on until `close`. */
  drain(): void
  close(): Promise<void>
}

const PASS_MS = 500
const INTAKE_WAITS = 'a task of the chain has failed: nothing more is read until the pipeline is started again'

export function openSupervisor(options: SupervisorOptions): Supervisor {
  const { blame, declined, definitions, failedChains, fleet, verdicts } = options
  const { processorId } = options.settings
  const { pipelines } = definitions
  let draining = false
  let closed = false
  const warn = (what: string, definition: PipelineDefinition) => (error: unknown) =>
    options.log('warn', what, { run_id: runIdOf(definition), reason: reasonOf(error) })

  const runners = openRunners({
    ...options,
    onEnd,
    niceOf: (group, placement, hasSteppedBack) => niceOf(group, placement, definitions, hasSteppedBack),
    onTaskEnded: (last) => finals.onTaskEnded(last),
    onDeclined,
    onFreed: () => reconcile(),
  })
  const finals = createFinals({ ...options, processorId, pipelines, holds: runners.holds, isPlacedHere })

  function isPlacedHere(definition: PipelineDefinition, id: TaskId): boolean {
    const runId = runIdOf(definition)
    const members = declined.eligible(fleet.members(), runId, id, definition.attempt, definition.revision)
    return placeTask(members, runId, id) === processorId
  }

  const isSuspended = ({ account_id }: PipelineDefinition): boolean => definitions.account(account_id)?.is_suspended === true

  function onEnd(group: string, runs: PipelineDefinition[], { cause, isBlamed, notes }: RunnerEnd): void {
    if (!isBlamed) return
    for (const failed of blame.onEnd(group, runs, new Set(notes.map(({ runId }) => runId)))) {
      const phase = notes.find(({ runId }) => runId === runIdOf(failed))?.phase
      const reason = `runner_ended: the pipeline has ended its process again and again, the last time by ${cause}${phase ? ` (${phase})` : ''}`
      warn('a pipeline has failed', failed)(reason)
      verdicts.fail(failed, reason)
    }
  }

  function onDeclined(definition: PipelineDefinition, task: TaskId): void {
    if (fleet.members().length < 2) return
    declined.decline(runIdOf(definition), task, definition.attempt, definition.revision)
    reconcile()
  }

  /** An intake that must not read on. */
  const isHalted = (definition: PipelineDefinition, { role }: TaskId): boolean => role === 'intake' && failedChains.has(definition)

  function placements(): Map<string, Placement> {
    const groups = new Map<string, Map<string, { definition: PipelineDefinition; tasks: readonly TaskId[] }>>()
    for (const [runId, definition] of pipelines) {
      if (definition.desired === 'stopped' || isSuspended(definition) || verdicts.of(definition) !== undefined) continue
      // A task that has failed or finished stays so until the next attempt, whichever runner it would be in.
      const tasks = tasksOf(definition).filter(
        (id) => !isHalted(definition, id) && isPlacedHere(definition, id) && !finals.isSettled(definition, id),
      )
      if (tasks.length === 0) continue
      for (const task of tasks) finals.forget(observedKey(runId, task))
      const group = blame.groupOf(definition)
      let placement = groups.get(group)
      if (!placement) groups.set(group, (placement = new Map()))
      placement.set(runId, { definition, tasks })
    }
    return groups
  }

  function reconcile(): void {
    // While it drains the fleet has left it out: what runs goes on until `close`.
    if (closed || draining) return
    failedChains.update(pipelines, [...finals.reports(), ...runners.reports()], isPlacedHere)
    runners.place(placements())
    finals.update()
    declined.update()
    verdicts.update((runId) => pipelines.has(runId))
    blame.prune((runId) => pipelines.has(runId))
  }
  const timer = setInterval(reconcile, PASS_MS)

  /** Reports of tasks that are wanted and must not run. */
  function withheld(): ObservedTask[] {
    return [...pipelines.values()].flatMap((definition) => {
      if (definition.desired === 'stopped') return []
      const reason = verdicts.of(definition)
      if (reason !== undefined) return finals.idle(definition, 'failed', reason)
      // What has failed or finished stays so.
      const idle = (why: string) => finals.idle(definition, 'stopped', why).filter((report) => !finals.isSettled(definition, report))
      if (isSuspended(definition)) return idle('the account is suspended')
      return failedChains.has(definition) ? idle(INTAKE_WAITS).filter((report) => isHalted(definition, report)) : []
    })
  }

  return {
    reconcile,
    observed: () => [...finals.reports(), ...withheld(), ...runners.reports()],
    usage: runners.usage,
    drain() {
      draining = true
    },
    async close() {
      closed = true
      clearInterval(timer)
      await runners.close()
    },
  }
}

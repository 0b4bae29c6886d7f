/**
 * The runs that share a runner, and what their runner knows of them: it is told what changed, and asked nothing. What it reports counts
 * for the tasks that it was given, and for nothing else.
 */
import { accountDefaultsOf } from '../../../shared/connectors/account-defaults.ts'
import type { OperatorDefaults } from '../../../shared/connectors/connector.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { keyOfReport, observedKey, type ObservedTask } from '../../../shared/model/observed.ts'
import { taskName, type TaskId } from '../../../shared/model/task.ts'
import type { LogLine } from '../../../shared/model/logs.ts'
import type { FromRunner } from '../channel/protocol.ts'
import type { DefinitionCopy } from './definitions.ts'
import type { RunnerProcess } from './runner-process.ts'

/** What is to run in one runner, by run id. */
export type Placement = ReadonlyMap<string, { definition: PipelineDefinition; tasks: readonly TaskId[] }>

export type RunnerGroup = ReturnType<typeof createRunnerGroup>

export type RunnerGroupOptions = {
  name: string
  processorId: string
  definitions: DefinitionCopy
  connectorDefaults: OperatorDefaults
  /** Whether another runner may still have the task. */
  isHeldElsewhere(taskKey: string): boolean
  /** The last report of a task that has ended. */
  onTaskEnded(last: ObservedTask): void
  onDeclined(definition: PipelineDefinition, task: TaskId): void
  onLogs(definition: PipelineDefinition, lines: readonly LogLine[]): void
  /** A report has changed. */
  onChange(): void
  /** A task is gone: what waited for it may start. */
  onFreed(): void
}

/** How long a run that was released may go on logging. */
const LAST_LINES_MS = 10_000

/** Runs that were released a short while ago: they still log how they end. */
function createLeaving() {
  const runs = new Map<string, PipelineDefinition>()
  return {
    of: (runId: string) => runs.get(runId),
    add(runId: string, definition: PipelineDefinition): void {
      runs.set(runId, definition)
      setTimeout(() => runs.delete(runId), LAST_LINES_MS).unref()
    },
  }
}

/** The accounts whose runs a runner has had, and what it is told of them. */
function createAccounts({ definitions, connectorDefaults }: Pick<RunnerGroupOptions, 'definitions' | 'connectorDefaults'>) {
  const known = new Set<string>()
  let secretsVersion = -1
  return {
    known: known as ReadonlySet<string>,
    /** Another runner takes the group over: it knows nothing. */
    forget(): void {
      known.clear()
      secretsVersion = -1
    },
    /** Where there is another account, or another secret, since the last time. */
    send(to: RunnerProcess, placement: Placement): void {
      const before = known.size
      for (const { definition } of placement.values()) known.add(definition.account_id)
      const version = definitions.secretsVersion(known)
      if (secretsVersion === version && known.size === before) return
      secretsVersion = version
      const defaults = Object.fromEntries([...known].map((id) => [id, accountDefaultsOf(connectorDefaults, id)]))
      to.send({ type: 'accounts', secrets: definitions.secretsOf(known), defaults })
    },
  }
}

/** A task as it was last assigned, and its last report; `declinedIn` is the attempt of its decline. */
type AssignedTask = { assignment: number; definition: PipelineDefinition; last: ObservedTask | undefined; declinedIn?: number }

/** The report as the supervisor passes it on: what a runner says of whose it is does not count. */
const identified = (report: ObservedTask, definition: PipelineDefinition, processor_id: string): ObservedTask => ({
  ...report,
  pipeline_id: definition.pipeline_id,
  job_id: definition.job?.job_id,
  processor_id,
})

export function createRunnerGroup(options: RunnerGroupOptions) {
  const { definitions, processorId } = options
  let runner: RunnerProcess | undefined
  /** What the runner was assigned, by run id. */
  const assigned = new Map<string, { definition: PipelineDefinition; fingerprint: string }>()
  const leaving = createLeaving()
  /** By task key, each task that the runner may have, with its last report. */
  const tasks = new Map<string, AssignedTask>()
  let assignment = 0
  const accounts = createAccounts(options)

  function onReport({ tasks: reported, ended }: Extract<FromRunner, { type: 'report' }>): void {
    for (const task of reported) {
      const known = tasks.get(keyOfReport(task))
      if (known) known.last = identified(task, known.definition, processorId)
    }
    for (const { assignment: endedIn, last } of ended) {
      const key = keyOfReport(last)
      // It has been assigned again since, and that assignment is still to come to the runner, or has only just.
      const known = tasks.get(key)
      if (known?.assignment !== endedIn) continue
      tasks.delete(key)
      options.onTaskEnded(identified(last, known.definition, processorId))
    }
    options.onChange()
    if (ended.length > 0) options.onFreed()
  }

  return {
    name: options.name,
    startAt: 0,
    /** It has work, and no runner that is ready. */
    waitingSince: undefined as number | undefined,
    /** Why its last runner ended, until another one is ready. */
    lastEnd: null as string | null,
    idleSince: undefined as number | undefined,
    /** Nothing is to run in it any more, and its tasks have not ended yet. */
    leavingSince: undefined as number | undefined,
    get runner() {
      return runner
    },
    has: (taskKey: string): boolean => tasks.has(taskKey),
    /** The only account whose runs it has had; undefined where there are several. */
    account: (): string | undefined => (accounts.known.size === 1 ? [...accounts.known][0] : undefined),
    isEmpty: (): boolean => tasks.size === 0,
    reports: (): ObservedTask[] => [...tasks.values()].flatMap(({ last }) => (last ? [last] : [])),
    use(given: RunnerProcess): void {
      runner = given
      accounts.forget()
    },
    /** The runner has ended: returns what it had. */
    lose(): { runs: PipelineDefinition[]; last: ObservedTask[] } {
      const lost = { runs: [...assigned.values()].map(({ definition }) => definition), last: this.reports() }
      runner = undefined
      assigned.clear()
      tasks.clear()
      return lost
    },
    /** Tells the runner what changed since it was told last. */
    tell(placement: Placement): void {
      if (!runner?.isReady()) return
      accounts.send(runner, placement)
      for (const runId of assigned.keys()) {
        if (placement.has(runId)) continue
        leaving.add(runId, assigned.get(runId)!.definition)
        assigned.delete(runId)
        runner.send({ type: 'release', run_id: runId })
      }
      for (const [runId, { definition, tasks: wanted }] of placement) {
        const free = wanted.filter((task) => !options.isHeldElsewhere(observedKey(runId, task)))
        const { revision, attempt, desired } = definition
        const fingerprint = `${revision}/${attempt}/${desired}/${free.map(taskName).join()}`
        if (free.length === 0 || assigned.get(runId)?.fingerprint === fingerprint) continue
        assigned.set(runId, { definition, fingerprint })
        assignment++
        for (const task of free) {
          const key = observedKey(runId, task)
          tasks.set(key, { ...tasks.get(key), assignment, definition, last: tasks.get(key)?.last })
        }
        runner.send({ type: 'assign', assignment, definition, tasks: free })
      }
    },
    onValue(value: Exclude<FromRunner, { type: 'ready' | 'beat' }>): void {
      switch (value.type) {
        case 'report':
          return onReport(value)
        case 'logs': {
          const definition = assigned.get(value.run_id)?.definition ?? leaving.of(value.run_id)
          return definition && options.onLogs(definition, value.lines)
        }
        case 'declined': {
          const definition = assigned.get(value.run_id)?.definition
          const known = tasks.get(observedKey(value.run_id, value.task))
          if (!definition || !known || known.declinedIn === definition.attempt) return
          known.declinedIn = definition.attempt
          options.onDeclined(definition, value.task)
          return
        }
        case 'need': {
          const binary = definitions.smartModule(accounts.known, value.sha256)
          return binary ? runner?.sendBinary(value.id, binary) : runner?.send({ type: 'answer', id: value.id, value: null })
        }
        case 'need_revision': {
          const isOwn = [...assigned.values()].some(({ definition }) => definition.pipeline_id === value.pipeline_id)
          const found = isOwn ? definitions.revision(value.pipeline_id, value.revision) : undefined
          return runner?.send({ type: 'answer', id: value.id, value: found ?? null })
        }
        default:
          value satisfies never
      }
    },
  }
}

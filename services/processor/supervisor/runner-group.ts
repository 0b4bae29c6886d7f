/**
 * The runs that share a runner, and what their runner knows of them: it is told what changed, and asked nothing. What it reports counts
 * for the tasks that it was given, and for nothing else.
 */
import { observedKey, type ObservedTask, type PipelineDefinition } from '../../../shared/model/definition.ts'
import type { FromRunner } from '../channel/protocol.ts'
import type { Definitions } from './definitions.ts'
import type { RunnerProcess } from './runner-process.ts'

/** What is to run in one runner, by run id. */
export type Placement = ReadonlyMap<string, { definition: PipelineDefinition; tasks: readonly number[] }>

export type RunnerGroup = ReturnType<typeof createRunnerGroup>

export type RunnerGroupOptions = {
  name: string
  processorId: string
  definitions: Definitions
  /** Whether another runner may still have the task. */
  isHeldElsewhere(taskKey: string): boolean
  /** The last report of a task that has ended. */
  onTaskEnded(last: ObservedTask): void
  onDeclined(definition: PipelineDefinition, task: number): void
  /** A report has changed. */
  onChange(): void
  /** A task is gone: what waited for it may start. */
  onFreed(): void
}

export function createRunnerGroup(options: RunnerGroupOptions) {
  const { definitions, processorId } = options
  let runner: RunnerProcess | undefined
  /** What the runner was told, by run id. */
  const told = new Map<string, { definition: PipelineDefinition; fingerprint: string }>()
  /** By task key, each task that the runner may have, with its last report. */
  const tasks = new Map<string, ObservedTask | undefined>()
  const accounts = new Set<string>()
  let secretsVersion = -1

  function sendSecrets(to: RunnerProcess, placement: Placement): void {
    const known = accounts.size
    for (const { definition } of placement.values()) accounts.add(definition.account_id)
    const version = definitions.secretsVersion()
    if (secretsVersion === version && accounts.size === known) return
    secretsVersion = version
    to.send({ type: 'secrets', secrets: definitions.secretsOf(accounts) })
  }

  function onReport(reported: readonly ObservedTask[], ended: readonly ObservedTask[]): void {
    for (const task of reported) {
      const key = observedKey(task.pipeline_id, task.task)
      if (tasks.has(key)) tasks.set(key, { ...task, processor_id: processorId })
    }
    for (const task of ended)
      if (tasks.delete(observedKey(task.pipeline_id, task.task))) options.onTaskEnded({ ...task, processor_id: processorId })
    options.onChange()
    if (ended.length > 0) options.onFreed()
  }

  return {
    name: options.name,
    startAt: 0,
    idleSince: undefined as number | undefined,
    get runner() {
      return runner
    },
    has: (taskKey: string): boolean => tasks.has(taskKey),
    isEmpty: (): boolean => tasks.size === 0,
    reports: (): ObservedTask[] => [...tasks.values()].filter((task) => task !== undefined),
    use(given: RunnerProcess): void {
      runner = given
      accounts.clear()
      secretsVersion = -1
    },
    /** The runner has ended: returns what it had. */
    lose(): { runs: PipelineDefinition[]; last: ObservedTask[] } {
      const lost = { runs: [...told.values()].map(({ definition }) => definition), last: this.reports() }
      runner = undefined
      told.clear()
      tasks.clear()
      return lost
    },
    /** Tells the runner what changed since it was told last. */
    tell(placement: Placement): void {
      if (!runner?.isReady()) return
      sendSecrets(runner, placement)
      for (const runId of told.keys()) {
        if (placement.has(runId)) continue
        told.delete(runId)
        runner.send({ type: 'release', run_id: runId })
      }
      for (const [runId, { definition, tasks: wanted }] of placement) {
        const free = wanted.filter((task) => !options.isHeldElsewhere(observedKey(runId, task)))
        const { revision, attempt, desired } = definition
        const fingerprint = `${revision}/${attempt}/${desired}/${free.join()}`
        if (free.length === 0 || told.get(runId)?.fingerprint === fingerprint) continue
        told.set(runId, { definition, fingerprint })
        for (const task of free) {
          const key = observedKey(runId, task)
          if (!tasks.has(key)) tasks.set(key, undefined)
        }
        runner.send({ type: 'assign', definition, tasks: free })
      }
    },
    onValue(value: Exclude<FromRunner, { type: 'ready' | 'beat' }>): void {
      switch (value.type) {
        case 'report':
          return onReport(value.tasks, value.ended)
        case 'declined': {
          const definition = told.get(value.run_id)?.definition
          if (definition) options.onDeclined(definition, value.task)
          return
        }
        case 'need': {
          const binary = definitions.smartModule(accounts, value.sha256)
          return runner?.send({ type: 'answer', id: value.id, value: binary?.toString('base64') ?? null })
        }
        case 'need_revision': {
          const isOwn = [...told.values()].some(({ definition }) => definition.pipeline_id === value.pipeline_id)
          const found = isOwn ? definitions.revision(value.pipeline_id, value.revision) : undefined
          return runner?.send({ type: 'answer', id: value.id, value: found ?? null })
        }
        default:
          value satisfies never
      }
    },
  }
}

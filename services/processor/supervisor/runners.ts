/**
 * The runners of this processor: one for each group of runs (an account's, or a suspect's own). A group's runner is started when it has
 * work, started again with backoff when it ends by itself, and drained once it has had no work for a while. A spare one waits, because a
 * process takes half a second to start. No task is given to a runner while another one may still have it.
 */
import { availableParallelism } from 'node:os'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { isTaskOver, keyOfReport, runOfReport, type ObservedTask } from '../../../shared/model/observed.ts'
import { isSameTask } from '../../../shared/model/task.ts'
import { isSuspect } from './blame.ts'
import { reportOfNone } from './finals.ts'
import { createRunnerGroup, type Placement, type RunnerGroup, type RunnerGroupOptions } from './runner-group.ts'
import { startRunner, type RunnerEnd, type RunnerProcess, type RunnerProcessOptions } from './runner-process.ts'

export type Runners = {
  /** By group, everything that is to run on this processor; groups that are left out are released. */
  place(groups: ReadonlyMap<string, Placement>): void
  /** Tasks that a runner has, or had when it ended. */
  reports(): ObservedTask[]
  /** Whether a runner may still have the task. */
  holds(taskKey: string): boolean
  /** For the metrics. */
  usage(): {
    group: string
    account: string | undefined
    pid: number
    rssBytes: number
    cpuSeconds: number
    lanes: number
    lanesSlow: number
  }[]
  close(): Promise<void>
}

export type RunnersOptions = Pick<RunnerProcessOptions, 'settings' | 'env' | 'memoryBytesMax' | 'now'> &
  Pick<RunnerGroupOptions, 'definitions' | 'connectorDefaults' | 'onTaskEnded' | 'onDeclined' | 'onLogs' | 'onChange' | 'onFreed'> & {
    /** The nice value of a group's runner, see `WatchedChild`. */
    niceOf(group: string, placement: Placement, hasSteppedBack: boolean): number
    /** A runner has ended that was to go on. */
    onEnd(group: string, runs: PipelineDefinition[], end: RunnerEnd): void
    log(level: 'info' | 'warn', message: string, fields: object): void
  }

/** How long a group's runner stays without work. */
const IDLE_MAX_MS = 60_000
/** Tasks stop within seconds, or within a few more where another system does not answer. */
const LEAVING_MAX_MS = 30_000
const BACKOFF_MS = 1000
const BACKOFF_MAX_MS = 30_000
/** Ends of a group's runner that count for its backoff. */
const RECENT_MS = 10 * 60_000
/** Never in the same turn of the event loop: a runner that can't be started would end again within it. */
const SOON_MS = 20
/** Runners that start at the same time: more would only be ready later, all of them. */
const STARTING_MAX = Math.max(2, availableParallelism())
/** Of suspects, which may end again and again: they leave a place to others. */
const SUSPECTS_STARTING_MAX = STARTING_MAX - 1
/** More than the ends of any group within the time that counts. */
const SUSPECTS_LATER = 1e6
/** Pipelines whose runner takes longer to come say so, and it gets more time. */
const SOON_READY_MS = 5000

/** A clock that is set back must delay no start. */
const now = (): number => performance.now()

/** Whether the group's runner is to end: it has had no work for a while, or has tasks that are not wanted and do not end. */
function isOverdue(group: RunnerGroup, isWanted: boolean, nowMs: number): boolean {
  const isIdle = !isWanted && group.isEmpty()
  const isLeaving = !isWanted && !group.isEmpty()
  group.idleSince = isIdle ? (group.idleSince ?? nowMs) : undefined
  group.leavingSince = isLeaving ? (group.leavingSince ?? nowMs) : undefined
  if (isIdle) return nowMs - group.idleSince! > IDLE_MAX_MS
  // Nothing waits for a task that does not end: what it has not committed counts for nothing.
  return isLeaving && nowMs - group.leavingSince! > LEAVING_MAX_MS
}

/** Suspects start last, and of the others those first whose runners have ended least. */
const rankBy = (group: string, ends: number): number => ends + (isSuspect(group) ? SUSPECTS_LATER : 0)

/** `starting`: the groups whose runners are starting. */
const mayStart = (group: string, starting: readonly string[]): boolean =>
  starting.length < STARTING_MAX && (!isSuspect(group) || starting.filter(isSuspect).length < SUSPECTS_STARTING_MAX)

const isLate = ({ waitingSince }: RunnerGroup, nowMs: number): boolean =>
  waitingSince !== undefined && nowMs - waitingSince >= SOON_READY_MS

/** What is said of a task whose runner has ended: that it starts again, or still that it is paused, with the reason for that. */
const orphanOf = (task: ObservedTask, reason: string | null): ObservedTask =>
  task.status === 'paused' ? task : { ...task, status: 'starting', reason, records_per_second: 0, in_flight: 0 }

/** Says of a group's tasks that they wait for their runner. */
function waitingIn(group: RunnerGroup, placement: Placement | undefined, own: Parameters<typeof reportOfNone>[2]): ObservedTask[] {
  const reason = group.lastEnd ?? 'the runner of the pipeline has not come up yet: the processor has little time for it'
  // One that is paused waits for nothing, and would lose the reason for which it is.
  const waiting = [...(placement?.values() ?? [])].filter(({ definition }) => definition.desired === 'running')
  return waiting.flatMap(({ definition, tasks }) => tasks.map((task) => reportOfNone(definition, task, own, 'starting', reason)))
}

export function openRunners(options: RunnersOptions): Runners {
  const { log } = options
  const groups = new Map<string, RunnerGroup>()
  /** Last reports of tasks whose runner has ended, until another one reports them. */
  const orphans = new Map<string, ObservedTask>()
  /** What was placed last. */
  let wanted: ReadonlyMap<string, Placement> = new Map()
  /** Which group a process serves; the spare one serves none. */
  const served = new Map<RunnerProcess, RunnerGroup>()
  /** By group, the times at which its runner ended without being asked to, blamed or not. */
  const ends = new Map<string, number[]>()
  let closed = false
  let spare: RunnerProcess | undefined = start()

  function start(): RunnerProcess {
    const runner: RunnerProcess = startRunner({
      ...options,
      onReady: options.onFreed,
      onValue: (value) => served.get(runner)?.onValue(value),
    })
    void runner.ended.then((end) => onEnd(runner, end))
    return runner
  }

  function take(group: RunnerGroup): void {
    const runner = spare ?? start()
    spare = undefined
    served.set(runner, group)
    group.use(runner)
    // The one that was taken needs the cores first.
    setTimeout(() => {
      if (!closed) spare ??= start()
    }, BACKOFF_MS).unref()
  }

  function onEnd(runner: RunnerProcess, end: RunnerEnd): void {
    if (runner === spare) spare = undefined
    const group = served.get(runner)
    served.delete(runner)
    if (!group || closed) return
    const { runs, last } = group.lose()
    if (!end.isWanted) {
      log('warn', 'a runner ended', { group: group.name, cause: end.cause, at_work: end.notes })
      options.onEnd(group.name, runs, end)
    }
    group.lastEnd = end.isWanted ? null : `retrying: the runner of the pipeline ended (${end.cause})`
    for (const task of last) {
      if (isTaskOver(task)) options.onTaskEnded(task)
      else orphans.set(keyOfReport(task), orphanOf(task, group.lastEnd))
    }
    if (!end.isWanted) ends.set(group.name, [...recentEnds(group.name), now()])
    const recent = recentEnds(group.name).length
    group.startAt = recent > 1 ? now() + Math.min(BACKOFF_MS * 2 ** (recent - 2), BACKOFF_MAX_MS) : now()
    options.onChange()
    setTimeout(options.onFreed, SOON_MS)
  }

  const recentEnds = (name: string): number[] => (ends.get(name) ?? []).filter((at) => now() - at < RECENT_MS)

  const starting = (): string[] => [...served].flatMap(([runner, { name }]) => (runner.isReady() ? [] : [name]))

  function open(name: string): RunnerGroup {
    const group: RunnerGroup = createRunnerGroup({
      ...options,
      name,
      processorId: options.settings.processorId,
      isHeldElsewhere: (key) => [...groups.values()].some((other) => other !== group && other.has(key)),
    })
    groups.set(name, group)
    return group
  }

  function place(placements: ReadonlyMap<string, Placement>): void {
    if (closed) return
    wanted = placements
    for (const name of placements.keys()) if (!groups.has(name)) open(name)
    const rankOf = ({ name }: RunnerGroup) => rankBy(name, recentEnds(name).length)
    for (const group of [...groups.values()].toSorted((a, b) => rankOf(a) - rankOf(b))) {
      const placement = placements.get(group.name)
      if (!group.runner && placement && group.startAt <= now() && mayStart(group.name, starting())) take(group)
      const isReady = group.runner?.isReady() === true
      group.waitingSince = isReady || !placement ? undefined : (group.waitingSince ?? now())
      if (isReady) group.lastEnd = null
      group.tell(placement ?? new Map())
      // With what is left over, a busy machine would start it in minutes; a second of CPU time is all that it needs.
      const nice = placement && (isLate(group, now()) ? 0 : options.niceOf(group.name, placement, group.runner?.hasSteppedBack() === true))
      if (nice !== undefined) group.runner?.setNice(nice)
      if (!group.runner && !placement && group.isEmpty()) groups.delete(group.name)
      else if (isOverdue(group, placement !== undefined, now())) group.runner?.drain()
    }
    for (const name of ends.keys()) if (recentEnds(name).length === 0) ends.delete(name)
    for (const group of groups.values()) for (const report of group.reports()) orphans.delete(keyOfReport(report))
    for (const [key, report] of orphans) {
      const isWanted = (placement: Placement) => placement.get(runOfReport(report))?.tasks.some((task) => isSameTask(task, report))
      if (![...placements.values()].some(isWanted)) orphans.delete(key)
    }
  }

  return {
    place,
    holds: (taskKey) => [...groups.values()].some((group) => group.has(taskKey)),
    reports() {
      const reported = [...groups.values()].flatMap((group) => group.reports())
      const keys = new Set(reported.map(keyOfReport))
      const before = [...orphans].flatMap(([key, last]) => (keys.has(key) ? [] : [last]))
      const own = { processorId: options.settings.processorId, now: options.now }
      const late = [...groups.values()].flatMap((group) => (isLate(group, now()) ? waitingIn(group, wanted.get(group.name), own) : []))
      const isKnown = (key: string) => keys.has(key) || orphans.has(key) || this.holds(key)
      return [...reported, ...before, ...late.filter((report) => !isKnown(keyOfReport(report)))]
    },
    usage: () =>
      [...served].map(([runner, group]) => ({ group: group.name, account: group.account(), pid: runner.pid, ...runner.usage() })),
    async close() {
      closed = true
      spare?.kill()
      for (const runner of served.keys()) runner.drain()
      await Promise.all([...served.keys(), ...(spare ? [spare] : [])].map(({ ended }) => ended))
    },
  }
}

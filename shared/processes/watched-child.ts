/**
 * A child process for what accounts bring: code, servers, schemas. It has an environment of its own, a pipe, and bounds; it is ended by
 * SIGKILL, and nothing waits for it to agree. Why it ended is known afterwards.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import type { Duplex } from 'node:stream'

/**
 * How a child ended. `isWanted`: its parent was done with it. `isBlamed`: something that ran in it ended it, and not a signal from
 * elsewhere.
 */
export type ChildEnd = { cause: string; isWanted: boolean; isBlamed: boolean }

/** A started child. */
export type WatchedChild = {
  pid: number
  /** To its file descriptor 3. */
  pipe: Duplex
  /** Resident memory in bytes, and CPU seconds since its start; the last known ones where the kernel does not tell. */
  usage(): { rssBytes: number; cpuSeconds: number }
  /** Sets its nice value; takes effect within a second. */
  setNice(nice: number): void
  /** Kills it for something that runs in it. */
  endFor(cause: string): void
  /** Kills it for something that is not its own fault. */
  fail(cause: string): void
  /** The parent is done with it: its end is wanted from now on. */
  dismiss(): void
  /** Kills it; its end is wanted. */
  kill(): void
  ended: Promise<ChildEnd>
}

/** `main`: path of its script. `env`: the whole environment. `fds`: open files that become descriptors 4 and up. */
export type WatchedChildOptions = {
  main: string
  env: Record<string, string>
  fds: readonly number[]
  /** It is killed once it takes more resident memory; half of it is its heap. */
  memoryBytesMax: number
  /** MiB of each half of the space for new objects, of each of its threads; V8 decides if left out. */
  semiSpaceMib?: number
  /** MiB that its heap may grow to before V8 collects it as a whole; V8 decides if left out. */
  initialHeapMib?: number
  /** Its nice value, see setpriority(2): 0 (as its parent) to 19 (what others leave over). */
  nice: number
}

/** The descriptor of a child's pipe to its parent. */
export const PIPE_FD = 3
/** The signal by which a child ends itself: unlike SIGKILL, its parent can tell it from one that came from elsewhere. */
export const ENDED_ITSELF = 'SIGALRM'
/** The signal by which a child ends itself because its parent is gone or silent. */
export const LEFT_ALONE = 'SIGVTALRM'

const MEMORY_LOOK_MS = 250
const TICKS_PER_SECOND = 100
/** The kernel takes the child before its parent when memory runs out (proc(5), oom_score_adj). */
const OOM_SCORE_ADJ = '500'
const WANTED: ChildEnd = { cause: 'ended by its parent', isWanted: true, isBlamed: false }

/** How many processes the kernel has killed for want of memory (proc(5), vmstat); undefined where it does not tell. */
function oomKills(): number | undefined {
  try {
    const [, count] = /^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'utf8')) ?? []
    return count === undefined ? undefined : Number(count)
  } catch {
    return undefined
  }
}

/** Fields of proc(5) `stat` from the third on: the name before them may contain spaces. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/**
 * Sets the nice value of the child's session (sched(7), autogroup). Throws an Error when the kernel refuses, which it does to a second
 * change within 100 ms.
 */
function applyToSession(pid: number, nice: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}

/**
 * Sets the nice value of each of the child's threads but those that have another one than it had: a slow lane's. It counts where sessions
 * don't: without autogroups, and in a container whose CPU time is limited. Only a process with CAP_SYS_NICE may lower the value again.
 */
function applyToThreads(pid: number, before: number, nice: number): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`).map(Number)) if (getPriority(thread) === before) setPriority(thread, nice)
  } catch {
    // It stays as it is, or the child has ended.
  }
}

/** Starts the child. A child that can't be started ends at once, with that cause. */
export function startWatchedChild({
  main,
  env,
  fds,
  memoryBytesMax,
  semiSpaceMib,
  initialHeapMib,
  nice,
}: WatchedChildOptions): WatchedChild {
  let oomBefore = oomKills()
  const heap = [`--max-old-space-size=${Math.floor(memoryBytesMax / 2 / 2 ** 20)}`]
  if (semiSpaceMib !== undefined) heap.push(`--max-semi-space-size=${semiSpaceMib}`)
  if (initialHeapMib !== undefined) heap.push(`--initial-heap-size=${initialHeapMib}`)
  const child = spawn(process.execPath, [...process.execArgv, ...heap, main], {
    env,
    // A session of its own: the kernel shares the CPUs among sessions (sched(7), autogroup), however many threads each has.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe', ...fds],
  })
  const pid = child.pid ?? 0
  // Where the process has no file descriptors left, spawn makes no pipe, and reports the error as an event.
  const pipe = child.stdio?.[PIPE_FD] as Duplex | null | undefined
  if (!pipe) {
    child.on('error', () => {})
    throw new Error('no file descriptors are left to start another process')
  }
  let why: ChildEnd | undefined
  let last = { rssBytes: 0, cpuSeconds: 0 }

  /** Kills it; the first reason stands. */
  function endAs(end: ChildEnd): void {
    why ??= end
    child.kill('SIGKILL')
  }
  let wantedNice = nice
  let setTo: number | undefined
  /** Threads begin with that of their process, and it with its parent's. */
  let threadsNice = getPriority()
  function refreshNice(): void {
    if (wantedNice === setTo) return
    try {
      applyToSession(pid, wantedNice)
      setTo = wantedNice
    } catch {
      // Tried again with the next look; or it has ended, or this is not Linux.
    }
  }
  const endFor = (cause: string) => endAs({ cause, isWanted: false, isBlamed: true })

  const timer = setInterval(() => {
    refreshNice()
    try {
      const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      // It has been killed and its exit is still to come: why is read then.
      if (kib === undefined) return
      last = { ...last, rssBytes: Number(kib) * 1024 }
      // The count is the whole machine's: only kills of the last moment can have been this child's.
      oomBefore = oomKills()
    } catch {
      return
    }
    if (last.rssBytes > memoryBytesMax) endFor(`memory: more than ${memoryBytesMax / 2 ** 20} MiB`)
  }, MEMORY_LOOK_MS)
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE_ADJ)
  } catch {
    // Not Linux, or it has ended already.
  }

  function endOf(code: number | null, signal: NodeJS.Signals | null): ChildEnd {
    if (why) return why
    if (signal === 'SIGKILL') {
      const isOutOfMemory = oomKills() !== oomBefore
      return { cause: isOutOfMemory ? 'memory: killed by the kernel' : 'signal SIGKILL', isWanted: false, isBlamed: isOutOfMemory }
    }
    if (signal === LEFT_ALONE) return { cause: 'its parent was silent', isWanted: false, isBlamed: false }
    const itself = 'an exception, or a call that could not be interrupted'
    const cause = signal === ENDED_ITSELF ? itself : signal ? `signal ${signal}` : `exit code ${code}`
    return { cause, isWanted: false, isBlamed: true }
  }
  const ended = new Promise<ChildEnd>((resolve) => {
    const settle = (end: ChildEnd) => {
      clearInterval(timer)
      resolve(end)
    }
    child.once('exit', (code, signal) => settle(endOf(code, signal)))
    child.once('error', (error) => {
      if (child.pid === undefined) settle({ cause: `it does not start: ${error.message}`, isWanted: false, isBlamed: false })
    })
  })

  return {
    pid,
    pipe,
    usage() {
      try {
        const fields = statOf(pid)
        // utime is the 14th field, stime the 15th.
        last = { ...last, cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND }
      } catch {
        // It has ended, or this is not Linux.
      }
      return last
    },
    setNice(next) {
      if (next !== wantedNice) {
        applyToThreads(pid, threadsNice, next)
        threadsNice = next
      }
      wantedNice = next
      refreshNice()
    },
    endFor,
    fail: (cause) => endAs({ cause, isWanted: false, isBlamed: false }),
    dismiss: () => void (why ??= WANTED),
    kill: () => endAs(WANTED),
    ended,
  }
}

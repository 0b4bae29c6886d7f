/**
 * One runner as a child process: started, watched and ended here. It is ended by SIGKILL, and nothing waits for it to agree. Why it ended
 * and what it was at work on are known afterwards, whatever it did.
 */
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { openLines } from '../channel/lines.ts'
import { readNotes, type Note } from '../channel/notes.ts'
import { BEAT_MS, BEATS_MISSED_MAX, FromRunner, type Settings, type ToRunner } from '../channel/protocol.ts'

/**
 * How a runner ended. `isWanted`: the supervisor was done with it. `isBlamed`: something that ran in it ended it, and not a signal from
 * elsewhere.
 */
export type RunnerEnd = { cause: string; isWanted: boolean; isBlamed: boolean; notes: Note[] }

export type RunnerProcess = {
  pid: number
  isReady(): boolean
  /** Resident memory in bytes, and CPU seconds since its start; the last known ones where the kernel does not tell. */
  usage(): { rssBytes: number; cpuSeconds: number; lanes: number }
  send(value: ToRunner): void
  /** Lets it finish its rounds, and kills it when that takes too long. */
  drain(): void
  kill(): void
  ended: Promise<RunnerEnd>
}

export type RunnerProcessOptions = {
  settings: Settings
  /** Its environment, which is all of it. */
  env: Record<string, string>
  /** It is killed once it takes more resident memory. */
  memoryBytesMax: number
  now: () => number
  onReady(): void
  onValue(value: Exclude<FromRunner, { type: 'ready' | 'beat' }>): void
}

const LINE_BYTES_MAX = 16 << 20
const BYTES_PER_SECOND_MAX = 32 << 20
const MEMORY_LOOK_MS = 250
/** Below the ten seconds that an operator's stop waits before it kills. */
const DRAIN_MAX_MS = 8000
const PAGE_BYTES = 4096
const TICKS_PER_SECOND = 100
/** The kernel takes a runner before its supervisor when memory runs out (proc(5), oom_score_adj). */
const OOM_SCORE_ADJ = '500'
/** The signal with which a runner ends itself (`runner/main.ts`). */
const ENDED_ITSELF = 'SIGALRM'

const WANTED = { cause: 'ended by the supervisor', isWanted: true, isBlamed: false }

const MAIN = join(import.meta.dirname, '..', 'runner', 'main.ts')

/** A file without a name, which both processes hold open. */
function openNotesFile(): number {
  const folder = mkdtempSync(join(tmpdir(), 'dps-runner-'))
  const fd = openSync(join(folder, 'notes'), 'w+')
  rmSync(folder, { recursive: true })
  return fd
}

/** How many processes the kernel has killed for want of memory (proc(5), vmstat); undefined where it does not tell. */
function oomKills(): number | undefined {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

export function startRunner(options: RunnerProcessOptions): RunnerProcess {
  const { settings, memoryBytesMax, now, onReady, onValue } = options
  const notesFd = openNotesFile()
  const oomBefore = oomKills()
  const heapMib = Math.floor(memoryBytesMax / 2 / (1 << 20))
  const child = spawn(process.execPath, [...process.execArgv, `--max-old-space-size=${heapMib}`, MAIN], {
    env: options.env,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe', notesFd],
  })
  const pid = child.pid ?? 0
  /** Why the supervisor has killed it, once it has. */
  let killedFor: Omit<RunnerEnd, 'notes'> | undefined
  let ready = false
  let missed = 0
  let last = { rssBytes: 0, cpuSeconds: 0, lanes: 0 }
  const lines = openLines<FromRunner, ToRunner>({
    pipe: child.stdio[3] as Duplex,
    schema: FromRunner,
    lineBytesMax: LINE_BYTES_MAX,
    bytesPerSecondMax: BYTES_PER_SECOND_MAX,
    now,
    onBroken: (reason) => endFor(`protocol: ${reason}`),
    onValue(value) {
      missed = 0
      if (value.type === 'beat') last = { ...last, lanes: value.lanes }
      else if (value.type === 'ready') {
        ready = true
        onReady()
      } else onValue(value)
    },
  })

  function endFor(cause: string): void {
    killedFor ??= { cause, isWanted: false, isBlamed: true }
    child.kill('SIGKILL')
  }

  function look(): void {
    try {
      const [, resident = '0'] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')
      last = { ...last, rssBytes: Number(resident) * PAGE_BYTES }
    } catch {
      return
    }
    if (last.rssBytes > memoryBytesMax) endFor(`memory: more than ${memoryBytesMax / 2 ** 20} MiB`)
  }
  const memoryTimer = setInterval(look, MEMORY_LOOK_MS)
  const beatTimer = setInterval(() => {
    if (++missed > BEATS_MISSED_MAX) endFor(`silence for ${BEATS_MISSED_MAX} s`)
    lines.send({ type: 'beat' })
  }, BEAT_MS)
  let drainTimer: NodeJS.Timeout | undefined

  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE_ADJ)
  } catch {
    // Not Linux, or it has ended already.
  }
  lines.send({ type: 'settings', settings })

  function endOf(code: number | null, signal: NodeJS.Signals | null): Omit<RunnerEnd, 'notes'> {
    if (killedFor) return killedFor
    if (signal === 'SIGKILL') {
      const isOutOfMemory = oomKills() !== oomBefore
      return { cause: isOutOfMemory ? 'memory: killed by the kernel' : 'signal SIGKILL', isWanted: false, isBlamed: isOutOfMemory }
    }
    const itself = 'an exception, or a call that could not be interrupted'
    const cause = signal === ENDED_ITSELF ? itself : signal ? `signal ${signal}` : `exit code ${code}`
    return { cause, isWanted: false, isBlamed: true }
  }

  const ended = new Promise<RunnerEnd>((resolve) => {
    const settle = (how: Omit<RunnerEnd, 'notes'>) => {
      clearInterval(memoryTimer)
      clearInterval(beatTimer)
      clearTimeout(drainTimer)
      lines.close()
      const notes = readNotes(notesFd)
      closeSync(notesFd)
      resolve({ ...how, notes })
    }
    child.once('exit', (code, signal) => settle(endOf(code, signal)))
    child.once('error', (error) => {
      if (child.pid === undefined) settle({ cause: `it does not start: ${error.message}`, isWanted: false, isBlamed: false })
    })
  })

  return {
    pid,
    isReady: () => ready,
    usage() {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
        // proc(5): utime is the 14th field, stime the 15th; the name before them may contain spaces.
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        last = { ...last, cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND }
      } catch {
        // It has ended, or this is not Linux.
      }
      return last
    },
    send: (value) => lines.send(value),
    drain() {
      killedFor ??= WANTED
      lines.send({ type: 'drain' })
      drainTimer ??= setTimeout(() => child.kill('SIGKILL'), DRAIN_MAX_MS)
    },
    kill() {
      killedFor ??= WANTED
      child.kill('SIGKILL')
    },
    ended,
  }
}

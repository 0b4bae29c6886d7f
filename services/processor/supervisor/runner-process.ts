/** One runner: a watched child that speaks the channel's protocol. What it was at work on is known after its end, whatever it did. */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { openLines, type Lines } from '../../../shared/processes/lines.ts'
import { createSilence, waitedSecondsOf } from '../../../shared/processes/silence.ts'
import { startWatchedChild, type ChildEnd, type WatchedChildOptions } from '../../../shared/processes/watched-child.ts'
import { NOTES_BYTES, readNotes, type Note } from '../channel/notes.ts'
import { createAnswers } from './answers.ts'
import { BEAT_MS, BEATS_MISSED_MAX, FromRunner, type Settings, type ToRunner } from '../channel/protocol.ts'

export type RunnerEnd = ChildEnd & { notes: Note[] }

export type RunnerProcess = {
  pid: number
  isReady(): boolean
  /** `lanesSlow`: lanes that have stepped back, since slow SmartModules keep them. */
  usage(): { rssBytes: number; cpuSeconds: number; lanes: number; lanesSlow: number }
  /** Whether one of its lanes has stepped back. */
  hasSteppedBack(): boolean
  send(value: ToRunner): void
  /** Answers its `need` of that id. The bytes must not change before they have left. */
  sendBinary(id: number, bytes: Uint8Array): void
  /** Its nice value, see `WatchedChild`. */
  setNice(nice: number): void
  /** Lets it finish its rounds, and kills it when that takes too long. */
  drain(): void
  kill(): void
  ended: Promise<RunnerEnd>
}

export type RunnerProcessOptions = Pick<WatchedChildOptions, 'env' | 'memoryBytesMax'> & {
  settings: Settings
  now: () => number
  onReady(): void
  onValue(value: Exclude<FromRunner, { type: 'ready' | 'beat' }>): void
}

const LINE_BYTES_MAX = 16 << 20
const BYTES_PER_SECOND_MAX = 64 << 20
/** After so many missed beats it counts as one that may have stopped reading. */
const BEATS_LATE = 3
/** Its beats count only once it is ready. */
const START_MAX_S = 60
/** Below the ten seconds that an operator's stop waits before it kills. */
const DRAIN_MAX_MS = 8000

/** Loading its modules would make it 16, which stay; its work makes few objects, since records are bytes. */
const SEMI_SPACE_MIB = 2
/**
 * Its heap is small but its external buffers are not, and V8 counts both when it decides to collect: by default it would run a full
 * collection every few megabytes of records. This takes the cost of a million records from 0.95 to 0.68 CPU-seconds (`make bench`).
 */
const INITIAL_HEAP_MIB = 512
/** Priority of a runner that serves no group yet: it takes little from those that run, and is ready on a busy machine too. */
const SPARE_NICE = 10

const MAIN = join(import.meta.dirname, '..', 'runner', 'main.ts')

/** In memory: on a disk, making a file may wait for what all others write. Linux has it; a container's may be full. */
const MEMORY_FOLDER = '/dev/shm'
/** What `tmpdir` gives where no other folder is asked for (`TMPDIR`). */
const USUAL_FOLDER = '/tmp'

/** A file without a name, which both processes hold open. All of it is written now, so that a full disk is met here and not by a note. */
function openNotesFile(): number {
  const folder = tmpdir()
  if (folder !== USUAL_FOLDER) return openNotesFileIn(folder)
  try {
    return openNotesFileIn(MEMORY_FOLDER)
  } catch {
    return openNotesFileIn(folder)
  }
}

function openNotesFileIn(parent: string): number {
  const folder = mkdtempSync(join(parent, 'dps-runner-'))
  try {
    const fd = openSync(join(folder, 'notes'), 'w+')
    return withFile(fd, () => {
      writeSync(fd, Buffer.alloc(NOTES_BYTES))
      return fd
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Closes the file where `work` throws. */
function withFile<T>(fd: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** A runner that can't be started ends at once. Without files, processes or memory for it, the supervisor must go on. */
export function startRunner(options: RunnerProcessOptions): RunnerProcess {
  try {
    return start(options)
  } catch (error) {
    const end: RunnerEnd = { cause: `it does not start: ${reasonOf(error)}`, isWanted: false, isBlamed: false, notes: [] }
    const nothing = () => {}
    return {
      pid: 0,
      isReady: () => false,
      usage: () => ({ rssBytes: 0, cpuSeconds: 0, lanes: 0, lanesSlow: 0 }),
      hasSteppedBack: () => false,
      send: nothing,
      sendBinary: nothing,
      setNice: nothing,
      drain: nothing,
      kill: nothing,
      ended: Promise.resolve(end),
    }
  }
}

function start({ settings, env, memoryBytesMax, now, onReady, onValue }: RunnerProcessOptions): RunnerProcess {
  const notesFd = openNotesFile()
  const heap = { memoryBytesMax, semiSpaceMib: SEMI_SPACE_MIB, initialHeapMib: INITIAL_HEAP_MIB }
  const child = withFile(notesFd, () => startWatchedChild({ main: MAIN, env, fds: [notesFd], ...heap, nice: SPARE_NICE }))
  let ready = false
  const silence = createSilence(BEAT_MS / 1000)
  let beat = { lanes: 0, stepped_back: 0 }
  let drainTimer: NodeJS.Timeout | undefined
  const onBroken = (reason: string) => child.endFor(`protocol: ${reason}`)
  const ask = createAnswers<Parameters<typeof onValue>[0]>({ answer: onValue, flushed: () => lines.flushed(), onFlood: onBroken })
  const lines: Lines<ToRunner> = openLines<FromRunner, ToRunner>({
    pipe: child.pipe,
    schema: FromRunner,
    lineBytesMax: LINE_BYTES_MAX,
    bytesPerSecondMax: BYTES_PER_SECOND_MAX,
    now,
    // Large definitions may wait for one that is at work; one that beats reads them.
    isReading: () => !ready || silence.seconds() < BEATS_LATE,
    onBroken,
    onValue(value) {
      if (ready || value.type === 'ready') silence.heard()
      if (value.type === 'beat') beat = value
      else if (value.type === 'ready') {
        ready = true
        onReady()
      } else if (value.type === 'need' || value.type === 'need_revision') ask(value)
      else onValue(value)
    },
  })
  const beatTimer = setInterval(() => {
    const limit = ready ? BEATS_MISSED_MAX : START_MAX_S
    if (silence.isOver(limit, waitedSecondsOf(child.pid)))
      if (ready) child.endFor(`silence for ${limit} s`)
      else child.fail(`it was not ready within ${limit} s`)
    lines.send({ type: 'beat' })
  }, BEAT_MS)
  lines.send({ type: 'settings', settings })

  return {
    pid: child.pid,
    isReady: () => ready,
    usage: () => ({ ...child.usage(), lanes: beat.lanes, lanesSlow: beat.stepped_back }),
    hasSteppedBack: () => beat.stepped_back > 0,
    send: (value) => lines.send(value),
    sendBinary(id, bytes) {
      lines.sendBytes(bytes)
      lines.send({ type: 'binary', id })
    },
    setNice: child.setNice,
    drain() {
      child.dismiss()
      lines.send({ type: 'drain' })
      drainTimer ??= setTimeout(child.kill, DRAIN_MAX_MS)
    },
    kill: child.kill,
    ended: child.ended.then((end) => {
      clearInterval(beatTimer)
      clearTimeout(drainTimer)
      lines.close()
      const notes = readNotes(notesFd)
      closeSync(notesFd)
      return { ...end, notes }
    }),
  }
}

/** One runner: a watched child that speaks the channel's protocol. What it was at work on is known after its end, whatever it did. */
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLines } from '../../../shared/processes/lines.ts'
import { startWatchedChild, type ChildEnd, type WatchedChildOptions } from '../../../shared/processes/watched-child.ts'
import { readNotes, type Note } from '../channel/notes.ts'
import { BEAT_MS, BEATS_MISSED_MAX, FromRunner, type Settings, type ToRunner } from '../channel/protocol.ts'

export type RunnerEnd = ChildEnd & { notes: Note[] }

export type RunnerProcess = {
  pid: number
  isReady(): boolean
  usage(): { rssBytes: number; cpuSeconds: number; lanes: number }
  send(value: ToRunner): void
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
const BYTES_PER_SECOND_MAX = 32 << 20
/** Below the ten seconds that an operator's stop waits before it kills. */
const DRAIN_MAX_MS = 8000

const MAIN = join(import.meta.dirname, '..', 'runner', 'main.ts')

/** A file without a name, which both processes hold open. */
function openNotesFile(): number {
  const folder = mkdtempSync(join(tmpdir(), 'dps-runner-'))
  const fd = openSync(join(folder, 'notes'), 'w+')
  rmSync(folder, { recursive: true })
  return fd
}

export function startRunner({ settings, env, memoryBytesMax, now, onReady, onValue }: RunnerProcessOptions): RunnerProcess {
  const notesFd = openNotesFile()
  const child = startWatchedChild({ main: MAIN, env, fds: [notesFd], memoryBytesMax, isBehind: false })
  let ready = false
  let missed = 0
  let lanes = 0
  let drainTimer: NodeJS.Timeout | undefined
  const lines = openLines<FromRunner, ToRunner>({
    pipe: child.pipe,
    schema: FromRunner,
    lineBytesMax: LINE_BYTES_MAX,
    bytesPerSecondMax: BYTES_PER_SECOND_MAX,
    now,
    onBroken: (reason) => child.endFor(`protocol: ${reason}`),
    onValue(value) {
      missed = 0
      if (value.type === 'beat') lanes = value.lanes
      else if (value.type === 'ready') {
        ready = true
        onReady()
      } else onValue(value)
    },
  })
  const beatTimer = setInterval(() => {
    if (++missed > BEATS_MISSED_MAX) child.endFor(`silence for ${BEATS_MISSED_MAX} s`)
    lines.send({ type: 'beat' })
  }, BEAT_MS)
  lines.send({ type: 'settings', settings })

  return {
    pid: child.pid,
    isReady: () => ready,
    usage: () => ({ ...child.usage(), lanes }),
    send: (value) => lines.send(value),
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

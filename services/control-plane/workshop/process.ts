/** One workshop process: a watched child that answers one job at a time. */
import { join } from 'node:path'
import { openLines } from '../../../shared/processes/lines.ts'
import { startWatchedChild, type ChildEnd } from '../../../shared/processes/watched-child.ts'
import { FromWorkshop, type Answer, type Progress } from './jobs.ts'

export type WorkshopProcess = {
  ready: Promise<void>
  usage(): { rssBytes: number; cpuSeconds: number }
  /** From now on it gets what all others leave over, and can't come back from there: without privileges the kernel allows no way back. */
  comeLast(): void
  /** Sends a binary of the next job; resolves once the operating system has it. */
  sendBinary(binary: Uint8Array): Promise<void>
  /** Sends the job (`packed.ts`); `onValue` gets what comes back until the next job. */
  send(packedJob: unknown, onValue: (value: { answer: Answer } | { progress: Progress }) => void): void
  kill(): void
  ended: Promise<ChildEnd>
}

/** A chain's binaries, on their way in and compiled, and the instances of sixteen steps. */
const MEMORY_BYTES_MAX = 1536 << 20
/** Behind the control plane, beside the runners. */
const NICE = 5
const LAST = 19
const LINE_BYTES_MAX = 64 << 20
const MAIN = join(import.meta.dirname, 'main.ts')

/** `env` is its whole environment. */
export function startWorkshopProcess(env: Record<string, string>): WorkshopProcess {
  const child = startWatchedChild({ main: MAIN, env, fds: [], memoryBytesMax: MEMORY_BYTES_MAX, nice: NICE })
  const ready = Promise.withResolvers<void>()
  let onAnswer: (value: { answer: Answer } | { progress: Progress }) => void = () => {}
  /** What came before the answer that it belongs to. */
  let binary: Uint8Array = new Uint8Array()
  const lines = openLines<FromWorkshop, unknown>({
    pipe: child.pipe,
    schema: FromWorkshop,
    lineBytesMax: LINE_BYTES_MAX,
    bytesPerSecondMax: 4 * LINE_BYTES_MAX,
    now: Date.now,
    onValue(value) {
      if ('ready' in value) ready.resolve()
      else onAnswer('made' in value ? { answer: { ...value.made, binary } } : value)
    },
    onBytes: (bytes) => void (binary = bytes),
    onBroken: child.endFor,
  })
  void child.ended.then(() => ready.resolve())
  return {
    ready: ready.promise,
    usage: child.usage,
    comeLast: () => child.setNice(LAST),
    sendBinary(bytes) {
      lines.sendBytes(bytes)
      return lines.flushed()
    },
    send(packedJob, onValue) {
      binary = new Uint8Array()
      onAnswer = onValue
      lines.send(packedJob)
    },
    kill: child.kill,
    ended: child.ended,
  }
}

/**
 * The control plane's workshops: a few child processes for what accounts bring. Each job has a deadline of CPU time and one of wall time; a
 * process that misses one is killed. One that has used up much of its CPU time goes on behind everything else.
 */
import { inTime } from '../../../shared/waiting/in-time.ts'
import type { Answer, Job, Progress } from './jobs.ts'
import { openPool } from './pool.ts'
import { packed } from './packed.ts'
import { startWorkshopProcess, type WorkshopProcess } from './process.ts'
import { unavailable } from '../service-error.ts'

export type Deadlines = {
  /** CPU time of the process, in milliseconds: a busy machine is no fault of the account's. */
  cpuMs: number
  wallMs: number
  /** CPU time from which on the job comes last; a quarter of `cpuMs` where it is not given. */
  lastFromMs?: number
  /** CPU time that may pass without progress, asked anew at each look; without it only `cpuMs` counts. */
  quietCpuMs?: () => number
  /** CPU time without progress from which on the job itself is at fault for a missed `wallMs`, however busy the machine is. */
  lateCpuMs?: number
  /** It waits for an account's server, whose fault a missed `wallMs` is. A job that only computes misses it where the machine is busy. */
  isWaiting?: boolean
}

/** A job with the binaries that it counts, each loaded when it is its turn to be sent: a job that waits for a process holds none. */
export type JobWithBinaries = Job & { binaries?: readonly (() => Promise<Uint8Array>)[] }

export type Workshop = {
  /**
   * Does the job for the account. A missed deadline and a process that ended give `refused` with the reason. Throws ServiceError
   * `rate_limit_exceeded` when the account has too many jobs, and `unavailable` when all processes, or the machine, are busy for too long.
   */
  run(accountId: string, job: JobWithBinaries, deadlines: Deadlines, onProgress?: (progress: Progress) => void): Promise<Answer>
  /** The same workshop for one request: once the signal is aborted its jobs end, and reject with the signal's reason. */
  until(signal: AbortSignal): Pick<Workshop, 'run'>
  close(): Promise<void>
}

const LOOK_MS = 50
/** Of a job's CPU time: hardly any needs as much, unless something is wrong with what it was given. */
const LAST_FROM = 1 / 4
const READY_MAX_MS = 20_000

/** Sends the job's binaries one after the other, then the job; gives up when it is not wanted any more. */
async function send(
  child: WorkshopProcess,
  { binaries = [], ...job }: JobWithBinaries,
  isWanted: () => boolean,
  onValue: Parameters<WorkshopProcess['send']>[1],
): Promise<void> {
  for (const load of binaries) {
    const binary = await load()
    if (!isWanted()) return
    await child.sendBinary(binary)
  }
  // Packed only now: a job that waits must not hold its bytes twice.
  if (isWanted()) child.send(packed(job), onValue)
}

/** `count`: jobs at once that compute (`openPool`). `env`: their whole environment. */
export function openWorkshop({ count, env }: { count: number; env: Record<string, string> }): Workshop {
  const pool = openPool(count, () => startWorkshopProcess(env))
  const runUntil =
    (signal?: AbortSignal): Workshop['run'] =>
    async (accountId, job, deadlines, onProgress) => {
      const { cpuMs, wallMs, lastFromMs = cpuMs * LAST_FROM, quietCpuMs = () => cpuMs, lateCpuMs = Infinity, isWaiting = false } = deadlines
      const child = await pool.acquire(accountId, isWaiting ? 'waits' : 'computes', signal)
      // Until it is ready it is not to blame for anything, and the next job needs not wait as long.
      let isGood = true
      let isOver = false
      let isLast = false
      let timer: NodeJS.Timeout | undefined
      const answered = Promise.withResolvers<Answer>()
      const giveUp = () => answered.reject(signal?.reason)
      try {
        await inTime(child.ready, READY_MAX_MS, () => unavailable('a process for the request'))
        isGood = false
        signal?.throwIfAborted()
        signal?.addEventListener('abort', giveUp)
        const cpuBefore = child.usage().cpuSeconds
        let cpuAtProgress = cpuBefore
        let hasProgressed = false
        const from = performance.now()
        timer = setInterval(() => {
          const { cpuSeconds } = child.usage()
          if (hasProgressed) cpuAtProgress = cpuSeconds
          hasProgressed = false
          const usedMs = (cpuSeconds - cpuBefore) * 1000
          if (!isLast && usedMs > lastFromMs) {
            isLast = true
            child.comeLast()
          }
          const quietMs = (cpuSeconds - cpuAtProgress) * 1000
          if (usedMs > cpuMs || quietMs > quietCpuMs()) answered.resolve({ refused: `it did not end within ${cpuMs / 1000} s of CPU time` })
          else if (performance.now() - from > wallMs)
            if (isWaiting || quietMs > lateCpuMs) answered.resolve({ refused: `it did not end within ${wallMs / 1000} s` })
            else answered.reject(unavailable('enough CPU time', new Error(`the job was not done within ${wallMs / 1000} s`)))
        }, LOOK_MS)
        void child.ended.then(({ cause, isBlamed }) => {
          if (isBlamed) answered.resolve({ refused: `its process ended: ${cause}` })
          else answered.reject(unavailable('a process for the request', new Error(cause)))
        })
        const onValue: Parameters<WorkshopProcess['send']>[1] = (value) => {
          if ('progress' in value) {
            hasProgressed = true
            return onProgress?.(value.progress)
          }
          isGood = true
          answered.resolve(value.answer)
        }
        send(child, job, () => !isOver, onValue).catch(answered.reject)
        return await answered.promise
      } finally {
        isOver = true
        clearInterval(timer)
        signal?.removeEventListener('abort', giveUp)
        pool.release(child, isGood && !isLast)
      }
    }
  return {
    run: runUntil(),
    until: (signal) => ({ run: runUntil(signal) }),
    close: pool.close,
  }
}

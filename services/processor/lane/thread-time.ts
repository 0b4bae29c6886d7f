/**
 * How long a thread has really worked. On a busy machine the wall clock would blame a SmartModule for the time it waits for a core. A
 * module has nothing else to wait for, so its CPU time is what counts.
 */
import { readFileSync } from 'node:fs'

/** A call is ended after this many times its deadline in wall time, no matter how little CPU time it took. */
const WALL_FACTOR = 10

/**
 * CPU time of a thread of this process in milliseconds (Linux, Documentation/scheduler/sched-stats: first field, nanoseconds); undefined
 * where it is not available.
 */
export function threadCpuMs(threadId: number | undefined): number | undefined {
  if (!threadId) return undefined
  try {
    const spent = Number(readFileSync(`/proc/self/task/${threadId}/schedstat`, 'utf8').split(' ')[0])
    return Number.isFinite(spent) ? spent / 1e6 : undefined
  } catch {
    return undefined
  }
}

/** The CPU time of a call if known at both ends, else its wall time; never less than a tenth of the wall time. */
export function workedMs(wallMs: number, from: number | undefined, to: number | undefined): number {
  return from === undefined || to === undefined ? wallMs : Math.max(Math.min(wallMs, to - from), wallMs / WALL_FACTOR)
}

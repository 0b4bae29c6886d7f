/**
 * How long a thread has really worked: on a machine that is busy with other things, the wall clock blames a SmartModule for waiting. A
 * module has nothing to wait for, so that what it takes is CPU time.
 */
import { readFileSync } from 'node:fs'

/** Whatever the thread's time says, a call is over after so many times its deadline. */
export const WALL_FACTOR = 10

/** CPU time of a thread of this process in milliseconds (Linux, Documentation/scheduler/sched-stats: first field, nanoseconds); undefined where nothing tells it. */
export function threadCpuMs(threadId: number | undefined): number | undefined {
  if (!threadId) return undefined
  try {
    const spent = Number(readFileSync(`/proc/self/task/${threadId}/schedstat`, 'utf8').split(' ')[0])
    return Number.isFinite(spent) ? spent / 1e6 : undefined
  } catch {
    return undefined
  }
}

/** What a call has taken by its thread's time, where it is known at both ends; never less than a tenth of the wall clock's. */
export function workedMs(wallMs: number, from: number | undefined, to: number | undefined): number {
  return from === undefined || to === undefined ? wallMs : Math.max(Math.min(wallMs, to - from), wallMs / WALL_FACTOR)
}

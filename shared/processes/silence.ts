/**
 * How long a process has not been heard. Time for which it could have run but had no CPU doesn't count: on a busy machine it would be
 * ended again and again, each time to begin from the start, and be blamed for it.
 */
import { readFileSync } from 'node:fs'

/** Even a process that never gets a CPU is ended, after so many times the limit. */
const TIMES_MAX = 10

/**
 * The seconds for which the main thread of the process could have run but had no CPU, since its start: the second number of
 * `schedstat` (sched-stats.rst of the kernel). 0 where the kernel does not keep it, and once the process has ended.
 */
export function waitedSecondsOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e9
  } catch {
    return 0
  }
}

/** A process that is looked at every `lookSeconds`. */
export function createSilence(lookSeconds: number) {
  let silent = 0
  let starved = 0
  let waitedBefore = 0
  return {
    /** The seconds since it was last heard. */
    seconds: (): number => silent,
    heard(): void {
      silent = starved = 0
    },
    /**
     * Call at each look. `waitedSeconds`: for how long the process has waited for a CPU since its start. Returns whether it has been silent
     * for more than `limit` seconds. It counts looks, not time: one that was paused together with its watcher is not ended.
     */
    isOver(limit: number, waitedSeconds: number): boolean {
      silent += lookSeconds
      // The kernel counts a wait at its end.
      starved = Math.min(silent, starved + waitedSeconds - waitedBefore)
      waitedBefore = waitedSeconds
      return silent - starved > limit || silent > limit * TIMES_MAX
    },
  }
}

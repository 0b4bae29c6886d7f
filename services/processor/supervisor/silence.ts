/**
 * How long a runner has not been heard. Seconds for which it could have run but had no processor don't count: on a busy machine it would be
 * ended again and again, each time to begin from the start, and be blamed for it. Pure.
 */

/** Even a runner that never gets a processor is ended, after so many times the limit. */
const TIMES_MAX = 10

export type Silence = ReturnType<typeof createSilence>

export function createSilence() {
  let seconds = 0
  let starved = 0
  let waitedBefore = 0
  return {
    seconds: () => seconds,
    heard(): void {
      seconds = starved = 0
    },
    /**
     * Call once a second. `waitedSeconds`: for how long the runner has had no processor since its start. Returns whether it has been silent
     * for more than `limit` seconds.
     */
    isOver(limit: number, waitedSeconds: number): boolean {
      seconds++
      starved += Math.min(1, waitedSeconds - waitedBefore)
      waitedBefore = waitedSeconds
      return seconds - starved > limit || seconds > limit * TIMES_MAX
    },
  }
}

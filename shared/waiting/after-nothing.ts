/** Servers that are asked to wait for news, and answer at once that there is none: an honest one does so seldom. */
import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_MS = 250

/**
 * Waits a moment after an answer that brought nothing, if it came sooner than that, so that the server is not asked in a loop. Ends early
 * once the signal is aborted. `askedAt`: in milliseconds, by `performance.now()`.
 */
export async function restAfterNothing(askedAt: number, signal: AbortSignal): Promise<void> {
  if (performance.now() - askedAt < PAUSE_MS) await sleep(PAUSE_MS, undefined, { signal }).catch(() => {})
}

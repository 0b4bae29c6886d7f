/** A circuit breaker: after some failures in a row nothing is sent for a while, longer after each further failure; a success closes it. */

/** Counts failures in a row: while it is open, nothing is asked. */
export type Breaker = { failed(): void; succeeded(): void; /** 0: closed, or time to try again. */ openForMs(): number }

const FAILURES = 5
const OPEN_MS = 2000
const OPEN_MAX_MS = 60_000

/** A closed breaker. */
export function createBreaker(): Breaker {
  let failures = 0
  let openUntil = 0
  return {
    failed() {
      failures++
      if (failures >= FAILURES) openUntil = performance.now() + Math.min(OPEN_MS * 2 ** Math.min(failures - FAILURES, 10), OPEN_MAX_MS)
    },
    succeeded() {
      failures = 0
      openUntil = 0
    },
    openForMs: () => Math.max(0, openUntil - performance.now()),
  }
}

/** Limits of time in tests: written for a quick machine, and as much longer as the machine at hand takes for the same work. */

/** What the work below takes on the machine that the limits were written for. */
const REFERENCE_MS = 7
const ROUNDS = 10
const TEXT = JSON.stringify(Array.from({ length: 2000 }, (_, n) => ({ n, text: `record ${n}`, list: [n / 3, true, null] })))

/** Reading and printing JSON, because that is what most of the measured code does. */
function timed(): number {
  const from = performance.now()
  for (let round = 0; round < ROUNDS; round++) JSON.stringify(JSON.parse(TEXT))
  return performance.now() - from
}

/** How many times as long as on the reference machine the same work takes here and now, beside whatever else runs; 1 or more. */
export function slowness(): number {
  // The first one also compiles the loop.
  timed()
  return Math.max(1, [timed(), timed(), timed()].toSorted((a, b) => a - b)[1]! / REFERENCE_MS)
}

/** The whole milliseconds that are allowed here for what may take `ms` on the reference machine. */
export const limitMs = (ms: number): number => Math.ceil(ms * slowness())

/** `limitMs` for what begins now, asked again at its end: a machine that was measured at one moment only may be slower at the other. */
export function limitFromNow(ms: number): () => number {
  const before = slowness()
  return () => Math.ceil(ms * Math.max(before, slowness()))
}

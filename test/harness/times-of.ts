/**
 * How long work takes, and how long a piece of it keeps all else of the thread waiting: in CPU time of the thread, in milliseconds.
 * What else the machine does meanwhile is no fault of the work.
 */
import { ownCpuMs } from '../../services/control-plane/concurrency/bounded-work.ts'

/** The longest for which the event loop was held, and the whole. */
export async function timesOf(work: () => Promise<unknown>): Promise<{ held: number; all: number }> {
  const from = ownCpuMs()
  let [last, held] = [from, 0]
  const look = (): void => {
    const now = ownCpuMs()
    held = Math.max(held, now - last)
    last = now
  }
  const timer = setInterval(look, 1)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  look()
  return { held, all: ownCpuMs() - from }
}

/** What work that waits for nothing takes. */
export function timeOf(work: () => unknown): number {
  const from = ownCpuMs()
  work()
  return ownCpuMs() - from
}

/** The least that the work takes of three times: what is collected or compiled meanwhile may be other work's. */
export async function bestOf(work: () => unknown): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 3; round++) {
    const from = ownCpuMs()
    await work()
    times.push(ownCpuMs() - from)
  }
  return Math.min(...times)
}

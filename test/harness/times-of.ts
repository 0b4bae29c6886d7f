/** How long work takes, and how long a piece of it keeps all else of the thread waiting. */

/** The longest time for which the event loop was held, and the whole, in milliseconds. */
export async function timesOf(work: () => Promise<unknown>): Promise<{ held: number; all: number }> {
  const from = performance.now()
  let [last, held] = [from, 0]
  const look = (): void => {
    held = Math.max(held, performance.now() - last)
    last = performance.now()
  }
  const timer = setInterval(look, 1)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  look()
  return { held, all: performance.now() - from }
}

/** The least that the work takes of three times, in milliseconds: what else the machine does meanwhile is no fault of the work. */
export async function bestOf(work: () => unknown): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 3; round++) {
    const from = performance.now()
    await work()
    times.push(performance.now() - from)
  }
  return Math.min(...times)
}

/** Upkeep that the reconciler calls on every pass and that is due less often. */

/** How soon what has failed is due again. */
const AGAIN_MS = 60_000

/**
 * Does `each` for everything that is listed, once per interval; while the list can't be read it stays due. Where one of them fails, the
 * others are done all the same, all are due again within a minute, and the first failure is thrown.
 */
export function oncePerInterval<T>(everyMs: number, list: () => Promise<T[]>, each: (item: T) => Promise<void>): () => Promise<void> {
  let last = { clock: -Infinity, passed: -Infinity }
  return async () => {
    const now = { clock: Date.now(), passed: performance.now() }
    // By either: the clock may be set back, and the other one stands still while the machine is suspended.
    if (now.clock - last.clock < everyMs && now.passed - last.passed < everyMs) return
    const items = await list()
    last = now
    const failures: unknown[] = []
    for (const item of items) await each(item).catch((error: unknown) => failures.push(error))
    if (failures.length === 0) return
    const earlier = Math.max(0, everyMs - AGAIN_MS)
    last = { clock: now.clock - earlier, passed: now.passed - earlier }
    throw failures[0]
  }
}

/** Upkeep that the reconciler calls on every pass and that is due less often. */

/** Does `each` for everything that is listed, once per interval; while the list can't be read it stays due. */
export function oncePerInterval<T>(everyMs: number, list: () => Promise<T[]>, each: (item: T) => Promise<void>): () => Promise<void> {
  let last = { clock: -Infinity, passed: -Infinity }
  return async () => {
    const now = { clock: Date.now(), passed: performance.now() }
    // By either: the clock may be set back, and the other one stands still while the machine is suspended.
    if (now.clock - last.clock < everyMs && now.passed - last.passed < everyMs) return
    const items = await list()
    last = now
    for (const item of items) await each(item)
  }
}

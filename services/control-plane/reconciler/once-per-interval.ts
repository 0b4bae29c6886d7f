/** Upkeep that the reconciler calls on every pass and that is due less often. */

/** Does `each` for everything that is listed, once per interval; while the list can't be read it stays due. */
export function oncePerInterval<T>(
  everyMs: number,
  list: () => Promise<T[]>,
  each: (item: T, nowMs: number) => Promise<void>,
): (nowMs: number) => Promise<void> {
  let last = 0
  return async (nowMs) => {
    if (nowMs - last < everyMs) return
    const items = await list()
    last = nowMs
    for (const item of items) await each(item, nowMs)
  }
}

/** The first of many things in an order, without keeping the others. */

/** What comes first of all that was added. */
export type FirstInOrder<T> = {
  add(item: T): void
  /** In order; `isAll`: nothing was left out. */
  take(): { items: T[]; isAll: boolean }
}

/** Keeps the `max` first in the order of `compare`, and at most as many more until it sorts again. */
export function createFirstInOrder<T>(max: number, compare: (a: T, b: T) => number): FirstInOrder<T> {
  const items: T[] = []
  /** The last that can still be among the first, once some were left out. */
  let last: T | undefined

  function cut(): void {
    items.sort(compare)
    if (items.length <= max) return
    items.length = max
    last = items.at(-1)
  }

  return {
    add(item) {
      if (last !== undefined && compare(item, last) > 0) return
      items.push(item)
      if (items.length >= 2 * max) cut()
    },
    take() {
      cut()
      return { items, isAll: last === undefined }
    },
  }
}

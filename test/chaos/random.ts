/** Reproducible random numbers: the same seed plans the same catastrophes in the same order. */
export type Random = {
  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number
  /** An integer from `from` to `to`, both inclusive. */
  between(from: number, to: number): number
  pick<T>(items: readonly T[]): T
  shuffle<T>(items: readonly T[]): T[]
  /** An independent sequence, so that one consumer's draws don't shift another's. */
  fork(): Random
}

/** mulberry32: small, and random enough to choose what to break. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    between,
    pick: (items) => items[between(0, items.length - 1)]!,
    shuffle(items) {
      const shuffled = [...items]
      for (let i = shuffled.length - 1; i > 0; i--) {
        const other = between(0, i)
        ;[shuffled[i], shuffled[other]] = [shuffled[other]!, shuffled[i]!]
      }
      return shuffled
    },
    fork: () => createRandom(Math.floor(next() * 2 ** 32)),
  }
}

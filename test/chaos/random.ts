/** Random numbers that a seed brings back: the same seed plans the same catastrophes in the same order. */
export type Random = {
  /** From 0 (included) to 1 (not). */
  next(): number
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number
  pick<T>(items: readonly T[]): T
  shuffle<T>(items: readonly T[]): T[]
  /** Another sequence, so that one user's draws don't move another's. */
  fork(): Random
}

/** mulberry32: small, well enough spread for choosing what to break. */
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

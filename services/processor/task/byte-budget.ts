/**
 * The byte budget of one runner. Bytes fetched, produced and held for a sink count. What a fetch may return is taken from the budget before
 * it is sent; its guaranteed bytes are taken also when nothing is left.
 */
export type ByteBudget = {
  /** Takes up to `bytes`. Returns what was granted: 0 when the budget is used up. */
  take(bytes: number): number
  give(bytes: number): void
  /** Counts bytes that nothing can refuse (a guaranteed batch, a round's output), even below zero: later fetches get less. */
  use(bytes: number): void
  /** Counts rows that gather for a sink; `change` may be negative. */
  hold(change: number): void
  /** Held rows take more than half of the budget: they are written before their boundary is reached. */
  isCrowded(): boolean
}

export function openByteBudget(total: number): ByteBudget {
  let free = total
  let held = 0
  return {
    take(bytes) {
      const granted = Math.max(0, Math.min(bytes, free))
      free -= granted
      return granted
    },
    give(bytes) {
      free += bytes
    },
    use(bytes) {
      free -= bytes
    },
    hold(change) {
      free -= change
      held += change
    },
    isCrowded: () => held > total / 2,
  }
}

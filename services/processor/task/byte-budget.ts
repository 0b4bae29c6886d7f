/**
 * One budget of bytes for a processor: what is fetched, made of it and held for a sink counts, and what a fetch may bring beyond its
 * guaranteed batch is drawn from it first.
 */
export type ByteBudget = {
  /** Takes up to `bytes`; answers what was granted, 0 when there is nothing. */
  take(bytes: number): number
  give(bytes: number): void
  /** Counts bytes that are there already (a batch that was guaranteed, a round's output): later fetches get less. */
  use(bytes: number): void
  /** Rows that gather for a sink; `change` may be negative. */
  hold(change: number): void
  /** Held rows have half of it: sinks are to take what they have, boundary or not. */
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

/** One budget of bytes for all fetches of a processor: what a fetch may bring beyond its guaranteed batch is drawn from it first. */
export type ByteBudget = {
  /** Takes up to `bytes`; answers what was granted, 0 when there is nothing. */
  take(bytes: number): number
  give(bytes: number): void
  /** Counts bytes that are there already (a round's output): later fetches get less. */
  use(bytes: number): void
}

export function openByteBudget(total: number): ByteBudget {
  let free = total
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
  }
}

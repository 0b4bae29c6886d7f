/**
 * The fixed interleaving of a stream's partitions that pages are cut from: record 0 of every partition in turn, then record 1 of every
 * partition, and so on; shorter partitions drop out. Pure arithmetic: any page can be located without reading the pages before it.
 */

/** Half-open range of record numbers of one partition, counted from its first record. */
export type Range = { partition: number; from: number; to: number }

/** How many records of the interleaving come before round `round`. */
function before(counts: readonly number[], round: number): number {
  return counts.reduce((sum, count) => sum + Math.min(count, round), 0)
}

/** How many records of each partition are among the first `position` records of the interleaving. */
function cut(counts: readonly number[], position: number): number[] {
  const longest = counts.reduce((max, count) => Math.max(max, count), 0)
  let low = 0
  let high = longest
  // The last round that begins at or before the position.
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (before(counts, middle) <= position) low = middle
    else high = middle - 1
  }
  let rest = position - before(counts, low)
  return counts.map((count) => {
    const taken = Math.min(count, low)
    if (count > low && rest > 0) {
      rest--
      return taken + 1
    }
    return taken
  })
}

/** The ranges that hold records [from, to) of the interleaving; empty ranges are kept, so that every partition has one. */
export function rangesOf(counts: readonly number[], from: number, to: number): Range[] {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const start = cut(counts, Math.min(from, total))
  const end = cut(counts, Math.min(Math.max(from, to), total))
  return counts.map((_, partition) => ({ partition, from: start[partition]!, to: end[partition]! }))
}

/**
 * The fixed interleaving of a stream's partitions that pages are cut from: first every partition's record 0, then every partition's
 * record 1, and so on, partitions in order, short ones dropping out. Pure arithmetic: any page is found without reading what is before it.
 */

/** Half-open range of record numbers of one partition, counted from its first record. */
export type Range = { partition: number; from: number; to: number }

/** How many records of the interleaving lie before round `round`. */
function before(counts: readonly number[], round: number): number {
  return counts.reduce((sum, count) => sum + Math.min(count, round), 0)
}

/** Record numbers per partition that make up the first `position` records of the interleaving. */
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

/** The ranges that hold records [from, to) of the interleaving; empty ones are kept, so that every partition has its place. */
export function rangesOf(counts: readonly number[], from: number, to: number): Range[] {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const start = cut(counts, Math.min(from, total))
  const end = cut(counts, Math.min(Math.max(from, to), total))
  return counts.map((_, partition) => ({ partition, from: start[partition]!, to: end[partition]! }))
}

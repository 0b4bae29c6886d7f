/**
 * Where every record went, per partition and step, as cumulative counters that travel in the offset commit's metadata: a SIGKILL loses
 * none, and nothing is counted twice. D6: in = out + filtered + skipped + failed + absorbed, asserted at every commit.
 */
import { z } from 'zod'
import { COUNTERS, COUNTER_COUNT } from '../../../shared/smartmodule/host/chain.ts'

export type Accounting = {
  /** Takes over the counters of a partition from its committed metadata; unknown metadata starts at zero. */
  restore(partition: number, metadata: string): void
  /** What the metadata would be with `counts` added, checked for balance. Throws when the equation does not hold. */
  metadataWith(partition: number, counts: Float64Array): string
  /** Adds the counts of a committed round. */
  add(partition: number, counts: Float64Array): void
  forget(): void
  snapshot(): { partition: number; steps: Record<(typeof COUNTERS)[number], number>[] }[]
}

const Metadata = z.object({ v: z.literal(1), r: z.number(), c: z.array(z.array(z.number()).length(COUNTER_COUNT)) })

export function createAccounting(revision: number, stepCount: number): Accounting {
  const width = Math.max(1, stepCount) * COUNTER_COUNT
  const byPartition = new Map<number, Float64Array>()
  const of = (partition: number): Float64Array => {
    let counts = byPartition.get(partition)
    if (!counts) byPartition.set(partition, (counts = new Float64Array(width)))
    return counts
  }
  return {
    restore(partition, metadata) {
      const counts = new Float64Array(width)
      byPartition.set(partition, counts)
      const parsed = Metadata.safeParse(parseJson(metadata))
      // Another revision may have other steps: its counters are not ours to continue.
      if (parsed.success && parsed.data.r === revision && parsed.data.c.length * COUNTER_COUNT === width) counts.set(parsed.data.c.flat())
    },
    metadataWith(partition, added) {
      const base = of(partition)
      const rows: number[][] = []
      for (let at = 0; at < width; at += COUNTER_COUNT) {
        const row = Array.from({ length: COUNTER_COUNT }, (_, index) => base[at + index]! + added[at + index]!)
        assertBalance(row, partition, at / COUNTER_COUNT)
        rows.push(row)
      }
      return JSON.stringify({ v: 1, r: revision, c: rows })
    },
    add(partition, added) {
      const base = of(partition)
      for (let i = 0; i < width; i++) base[i]! += added[i]!
    },
    forget() {
      byPartition.clear()
    },
    snapshot() {
      return [...byPartition].map(([partition, counts]) => ({
        partition,
        steps: Array.from({ length: width / COUNTER_COUNT }, (_, step) => {
          const at = step * COUNTER_COUNT
          const [input, out, filtered, skipped, failed, absorbed, emitted] = counts.subarray(at, at + COUNTER_COUNT)
          return { in: input!, out: out!, filtered: filtered!, skipped: skipped!, failed: failed!, absorbed: absorbed!, emitted: emitted! }
        }),
      }))
    },
  }
}

function assertBalance(row: number[], partition: number, step: number): void {
  const [input, out, filtered, skipped, failed, absorbed] = row as [number, number, number, number, number, number]
  if (input === out + filtered + skipped + failed + absorbed) return
  throw new Error(
    `accounting of partition ${partition}, step ${step + 1} does not balance: in ${input}, out ${out}, filtered ${filtered}, skipped ${skipped}, failed ${failed}, absorbed ${absorbed}`,
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

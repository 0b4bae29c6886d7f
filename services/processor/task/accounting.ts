/**
 * Counts where every record went, per partition and step. The cumulative counters are part of the offset commit's metadata: a SIGKILL loses
 * none, and nothing is counted twice. Every commit asserts in = out + filtered + skipped + failed + absorbed: by then what failed has a
 * dead letter, and nothing is in flight.
 */
import type { Counters } from '../../../shared/model/observed.ts'
import { COUNTER, COUNTER_COUNT, isBalanced, namedCounters } from '../../../shared/model/counters.ts'
import { Interrupted } from '../interruption.ts'
import { parseCommitMetadata } from '../../../shared/model/commit-metadata.ts'

export type Accounting = {
  /** Restores a partition's counters from its committed metadata; with unknown metadata they start at zero. */
  restore(partition: number, metadata: string): void
  /** The commit metadata with `counts` added, of a round that has some. Throws `failed` when the equation does not hold. */
  metadataWith(partition: number, counts?: Float64Array): string
  /** Adds the counts of a committed round. */
  add(partition: number, counts?: Float64Array): void
  /** Forgets everything: what is committed from now on is of the topic with this id. */
  begin(topicId: string): void
  /** Includes a partition in snapshots from now on, starting at zero. */
  open(partition: number): void
  snapshot(): { partition: number; steps: Counters[]; totals: Counters }[]
  /** The same partitions for another revision: its steps start at zero, the totals carry over. */
  forRevision(revision: number, stepCount: number): Accounting
  /** The revision that last committed the partition; undefined when none did. */
  revisionOf(partition: number): number | undefined
}

const NONE = Array.from({ length: COUNTER_COUNT }, () => 0)

type Totals = { counts: Float64Array; revision: number | undefined }
/** What all revisions at work share. */
type Shared = { topicId: string | undefined; totals: Map<number, Totals> }

export function createAccounting(
  revision: number,
  stepCount: number,
  shared: Shared = { topicId: undefined, totals: new Map() },
): Accounting {
  const { totals } = shared
  const width = Math.max(1, stepCount) * COUNTER_COUNT
  const none = new Float64Array(width)
  const byPartition = new Map<number, Float64Array>()
  const totalsOf = (partition: number): Totals => {
    let known = totals.get(partition)
    if (!known) totals.set(partition, (known = { counts: new Float64Array(COUNTER_COUNT), revision: undefined }))
    return known
  }
  const of = (partition: number): Float64Array => {
    let counts = byPartition.get(partition)
    if (!counts) byPartition.set(partition, (counts = new Float64Array(width)))
    return counts
  }
  return {
    restore(partition, metadata) {
      const counts = new Float64Array(width)
      byPartition.set(partition, counts)
      const known = parseCommitMetadata(metadata)
      totals.set(partition, { counts: Float64Array.from(known?.t ?? NONE), revision: known?.r })
      // Another revision may have other steps, so its step counters can't be continued.
      if (known?.r === revision && known.c.length * COUNTER_COUNT === width) counts.set(known.c.flat())
    },
    metadataWith(partition, added = none) {
      // D6: every record is accounted for at each commit, per step and for the whole chain.
      const base = of(partition)
      const rows: number[][] = []
      for (let at = 0; at < width; at += COUNTER_COUNT) {
        const row = Array.from({ length: COUNTER_COUNT }, (_, index) => base[at + index]! + added[at + index]!)
        assertBalance(row, partition, at / COUNTER_COUNT)
        rows.push(row)
      }
      const whole = chainTotals(added)
      const known = totalsOf(partition).counts
      const sum = whole.map((value, index) => value + known[index]!)
      assertBalance(sum, partition, -1)
      return JSON.stringify({ v: 1, r: revision, c: rows, t: sum, i: shared.topicId })
    },
    add(partition, added = none) {
      const base = of(partition)
      for (let i = 0; i < width; i++) base[i]! += added[i]!
      const known = totalsOf(partition)
      known.revision = revision
      for (const [index, value] of chainTotals(added).entries()) known.counts[index]! += value
    },
    begin(topicId) {
      byPartition.clear()
      totals.clear()
      shared.topicId = topicId
    },
    revisionOf: (partition) => totals.get(partition)?.revision,
    forRevision(next, steps) {
      const following = createAccounting(next, steps, shared)
      for (const partition of byPartition.keys()) following.open(partition)
      return following
    },
    open: (partition) => void of(partition),
    snapshot() {
      return [...byPartition].map(([partition, counts]) => ({
        partition,
        steps: Array.from({ length: width / COUNTER_COUNT }, (_, step) =>
          namedCounters(counts.subarray(step * COUNTER_COUNT, (step + 1) * COUNTER_COUNT)),
        ),
        totals: namedCounters(totalsOf(partition).counts),
      }))
    },
  }
}

/** Totals of the whole chain: `in` of the first step, `out` and `emitted` of the last, the other counters summed over all steps. */
function chainTotals(counts: Float64Array): number[] {
  const last = counts.length - COUNTER_COUNT
  return Array.from({ length: COUNTER_COUNT }, (_, index) => {
    if (index === COUNTER.in) return counts[index]!
    if (index === COUNTER.out || index === COUNTER.emitted) return counts[last + index]!
    let sum = 0
    for (let at = index; at < counts.length; at += COUNTER_COUNT) sum += counts[at]!
    return sum
  })
}

/** `step` -1 means the whole chain. */
function assertBalance(row: number[], partition: number, step: number): void {
  const counters = namedCounters(row)
  if (isBalanced(counters)) return
  const { in: input, out, filtered, skipped, failed, absorbed } = counters
  // A fault of the service, and reason enough to stop.
  throw new Interrupted(
    'failed',
    `accounting of partition ${partition}, ${step < 0 ? 'whole chain' : `step ${step + 1}`} does not balance: in ${input}, out ${out}, filtered ${filtered}, skipped ${skipped}, failed ${failed}, absorbed ${absorbed}`,
  )
}

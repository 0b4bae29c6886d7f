/** Rows of each partition that wait for a boundary of their sink, with the dead letters and counters of the same records. */
import type { OpenSink, Rows } from '../../../../shared/connectors/sink.ts'
import type { OutputBatch, PartitionOutcome } from '../../lane/messages.ts'
import type { ByteBudget } from '../byte-budget.ts'
import type { PlannedRange } from '../positions.ts'

export type Held = {
  to: bigint
  rows: Rows[]
  bytes: number
  count: number
  records: number
  deadLetters: OutputBatch[]
  deadLetterOffsets: bigint[]
  counts: Float64Array
  /** Of `performance.now`. */
  since: number
}

export type HeldRowsOptions = {
  sink: Pick<OpenSink, 'boundaries'>
  /** Ranges that are written as a whole, by partition. */
  planned: ReadonlyMap<number, Pick<PlannedRange, 'to'>>
  budget: ByteBudget
}

/** When held rows crowd the byte budget, partitions are flushed early from this many bytes on; where all have fewer, the largest one is. */
const CROWDED_BYTES_MIN = 1 << 20

export function createHeldRows({ sink: { boundaries }, planned, budget }: HeldRowsOptions) {
  const held = new Map<number, Held>()

  /** From how many bytes on a partition is flushed early. A task that holds little has no part in the crowd. */
  function earlyFrom(): number {
    if (!budget.isCrowded()) return Infinity
    let [all, largest] = [0, 0]
    for (const { bytes } of held.values()) [all, largest] = [all + bytes, Math.max(largest, bytes)]
    return all < CROWDED_BYTES_MIN ? Infinity : Math.min(CROWDED_BYTES_MIN, largest)
  }

  function isFull({ bytes, count, since }: Held, early: number): boolean {
    if (!boundaries || bytes >= early) return true
    return bytes >= boundaries.bytesMax || count >= boundaries.recordsMax || performance.now() - since >= boundaries.intervalMs
  }

  /** All of the range is held. */
  function isWhole(partition: number, { to }: Held): boolean {
    const range = planned.get(partition)
    return range === undefined || to >= range.to
  }

  function add(outcomes: readonly PartitionOutcome[]): void {
    for (const outcome of outcomes) {
      const deadLetterBytes = outcome.deadLetters.reduce((sum, { length }) => sum + length, 0)
      const bytes = outcome.rows.reduce((sum, rows) => sum + rows.bytes.length, deadLetterBytes)
      const count = outcome.rows.reduce((sum, rows) => sum + rows.count, 0)
      budget.hold(bytes)
      const known = held.get(outcome.partition)
      if (!known) {
        held.set(outcome.partition, {
          to: outcome.nextOffset,
          rows: outcome.rows,
          bytes,
          count,
          records: outcome.records,
          deadLetters: outcome.deadLetters,
          deadLetterOffsets: outcome.deadLetterOffsets,
          counts: outcome.counts,
          since: performance.now(),
        })
        continue
      }
      known.to = outcome.nextOffset
      known.rows.push(...outcome.rows)
      known.bytes += bytes
      known.count += count
      known.records += outcome.records
      known.deadLetters.push(...outcome.deadLetters)
      known.deadLetterOffsets.push(...outcome.deadLetterOffsets)
      for (let i = 0; i < known.counts.length; i++) known.counts[i]! += outcome.counts[i]!
    }
  }

  return {
    add,
    /** A partition has come to a boundary. */
    isDue(): boolean {
      const early = earlyFrom()
      return [...held.values()].some((each) => isFull(each, early))
    },
    /** What can be written: the partitions at a boundary, or all of them. */
    parts(isAll: boolean): [number, Held][] {
      const early = earlyFrom()
      return [...held].filter(([partition, each]) => (isAll || isFull(each, early)) && isWhole(partition, each))
    },
    /** The partition's rows were written. */
    release(partition: number): void {
      budget.hold(-(held.get(partition)?.bytes ?? 0))
      held.delete(partition)
    },
    /** Gives all of them up: their records will be read again. */
    drop(): void {
      for (const { bytes } of held.values()) budget.hold(-bytes)
      held.clear()
    },
  }
}

/** The outcome that the held rows came from, without its rows. */
export const outcomeOf = (partition: number, { to, records, deadLetters, deadLetterOffsets, counts }: Held): PartitionOutcome => ({
  partition,
  nextOffset: to,
  records,
  sink: [],
  rows: [],
  deadLetters,
  deadLetterOffsets,
  counts,
})

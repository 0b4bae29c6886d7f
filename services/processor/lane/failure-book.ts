/**
 * What the main thread remembers about a chain's failing records, for the next run of a round: where a call did not return (it is cut into
 * parts until the record is found), records that wait for another attempt, and records that a sink refused or that have dead letters.
 * Belongs to one chain; an entry is forgotten once a round past it is committed.
 */
import type { KnownFailures } from '../../../shared/smartmodule/host/spec.ts'
import type { RefusedRecord } from '../../../shared/connectors/sink.ts'
import type { PartitionOutcome, Retries } from './messages.ts'

export type FailureBook = {
  /** What is known for the next run over the partition; undefined when nothing is. */
  of(partition: number): KnownFailures | undefined
  /** A call over these offsets (both included) did not return. */
  addHang(partition: number, first: bigint, last: bigint, step: number, message: string): void
  /** Calls over the partition are being cut to find the record at fault. */
  isSearching(partition: number): boolean
  addAttempts(retries: Retries): void
  /** The sink refused these records. */
  refuse(partition: number, records: readonly RefusedRecord[]): void
  /** These records already have dead letters: they fail in any case, and no second dead letter is written. */
  addDeadLettered(partition: number, offsets: readonly bigint[]): void
  /** Records of the range `from` to before `to` that the sink refused or that have dead letters. */
  failedIn(partition: number, from: bigint, to: bigint): bigint[]
  /** Forgets everything before the end of a committed round. */
  settle(outcomes: readonly PartitionOutcome[]): void
  /** Forgets everything. */
  clear(): void
}

/** A call that did not return is cut into this many parts; each level of cutting costs a short deadline. */
const PARTS = 16n

type Page = {
  cuts: bigint[]
  poison: { offset: bigint; step: number; message: string }[]
  attempts: Map<bigint, number>
  refused: Map<bigint, { code: string; message: string }>
  deadLettered: Set<bigint>
}

export function createFailureBook(): FailureBook {
  const pages = new Map<number, Page>()
  const pageOf = (partition: number): Page => {
    let page = pages.get(partition)
    if (!page) pages.set(partition, (page = { cuts: [], poison: [], attempts: new Map(), refused: new Map(), deadLettered: new Set() }))
    return page
  }
  return {
    of: (partition) => pages.get(partition),
    addHang(partition, first, last, step, message) {
      const page = pageOf(partition)
      if (first === last) page.poison.push({ offset: first, step, message })
      const length = last - first + 1n
      const cuts = new Set([...page.cuts, first, last + 1n])
      for (let part = 1n; part < PARTS; part++) cuts.add(first + (length * part) / PARTS)
      page.cuts = [...cuts]
    },
    isSearching: (partition) => (pages.get(partition)?.cuts.length ?? 0) > 0,
    addAttempts(retries) {
      for (const { partition, offsets } of retries) {
        const { attempts, refused } = pageOf(partition)
        for (const offset of offsets) {
          attempts.set(offset, (attempts.get(offset) ?? 0) + 1)
          // The sink gets the record again.
          refused.delete(offset)
        }
      }
    },
    refuse(partition, records) {
      const { refused } = pageOf(partition)
      for (const { offset, code, message } of records) refused.set(offset, { code, message })
    },
    addDeadLettered(partition, offsets) {
      const { deadLettered } = pageOf(partition)
      for (const offset of offsets) deadLettered.add(offset)
    },
    failedIn(partition, from, to) {
      const page = pages.get(partition)
      if (!page) return []
      return [...new Set([...page.refused.keys(), ...page.deadLettered])].filter((offset) => offset >= from && offset < to)
    },
    settle(outcomes) {
      for (const { partition, nextOffset } of outcomes) {
        const page = pages.get(partition)
        if (!page) continue
        page.cuts = page.cuts.filter((cut) => cut > nextOffset)
        page.poison = page.poison.filter(({ offset }) => offset >= nextOffset)
        for (const offset of page.attempts.keys()) if (offset < nextOffset) page.attempts.delete(offset)
        for (const offset of page.refused.keys()) if (offset < nextOffset) page.refused.delete(offset)
        for (const offset of page.deadLettered) if (offset < nextOffset) page.deadLettered.delete(offset)
        if (page.cuts.length + page.poison.length + page.attempts.size + page.refused.size + page.deadLettered.size === 0)
          pages.delete(partition)
      }
    },
    clear: () => pages.clear(),
  }
}

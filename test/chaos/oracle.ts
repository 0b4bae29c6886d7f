/**
 * The oracle: compares the records acknowledged to the writer with what a read-committed reader sees in the sink and in the dead letters,
 * including the order per key.
 */
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { createBits } from './bits.ts'
import { isPoison, KEYS_PER_PARTITION, recordAt } from './load.ts'
import { readCommitted } from './reader.ts'

export type Verdict = {
  records: number
  lost: number
  duplicated: number
  out_of_order: number
  /** Records that were never written, or that belong to aborted transactions. */
  ghosts: number
  /** Dead letters of non-poison records, or poison records in the sink. */
  misplaced: number
  dead_letters: number
  /** By partition, the index of the first record that each revision handled, by the mark in the records. */
  borders: Map<number, Map<number, number>>
  /** Records of an earlier revision after records of a later one. */
  revisions_out_of_order: number
}

export const isExact = ({ lost, duplicated, out_of_order, ghosts, misplaced, revisions_out_of_order }: Verdict): boolean =>
  lost + duplicated + out_of_order + ghosts + misplaced + revisions_out_of_order === 0

const N = /"n":(-?\d+)/
/** As `recordAt` names keys. */
const PARTITION_OF_KEY = /^k(\d+)-/
const REV = /"rev":(\d+)/

/** `acknowledged` counts records by source partition; the sink has the same partitions, the dead letters any number. */
export async function judge(cluster: Cluster, sinkTopic: string, deadLetterTopic: string, acknowledged: number[]): Promise<Verdict> {
  const verdict: Verdict = {
    records: acknowledged.reduce((sum, count) => sum + count, 0),
    lost: 0,
    duplicated: 0,
    out_of_order: 0,
    ghosts: 0,
    misplaced: 0,
    dead_letters: 0,
    borders: new Map(),
    revisions_out_of_order: 0,
  }
  const seenInSink = acknowledged.map(createBits)
  const seenDead = acknowledged.map(createBits)
  const lastN = new Map<string, number>()
  const lastRev = new Map<number, number>()

  function indexOf(partition: number, key: string, n: number): number {
    const index = n * KEYS_PER_PARTITION + Number(key.slice(key.indexOf('-') + 1))
    if (n < 0 || !(index < (acknowledged[partition] ?? 0)) || recordAt(partition, index).key !== key) return -1
    return index
  }

  await readCommitted(cluster, sinkTopic, (partition, _offset, key, bytes) => {
    const value = bytes.toString('latin1', 5)
    const n = Number(N.exec(value)?.[1] ?? -1)
    const index = indexOf(partition, key, n)
    if (index < 0) return void verdict.ghosts++
    if (isPoison(n)) return void verdict.misplaced++
    if (!seenInSink[partition]!.add(index)) return void verdict.duplicated++
    if (n < (lastN.get(key) ?? -1)) verdict.out_of_order++
    else lastN.set(key, n)
    const rev = Number(REV.exec(value)?.[1] ?? 0)
    if (rev < (lastRev.get(partition) ?? 0)) verdict.revisions_out_of_order++
    else if (rev > (lastRev.get(partition) ?? 0)) {
      lastRev.set(partition, rev)
      const borders = verdict.borders.get(partition) ?? new Map<number, number>()
      verdict.borders.set(partition, borders.set(rev, index))
    }
  })
  await readCommitted(cluster, deadLetterTopic, (_partition, _offset, key, bytes) => {
    const partition = Number(PARTITION_OF_KEY.exec(key)?.[1] ?? -1)
    const value = bytes.toString('latin1', 5)
    const n = Number(N.exec(value)?.[1] ?? -1)
    const index = indexOf(partition, key, n)
    if (index < 0) return void verdict.ghosts++
    if (!isPoison(n)) return void verdict.misplaced++
    if (!seenDead[partition]!.add(index)) return void verdict.duplicated++
    verdict.dead_letters++
  })
  for (const [partition, count] of acknowledged.entries()) {
    for (let index = 0; index < count; index++) {
      const seen = isPoison(recordAt(partition, index).n) ? seenDead : seenInSink
      if (!seen[partition]!.has(index)) verdict.lost++
    }
  }
  return verdict
}

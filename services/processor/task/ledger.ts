/** The ledger entries of a round, written in its transaction when a revision commits a partition for the first time. */
import { TRANSACTIONAL, encodeBatch } from '../../../shared/kafka/protocol/record-batch.ts'
import { ledgerKey, type LedgerEntry } from '../../../shared/model/definition.ts'
import type { OutputBatch } from '../lane/messages.ts'
import type { Running } from './running.ts'

/** Entries for those of the partitions that this revision commits for the first time; undefined where there are none. A job has none. */
export function ledgerOf(
  { definition, accounting }: Running,
  partitions: readonly number[],
  positions: ReadonlyMap<number, bigint>,
  nowMs: number,
): OutputBatch | undefined {
  if (definition.job) return undefined
  const { pipeline_id, revision } = definition
  const at = new Date(nowMs).toISOString()
  const entries = partitions
    .filter((partition) => accounting.revisionOf(partition) !== revision)
    .map((partition) => ({ pipeline_id, partition, revision, from_offset: String(positions.get(partition) ?? 0n), at }))
  return entries.length > 0 ? encodeEntries(entries, nowMs) : undefined
}

function encodeEntries(entries: LedgerEntry[], nowMs: number): OutputBatch {
  const records = entries.map((entry, offsetDelta) => ({
    offsetDelta,
    timestampDelta: 0n,
    key: Buffer.from(ledgerKey(entry)),
    value: Buffer.from(JSON.stringify(entry)),
    headers: [],
  }))
  const batch = encodeBatch(records, BigInt(nowMs), TRANSACTIONAL)
  return { partition: 0, bytes: batch.buffer as ArrayBuffer, length: batch.length, records: records.length }
}

/** The ledger's entries of a round: written in its transaction where a partition comes under another revision. */
import { TRANSACTIONAL, encodeBatch } from '../../../shared/kafka/protocol/record-batch.ts'
import { ledgerKey, type LedgerEntry } from '../../../shared/model/definition.ts'
import type { OutputBatch } from '../lane/messages.ts'

export function ledgerBatch(entries: LedgerEntry[], nowMs: number): OutputBatch {
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

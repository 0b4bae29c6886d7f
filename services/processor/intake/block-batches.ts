/**
 * A source's block as Kafka record batches (KIP-98) for the intake topic. Values get the registry's five-byte prefix with schema id 0, so
 * that whatever reads the topic finds the framing that streams have.
 * HOT: nothing is made per record.
 */
import { SPAN, type RecordBlock } from '../../../shared/connectors/record-block.ts'
import { partitionOfKey } from '../../../shared/kafka/protocol/murmur2.ts'
import { BATCH_HEADER_BYTES, TRANSACTIONAL, writeBatchHeader } from '../../../shared/kafka/protocol/record-batch.ts'
import { varintSize, writeVarint } from '../../../shared/kafka/protocol/varint.ts'
import { FRAMING_BYTES } from '../../../shared/registry/framing.ts'
import type { OutputBatch } from '../lane/messages.ts'

const BATCH_BYTES = 1_000_000
/** Length, attributes, two deltas, two lengths and the header count of a record, at most. */
const RECORD_OVERHEAD = 5 + 1 + 1 + 5 + 5 + 5 + 1

type Open = { bytes: Buffer; at: number; records: number }

/** Records with a key go to its partition, the others to `keyless`. */
export function batchesOf(block: RecordBlock, partitions: number, keyless: number, nowMs: number): OutputBatch[] {
  const batches: OutputBatch[] = []
  const open: (Open | undefined)[] = Array.from({ length: partitions }, () => undefined)
  const { bytes, spans } = block

  function seal(partition: number): void {
    const batch = open[partition]
    if (!batch) return
    open[partition] = undefined
    const whole = batch.bytes.subarray(0, batch.at)
    const time = BigInt(nowMs)
    writeBatchHeader(whole, { attributes: TRANSACTIONAL, recordCount: batch.records, baseTimestamp: time, maxTimestamp: time })
    batches.push({ partition, bytes: whole.buffer as ArrayBuffer, length: batch.at, records: batch.records })
  }

  for (let i = 0; i < block.count; i++) {
    const keyFrom = spans[i * SPAN]!
    const keyTo = spans[i * SPAN + 1]!
    const valueFrom = spans[i * SPAN + 2]!
    const valueTo = spans[i * SPAN + 3]!
    const keyLength = keyFrom < 0 ? -1 : keyTo - keyFrom
    const valueLength = valueFrom < 0 ? -1 : valueTo - valueFrom + FRAMING_BYTES
    const need = Math.max(0, keyLength) + Math.max(0, valueLength) + RECORD_OVERHEAD
    const partition = keyFrom < 0 ? keyless : partitionOfKey(bytes, keyFrom, keyTo, partitions)
    if (open[partition] && open[partition].at + need > BATCH_BYTES) seal(partition)
    // A buffer of its own for each batch: it is written out as it is.
    const batch = (open[partition] ??= {
      bytes: Buffer.from(new ArrayBuffer(Math.max(BATCH_BYTES, BATCH_HEADER_BYTES + need))),
      at: BATCH_HEADER_BYTES,
      records: 0,
    })
    const size =
      2 +
      varintSize(batch.records) +
      varintSize(keyLength) +
      Math.max(0, keyLength) +
      varintSize(valueLength) +
      Math.max(0, valueLength) +
      1
    const target = batch.bytes
    let at = writeVarint(target, size, batch.at)
    target[at++] = 0
    // The timestamp's delta: all of a block were read now.
    target[at++] = 0
    at = writeVarint(target, batch.records, at)
    at = writeVarint(target, keyLength, at)
    if (keyFrom >= 0) at += bytes.copy(target, at, keyFrom, keyTo)
    at = writeVarint(target, valueLength, at)
    if (valueFrom >= 0) {
      target.fill(0, at, at + FRAMING_BYTES)
      at += FRAMING_BYTES
      at += bytes.copy(target, at, valueFrom, valueTo)
    }
    // No headers.
    target[at++] = 0
    batch.at = at
    batch.records++
  }
  for (let partition = 0; partition < partitions; partition++) seal(partition)
  return batches
}

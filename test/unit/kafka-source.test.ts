/** What a kafka source makes of a batch that can't be read. */
import { expect, it } from 'vitest'
import { createRecordReader } from '../../shared/connectors/kafka/source.ts'
import { createBlockBuilder } from '../../shared/connectors/record-block.ts'
import { BATCH_HEADER_BYTES, encodeBatch } from '../../shared/kafka/protocol/record-batch.ts'
import { blockValues } from '../harness/conformance.ts'

function batchAt(offset: number): Buffer {
  const record = { offsetDelta: 0, timestampDelta: 0n, key: null, value: Buffer.from(`v${offset}`), headers: [] }
  const batch = Buffer.from(encodeBatch([record], 0n, 0))
  batch.writeBigInt64BE(BigInt(offset), 0)
  return batch
}

it('a batch whose records are malformed is refused, and those behind it are read', async () => {
  const batches = [batchAt(0), batchAt(1), batchAt(2)]
  // The first record's length.
  batches[1]![BATCH_HEADER_BYTES] = 120
  const builder = createBlockBuilder()
  const addRecords = createRecordReader({ topic: 'there', framed: false }, undefined)
  const positions: bigint[] = []
  for await (const next of addRecords(Buffer.concat(batches), 0, 0n, () => false, builder, new AbortController().signal))
    positions.push(next)
  expect(positions).toEqual([1n, 2n, 3n])
  expect(blockValues(builder.take())).toEqual(['v0', 'the batch at offset 1 of partition 0 of there', 'v2'])
})

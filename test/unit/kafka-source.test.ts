/** What a kafka source makes of a batch that can't be read, and of a topic that a broker does not know for a while. */
import { expect, it } from 'vitest'
import { ConfigRefused } from '../../shared/connectors/connector.ts'
import { createTopicLook } from '../../shared/connectors/kafka/other-cluster.ts'
import { createRecordReader } from '../../shared/connectors/kafka/source.ts'
import { createBlockBuilder } from '../../shared/connectors/record-block.ts'
import { BATCH_HEADER_BYTES, encodeBatch } from '../../shared/kafka/protocol/record-batch.ts'
import type { TopicLayout } from '../../shared/kafka/cluster.ts'
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
  for await (const next of addRecords(Buffer.concat(batches), 0, 0n, [], builder, new AbortController().signal)) positions.push(next)
  expect(positions).toEqual([1n, 2n, 3n])
  expect(blockValues(builder.take())).toEqual(['v0', 'the batch at offset 1 of partition 0 of there', 'v2'])
})

it('a topic that was seen is refused only once it has been missing for a minute', async () => {
  let layout: TopicLayout | undefined
  let now = 0
  const look = createTopicLook({ describeTopic: () => Promise.resolve(layout) }, 'there', () => now)
  await expect(look()).rejects.toThrow(ConfigRefused)
  layout = { topic: 'there', topicId: 'id', leaders: [0] }
  expect(await look()).toBe(layout)
  const found = layout
  layout = undefined
  for (now = 1000; now < 60_000; now += 20_000) await expect(look()).rejects.not.toThrow(ConfigRefused)
  layout = found
  expect(await look()).toBe(found)
  layout = undefined
  now = 100_000
  await expect(look()).rejects.not.toThrow(ConfigRefused)
  now += 60_000
  await expect(look()).rejects.toThrow(ConfigRefused)
})

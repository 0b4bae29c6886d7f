/** Which records of a planned range have dead letters, read back from a topic that may have been trimmed meanwhile. */
import { Reader, type Connection, type Writer } from '@platformatic/kafka'
import { expect, it } from 'vitest'
import { deadLetterRecord } from '../../services/processor/lane/dead-letter.ts'
import { readDeadLettered } from '../../services/processor/task/dead-lettered.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { encodeBatch } from '../../shared/kafka/protocol/record-batch.ts'
import type { FetchAnswer } from '../../shared/kafka/wire/fetch.ts'
import { KAFKA_ERRORS } from '../../shared/kafka/wire/error-codes.ts'
import { BARE_CHAIN } from '../harness/chains.ts'

const RANGE = { topic: 't', topicId: 'id1', partition: 0, from: 0n, to: 100n, redrive: undefined }

/** The offset that a fetch of one partition asks for. */
function offsetOf(request: Writer): bigint {
  const reader = Reader.from(request.buffer)
  for (let field = 0; field < 3; field++) reader.readInt32()
  reader.readInt8()
  reader.readInt32()
  reader.readInt32()
  return reader.readArray((topic) => {
    topic.readUUID()
    return topic.readArray((partition) => {
      partition.readInt32()
      partition.readInt32()
      const offset = partition.readInt64()
      partition.readInt32()
      partition.readInt64()
      partition.readInt32()
      return offset
    })[0]!
  })[0]!
}

/** At offset n, the dead letter of the record n. */
function batchAt(offset: bigint, topicId: string | undefined): Buffer {
  const record = { offsetDelta: 0, timestampDelta: 0n, key: null, value: null, headers: [] }
  const origin = { topic: 't', topicId, partition: 0, offset, attempts: 0, redrives: 0, timestamp: 0n }
  const failure = { delta: 0, step: 0, code: 'no', message: 'no', attempts: 1 }
  const batch = encodeBatch([deadLetterRecord(record, failure, BARE_CHAIN, origin, 0).record], 0n, 0)
  batch.writeBigInt64BE(offset, 0)
  return batch
}

/** A dead-letter topic with one batch for each offset of `start` to `end`; what begins before `start` is out of range. */
function openTopic(start: bigint, end: bigint) {
  const topic = { start, end, asked: [] as bigint[], onFetch: () => {}, idAt: (_offset: bigint): string | undefined => 'id1' }
  const send: Connection['send'] = (_key, _version, createRequest, _parse, _head, _tail, callback) => {
    topic.onFetch()
    const offset = offsetOf(createRequest() as Writer)
    topic.asked.push(offset)
    const isThere = offset >= topic.start && offset < topic.end
    const part = { partition: 0, highWatermark: end, lastStableOffset: end, logStartOffset: topic.start, aborted: [] }
    const found = isThere
      ? { errorCode: 0, bytes: batchAt(offset, topic.idAt(offset)) }
      : { errorCode: KAFKA_ERRORS.offsetOutOfRange, bytes: undefined }
    const answer: FetchAnswer = { errorCode: 0, partitions: [{ ...part, ...found }] }
    callback(null, answer as unknown as Parameters<typeof callback>[1])
  }
  const cluster = {
    offsets: async (_layout: unknown, _partitions: number[], which: string) =>
      new Map([[0, which === 'earliest' ? topic.start : topic.end]]),
  } as unknown as Cluster
  const connections = { leader: async () => ({ send }) as unknown as Connection, close: async () => {} }
  const read = (from: bigint) =>
    readDeadLettered(cluster, connections, { topic: 'l', topicId: '00000000-0000-0000-0000-000000000001', leaders: [1] }, 0, from, RANGE)
  return { topic, read }
}

it('what was trimmed of the planned dead letters is left out, and the rest is found', async () => {
  const { topic, read } = openTopic(5n, 8n)
  expect(await read(2n)).toEqual([5n, 6n, 7n])
  expect(topic.asked[0]).toBe(5n)
  expect(await read(6n)).toEqual([6n, 7n])
})

it('nothing is found where all of them were trimmed', async () => {
  const { topic, read } = openTopic(8n, 8n)
  expect(await read(2n)).toEqual([])
  expect(topic.asked).toEqual([])
})

it('those of a topic that had the same name before are left out', async () => {
  const { topic, read } = openTopic(0n, 4n)
  const ids = ['id0', 'id1', undefined, 'id0']
  topic.idAt = (offset) => ids[Number(offset)]
  expect(await read(0n)).toEqual([1n, 2n])
})

it('trimming goes on while they are read', async () => {
  const { topic, read } = openTopic(0n, 8n)
  topic.onFetch = () => {
    if (topic.asked.length === 2) topic.start = 6n
  }
  expect(await read(0n)).toEqual([0n, 1n, 6n, 7n])
})

it('an offset that is out of range for another reason is an error', async () => {
  const { topic, read } = openTopic(0n, 8n)
  topic.onFetch = () => {
    topic.end = 0n
  }
  await expect(read(3n)).rejects.toMatchObject({ code: KAFKA_ERRORS.offsetOutOfRange })
})

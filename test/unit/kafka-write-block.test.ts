/** What the kafka sink writes again after a failure: only what was not acknowledged. */
import { describe, expect, it } from 'vitest'
import { blockOf } from '../../shared/connectors/encode/whole-records.ts'
import { createBlockWriter } from '../../shared/connectors/kafka/write-block.ts'
import type { Delivery } from '../../shared/connectors/sink.ts'
import { BATCH_HEADER_BYTES, decodeRecords, readBatchHeader } from '../../shared/kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS } from '../../shared/kafka/wire/error-codes.ts'
import { rowsOf } from '../harness/conformance.ts'

const NOT_ENOUGH_REPLICAS = 19
const PARTITIONS = 3
const delivery = (change: Partial<Delivery> = {}): Delivery => ({
  runId: 'run',
  topicId: 'topic',
  partition: 0,
  from: 0n,
  to: 100n,
  revision: 1,
  resetAt: 0,
  note: '',
  deadLettered: [],
  ...change,
})
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

/** A topic of another cluster whose partitions can be away, and that takes only small records with some of the numbers. */
function openTopic(bytesMax = 500, isTaken: (n: number) => boolean = () => true) {
  const written: { partition: number; n: number }[] = []
  const away = new Set<number>()
  const writeBlock = createBlockWriter(async (partition, batch) => {
    if (away.has(partition)) return { errorCode: NOT_ENOUGH_REPLICAS, errorMessage: null }
    if (batch.length > bytesMax) return { errorCode: KAFKA_ERRORS.messageTooLarge, errorMessage: null }
    const records = decodeRecords(batch.subarray(BATCH_HEADER_BYTES), readBatchHeader(batch, 0)!.recordCount)
    const taken = records.map(({ value }) => (JSON.parse(String(value)) as { n: number }).n)
    if (!taken.every(isTaken)) return { errorCode: KAFKA_ERRORS.invalidRecord, errorMessage: 'no key' }
    for (const n of taken) written.push({ partition, n })
    return { errorCode: 0, errorMessage: null }
  })
  const write = (values: { n: number; pad?: string }[], change: Partial<Delivery> = {}) => {
    const pieces = values.flatMap(({ n, ...rest }) => rowsOf({ kind: 'records' }, [JSON.stringify({ n, ...rest })], n))
    const options = { partitions: PARTITIONS, keyless: 0, nowMs: 0, attributes: 0, prefix: Buffer.alloc(0) }
    return writeBlock(delivery(change), pieces, blockOf(pieces), options, new AbortController().signal)
  }
  return { written, away, write, sorted: () => written.map(({ n }) => n).sort((a, b) => a - b) }
}

describe('a range written to a topic of another cluster', () => {
  it.each(numbers(PARTITIONS))('is not written again to the other partitions while partition %i is away', async (lost) => {
    const topic = openTopic()
    const values = numbers(50).map((n) => ({ n }))
    topic.away.add(lost)
    for (let tries = 0; tries < 4; tries++) expect(await topic.write(values)).toMatchObject({ kind: 'retry' })
    topic.away.clear()
    expect(await topic.write(values)).toEqual({ kind: 'delivered' })
    expect(topic.sorted()).toEqual(numbers(50))
    for (const rows of Map.groupBy(topic.written, ({ partition }) => partition).values())
      expect(rows).toEqual(rows.toSorted((a, b) => a.n - b.n))
  })

  it('names all records that are too large at once, and then writes none of the others again', async () => {
    const topic = openTopic()
    const isLarge = (n: number) => n === 7 || n === 8 || n === 49
    const values = numbers(50).map((n) => (isLarge(n) ? { n, pad: 'x'.repeat(600) } : { n }))
    const first = await topic.write(values)
    expect(first.kind === 'at_fault' && first.records.map(({ offset }) => offset).sort()).toEqual([49n, 7n, 8n])
    expect(await topic.write(values.filter(({ n }) => !isLarge(n)))).toEqual({ kind: 'delivered' })
    expect(topic.sorted()).toEqual(numbers(50).filter((n) => !isLarge(n)))
  })

  it('names the records that the broker refuses, for which it refuses their batches', async () => {
    const isTaken = (n: number) => n % 10 !== 7
    const topic = openTopic(500, isTaken)
    const values = numbers(50).map((n) => ({ n }))
    const first = await topic.write(values)
    expect(first.kind).toBe('at_fault')
    const faults = first.kind === 'at_fault' ? first.records.toSorted((a, b) => Number(a.offset - b.offset)) : []
    expect(faults.map(({ offset, code }) => [offset, code])).toEqual([7n, 17n, 27n, 37n, 47n].map((offset) => [offset, 'record_refused']))
    expect(faults[0]?.message).toContain('no key')
    expect(await topic.write(values.filter(({ n }) => isTaken(n)))).toEqual({ kind: 'delivered' })
    expect(topic.sorted()).toEqual(numbers(50).filter(isTaken))
  })

  it('is written as a whole by another revision, and after a reset', async () => {
    const topic = openTopic()
    const values = numbers(50).map((n) => ({ n }))
    topic.away.add(0)
    await topic.write(values)
    topic.away.clear()
    expect(await topic.write(values, { revision: 2 })).toEqual({ kind: 'delivered' })
    const others = topic.written.splice(0).filter(({ partition }) => partition !== 0)
    expect(others.length).toBeGreaterThan(0)
    expect(await topic.write(values, { revision: 2, resetAt: 2 })).toEqual({ kind: 'delivered' })
    expect(topic.sorted()).toEqual(numbers(50))
  })
})

/** Small batches that run as one: every record comes out as it went in, with its own timestamp, and failures name their own offsets. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { runPartition } from '../../services/processor/lane/run-partition.ts'
import { createBufferPool } from '../../services/processor/lane/buffer-pool.ts'
import {
  BATCH_HEADER_BYTES,
  CONTROL,
  LOG_APPEND_TIME,
  compressBatch,
  decodeRecords,
  encodeBatch,
  readBatchHeader,
  stampProducer,
  type KafkaRecord,
} from '../../shared/kafka/protocol/record-batch.ts'
import { callWatchOver } from '../../shared/smartmodule/host/call-watch.ts'
import { openChain, type Chain } from '../../shared/smartmodule/host/chain.ts'
import { openKernel, type Kernel } from '../../shared/smartmodule/host/kernel.ts'
import { NO_TELEMETRY } from '../../shared/smartmodule/host/spec.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { BARE_CHAIN } from '../harness/chains.ts'

/** In the header of a batch (KIP-98). */
const LAST_OFFSET_DELTA_AT = 23
const BATCH_LENGTH_AT = 8
const ATTRIBUTES_AT = 21
const RECORD_COUNT_AT = 57

let kernel: Kernel
let chain: Chain
let calls = 0
beforeAll(async () => {
  kernel = await openKernel(await WebAssembly.compile(await kernelBinary(cacheFolder())))
  const opened = await openChain({ steps: [], reframe_schema_id: 1 }, kernel, callWatchOver(), NO_TELEMETRY)
  chain = { ...opened, run: (...parameters) => (calls++, opened.run(...parameters)) }
})

type Small = {
  gap: number
  time: bigint
  isLogAppend: boolean
  isCompressed: boolean
  /** The marker of a committed transaction, or what compaction has left of a batch. */
  without: 'control' | 'records' | undefined
  records: { delta: number; gap: number; key: Buffer | null; value: Buffer | null; isFramed: boolean }[]
}

const bytes = fc.uint8Array({ maxLength: 200 }).map((each) => Buffer.from(each))
const record = fc.record({
  delta: fc.integer({ min: -3_000_000, max: 3_000_000 }),
  gap: fc.constantFrom(0, 0, 0, 1, 70_000),
  key: fc.option(bytes),
  value: fc.option(bytes),
  isFramed: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
})
/** The base timestamp of every batch whose time the broker sets. */
const TIME = 1_700_000_000_000n
const small = fc
  .record({
    gap: fc.constantFrom(0, 0, 0, 2, 100_000),
    time: fc.oneof(fc.bigInt({ min: 1_700_000_000_000n, max: 1_700_000_100_000n }), fc.constantFrom(-1n, 0n, 1n << 50n)),
    isLogAppend: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    isCompressed: fc.boolean(),
    without: fc.constantFrom('control' as const, 'records' as const, undefined, undefined, undefined, undefined),
    records: fc.array(record, { minLength: 1, maxLength: 12 }),
  })
  .map((batch) =>
    batch.isLogAppend ? { ...batch, time: TIME, records: batch.records.map((each) => ({ ...each, delta: Math.abs(each.delta) })) } : batch,
  )

/** `isFit`: the record may be written to a topic; otherwise it becomes a dead letter. */
type Expected = { offset: bigint; time: bigint; key: Buffer | null; value: Buffer | null; isFit: boolean }

function logOf(batches: Small[]): { bytes: Buffer; end: bigint; records: Expected[] } {
  let offset = 0n
  const records: Expected[] = []
  const parts = batches.map((batch) => {
    offset += BigInt(batch.gap)
    let delta = 0
    const encoded = batch.records.map((each): KafkaRecord => {
      delta += each.gap
      const value = each.value && Buffer.concat([each.isFramed ? Buffer.from([0, 0, 0, 0, 9]) : Buffer.from('\u0001bare'), each.value])
      return { offsetDelta: delta++, timestampDelta: BigInt(each.delta), key: each.key, value, headers: [['h', each.key]] }
    })
    const attributes = batch.isLogAppend ? LOG_APPEND_TIME : 0
    const plain = encodeBatch(encoded, batch.time, attributes)
    const bytes = batch.isCompressed ? compressBatch(plain, 'lz4') : plain
    bytes.writeBigInt64BE(offset, 0)
    // A compacted batch has fewer records than offsets.
    bytes.writeInt32BE(delta - 1, LAST_OFFSET_DELTA_AT)
    stampProducer(bytes, -1n, -1, -1)
    const header = readBatchHeader(bytes, 0)!
    if (batch.without) {
      offset += BigInt(header.lastOffsetDelta) + 1n
      if (batch.without === 'control') bytes.writeInt16BE(bytes.readInt16BE(ATTRIBUTES_AT) | CONTROL, ATTRIBUTES_AT)
      else {
        const empty = bytes.subarray(0, BATCH_HEADER_BYTES)
        empty.writeInt32BE(BATCH_HEADER_BYTES - 12, BATCH_LENGTH_AT)
        empty.writeInt32BE(0, RECORD_COUNT_AT)
        return empty
      }
      return bytes
    }
    for (const [index, { offsetDelta, key, value, timestampDelta }] of encoded.entries()) {
      const time = batch.isLogAppend ? header.maxTimestamp : header.baseTimestamp + timestampDelta
      const isFramed = value === null || batch.records[index]!.isFramed
      const isTimely = batch.isLogAppend || (time >= -1n && time < 1n << 49n)
      records.push({ offset: offset + BigInt(offsetDelta), time, key, value, isFit: isFramed && isTimely })
    }
    offset += BigInt(header.lastOffsetDelta) + 1n
    return bytes
  })
  return { bytes: Buffer.concat(parts), end: offset, records }
}

async function run(log: { bytes: Buffer; end: bigint }, position: bigint, until?: bigint) {
  const input = {
    topicId: 't1',
    partition: 0,
    sinkPartition: 0,
    deadLetterPartition: 0,
    position,
    nextOffset: until ?? log.end,
    ...(until === undefined ? {} : { until }),
    bytes: new Uint8Array(log.bytes).buffer,
    length: log.bytes.length,
    aborted: [],
  }
  const { outcome, retries } = await runPartition(
    { kernel, buffers: createBufferPool(0), chain, spec: BARE_CHAIN, nowMs: 0, lost: [], lostMax: [] },
    input,
  )
  expect(retries).toEqual([])
  const out = outcome.sink.flatMap(({ bytes: batch, length }) => {
    const view = Buffer.from(batch, 0, length)
    const header = readBatchHeader(view, 0)!
    return decodeRecords(view.subarray(BATCH_HEADER_BYTES), header.recordCount).map(({ timestampDelta, key, value, headers }) => ({
      time: header.baseTimestamp + timestampDelta,
      key,
      value,
      header: headers[0]![1],
    }))
  })
  const letters = outcome.deadLetters.flatMap(({ bytes: batch, length }) => {
    const view = Buffer.from(batch, 0, length)
    return decodeRecords(view.subarray(BATCH_HEADER_BYTES), readBatchHeader(view, 0)!.recordCount).map(({ value, headers }) => {
      const told = new Map(headers.map(([name, each]) => [name, String(each)]))
      return { offset: BigInt(told.get('__connect.errors.offset')!), time: BigInt(told.get('dps.timestamp')!), value }
    })
  })
  return { out, letters, outcome }
}

const reframed = (value: Buffer | null) => value && Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), value.subarray(5)])

describe('small batches', () => {
  it('come out record by record as they went in, from any offset to any end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(small, { minLength: 1, maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
        async (batches, from, to) => {
          const log = logOf(batches)
          const position = BigInt(Math.floor(Number(log.end) * from * 0.5))
          const until = to === null ? undefined : position + BigInt(Math.floor(Number(log.end - position) * to))
          const wanted = log.records.filter(({ offset }) => offset >= position && (until === undefined || offset < until))
          const { out, letters, outcome } = await run(log, position, until)
          expect(out).toEqual(
            wanted.filter(({ isFit }) => isFit).map(({ time, key, value }) => ({ time, key, value: reframed(value), header: key })),
          )
          expect(letters).toEqual(wanted.filter(({ isFit }) => !isFit).map(({ offset, time, value }) => ({ offset, time, value })))
          expect(outcome.records).toBe(wanted.length)
          expect(outcome.nextOffset).toBe(until ?? log.end)
        },
      ),
      { numRuns: 150 },
    )
  })

  it('are run together: 2,000 of them take fewer than ten calls', async () => {
    const one: Small = {
      gap: 0,
      time: 1_700_000_000_000n,
      isLogAppend: false,
      isCompressed: false,
      without: undefined,
      records: [{ delta: 0, gap: 0, key: null, value: Buffer.alloc(100), isFramed: true }],
    }
    calls = 0
    const { out } = await run(logOf(Array.from({ length: 2000 }, () => one)), 0n)
    expect(out).toHaveLength(2000)
    expect(calls).toBeLessThan(10)
  })

  it('are refused with their own offset when they are malformed', async () => {
    const log = logOf(
      Array.from({ length: 3 }, (): Small => ({
        gap: 0,
        time: 1n,
        isLogAppend: false,
        isCompressed: false,
        without: undefined,
        records: [{ delta: 0, gap: 0, key: null, value: Buffer.from('x'), isFramed: true }],
      })),
    )
    const at = log.bytes.length / 3
    // The length of the second batch's record.
    log.bytes[at + BATCH_HEADER_BYTES] = 0x7e
    await expect(run(log, 0n)).rejects.toThrow('the batch at offset 1 ')
  })
})

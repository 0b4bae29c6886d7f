/** A round whose output becomes too large is cut: a small fetch may inflate to any size, and every record counts once. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { runPartition } from '../../services/processor/lane/run-partition.ts'
import type { OutputBatch } from '../../services/processor/lane/messages.ts'
import { createBufferPool } from '../../services/processor/lane/buffer-pool.ts'
import { inflate } from '../../shared/kafka/protocol/compression.ts'
import {
  BATCH_HEADER_BYTES,
  CONTROL,
  compressBatch,
  decodeRecords,
  encodeBatch,
  encodeRecords,
  stampProducer,
  TRANSACTIONAL,
} from '../../shared/kafka/protocol/record-batch.ts'
import { slicesOf } from '../../shared/kafka/protocol/section-slices.ts'
import { callWatchOver } from '../../shared/smartmodule/host/call-watch.ts'
import { openChain, type Chain } from '../../shared/smartmodule/host/chain.ts'
import { openKernel, type Kernel } from '../../shared/smartmodule/host/kernel.ts'
import { NO_TELEMETRY } from '../../shared/smartmodule/host/spec.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { BARE_CHAIN } from '../harness/chains.ts'

const recordOf = (value: Buffer, offsetDelta: number) => ({ offsetDelta, timestampDelta: 0n, key: null, value, headers: [] })

type Written = { values: Buffer[]; producer: number; isAborted: boolean }
type Log = { bytes: Buffer; end: bigint; aborted: { producerId: bigint; firstOffset: bigint }[] }

const TIME = 1_700_000_000_000n
const MARKER_ATTRIBUTES = TRANSACTIONAL | CONTROL

/** Transactions of one partition, offsets from 0, one batch and one marker each; batches are compressed. */
function logOf(transactions: Written[]): Log {
  let offset = 0n
  const aborted: Log['aborted'] = []
  const parts = transactions.flatMap(({ values, producer, isAborted }) => {
    const data = compressBatch(encodeBatch(values.map(recordOf), TIME, TRANSACTIONAL), 'zstd')
    const marker = encodeBatch([recordOf(Buffer.alloc(6), 0)], TIME, MARKER_ATTRIBUTES)
    if (isAborted) aborted.push({ producerId: BigInt(producer), firstOffset: offset })
    return [data, marker].map((batch, index) => {
      batch.writeBigInt64BE(offset, 0)
      stampProducer(batch, BigInt(producer), 0, -1)
      offset += index === 0 ? BigInt(values.length) : 1n
      return batch
    })
  })
  return { bytes: Buffer.concat(parts), end: offset, aborted }
}

const committed = (values: Buffer[]): Written => ({ values, producer: 1, isAborted: false })

let kernel: Kernel
let chain: Chain
beforeAll(async () => {
  kernel = await openKernel(await WebAssembly.compile(await kernelBinary(cacheFolder())))
  chain = await openChain({ steps: [] }, kernel, callWatchOver(), NO_TELEMETRY)
})

/** Runs a partition a part at a time; returns each part's output. */
async function runInParts(
  { bytes, end, aborted }: Log,
  outputBytesMax: number,
  until?: bigint,
  recordsMax = Infinity,
): Promise<OutputBatch[][]> {
  const pool = createBufferPool(0)
  const parts: OutputBatch[][] = []
  for (let position = 0n; ;) {
    const input = {
      topicId: 't1',
      partition: 0,
      sinkPartition: 0,
      deadLetterPartition: 0,
      position,
      nextOffset: until ?? end,
      ...(until === undefined ? {} : { until }),
      bytes: new Uint8Array(bytes).buffer,
      length: bytes.length,
      aborted,
      recordsMax,
    }
    const { outcome, isCut } = await runPartition(
      { kernel, buffers: pool, chain, spec: BARE_CHAIN, nowMs: 0, lost: [], lostMax: [] },
      input,
      outputBytesMax,
    )
    parts.push(outcome.sink)
    if (!isCut) {
      expect(outcome.nextOffset).toBe(until ?? end)
      return parts
    }
    expect(outcome.nextOffset).toBeGreaterThan(position)
    position = outcome.nextOffset
  }
}

const valuesOf = (batches: OutputBatch[]): Buffer[] =>
  batches.flatMap(({ bytes, length, records }) =>
    decodeRecords(inflate(0, Buffer.from(bytes, 0, length).subarray(BATCH_HEADER_BYTES)), records).map(({ value }) => value!),
  )

describe('a round', () => {
  const transaction = fc.record({
    values: fc.array(
      fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes)),
      { minLength: 1, maxLength: 30 },
    ),
    producer: fc.integer({ min: 1, max: 3 }),
    isAborted: fc.boolean(),
  })
  const transactions = fc.array(transaction, { minLength: 1, maxLength: 8 })

  it('is cut when its output becomes too large, and no record is lost or duplicated, whatever was aborted before', async () => {
    await fc.assert(
      fc.asyncProperty(transactions, fc.integer({ min: 1, max: 40_000 }), async (written, most) => {
        const parts = await runInParts(logOf(written), most)
        expect(parts.flatMap(valuesOf)).toEqual(written.filter(({ isAborted }) => !isAborted).flatMap(({ values }) => values))
      }),
      { numRuns: 80 },
    )
  })

  it('takes about as many records at once as it may, out of one batch as out of many', async () => {
    const values = (length: number) => Array.from({ length }, (_, n) => Buffer.from(`{"n":${1000 + n}}`))
    for (const written of [[committed(values(2000))], values(200).map((value) => committed([value]))]) {
      const parts = await runInParts(logOf(written), Infinity, undefined, 100)
      const counts = parts.map((part) => valuesOf(part).length)
      expect(Math.max(...counts)).toBeLessThanOrEqual(200)
      expect(counts.length).toBeGreaterThanOrEqual(written.length === 1 ? 10 : 2)
      expect(parts.flatMap(valuesOf)).toEqual(written.flatMap((each) => each.values))
    }
  })

  it('ends exactly at the end of a planned range, even inside a batch', async () => {
    await fc.assert(
      fc.asyncProperty(
        transactions,
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 40_000 }),
        async (written, share, most) => {
          const log = logOf(written)
          const until = BigInt(Math.max(1, Math.floor(Number(log.end) * share)))
          let offset = 0n
          const expected = written.flatMap(({ values, isAborted }) => {
            const from = offset
            offset += BigInt(values.length) + 1n
            return isAborted ? [] : values.filter((_value, index) => from + BigInt(index) < until)
          })
          expect((await runInParts(log, most, until)).flatMap(valuesOf)).toEqual(expected)
        },
      ),
      { numRuns: 80 },
    )
  })

  it('is made a few megabytes at a time when a few kilobytes inflate to a hundred megabytes', async () => {
    const values = Array.from({ length: 1000 }, (_, n) => Buffer.concat([Buffer.alloc(100_000, 97), Buffer.from(String(n))]))
    const log = logOf([committed(values)])
    expect(log.bytes.length).toBeLessThan(100_000)
    const parts = await runInParts(log, 2 << 20)
    for (const part of parts) expect(part.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(8 << 20)
    const found = parts.flatMap(valuesOf)
    expect(found.length).toBe(1000)
    expect(found.every((value, n) => value.equals(values[n]!))).toBe(true)
  })
})

describe('a section', () => {
  it('is cut before the record that would exceed the limit, whatever its records are', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 50 }), fc.integer({ min: 1, max: 2000 }), (values, most) => {
        const records = values.map((value, n) => ({ ...recordOf(Buffer.from(value), n * 3), timestampDelta: BigInt(n) ** 5n }))
        const section = encodeRecords(records)
        const slices = [...slicesOf(section, records.length, most)]
        expect(Buffer.concat(slices.map((slice) => slice.section))).toEqual(section)
        for (const slice of slices) {
          const own = decodeRecords(slice.section, slice.count)
          expect([own[0]!.offsetDelta, own.at(-1)!.offsetDelta]).toEqual([slice.firstDelta, slice.lastDelta])
          if (slice.section.length > most) expect(slice.count).toBe(1)
        }
      }),
    )
  })
})

/** A round whose output becomes too large is cut: what little was fetched may inflate to anything, and every record counts once. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { runPartition } from '../../services/processor/lane/run-partition.ts'
import type { LaneChain, OutputBatch } from '../../services/processor/lane/messages.ts'
import { createBufferPool } from '../../services/processor/task/buffer-pool.ts'
import { inflate } from '../../shared/kafka/protocol/compression.ts'
import { BATCH_HEADER_BYTES, compressBatch, decodeRecords, encodeBatch, encodeRecords } from '../../shared/kafka/protocol/record-batch.ts'
import { slicesOf } from '../../shared/kafka/protocol/section-slices.ts'
import { callWatchOver } from '../../shared/smartmodule/host/call-watch.ts'
import { openChain, type Chain } from '../../shared/smartmodule/host/chain.ts'
import { openKernel, type Kernel } from '../../shared/smartmodule/host/kernel.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'

const SPEC: LaneChain = {
  pipelineId: 'pl_test',
  revision: 1,
  sourceTopic: 't',
  steps: [],
  reframeSchemaId: 1,
  sinkBatchBytesMax: 1 << 20,
  sinkRecordBytesMax: 8 << 20,
  deadLetterBytesMax: 8 << 20,
  compression: 'none',
}
const recordOf = (value: Buffer, offsetDelta: number) => ({ offsetDelta, timestampDelta: 0n, key: null, value, headers: [] })

/** Batches of one partition, offsets from 0, each compressed. */
function logOf(batches: Buffer[][]): { bytes: Buffer; end: bigint } {
  let offset = 0n
  const parts = batches.map((values) => {
    const batch = encodeBatch(values.map(recordOf), 0n, 0)
    const compressed = compressBatch(batch, 'zstd')
    compressed.writeBigInt64BE(offset, 0)
    offset += BigInt(values.length)
    return compressed
  })
  return { bytes: Buffer.concat(parts), end: offset }
}

let kernel: Kernel
let chain: Chain
beforeAll(async () => {
  kernel = await openKernel(await WebAssembly.compile(await kernelBinary(cacheFolder())))
  chain = await openChain({ steps: [] }, kernel, callWatchOver(), () => {})
})

/** Runs a partition a part at a time; answers each part's output. */
async function runInParts({ bytes, end }: ReturnType<typeof logOf>, outputBytesMax: number): Promise<OutputBatch[][]> {
  const pool = createBufferPool(0)
  const parts: OutputBatch[][] = []
  for (let position = 0n; ;) {
    const input = {
      partition: 0,
      sinkPartition: 0,
      deadLetterPartition: 0,
      position,
      nextOffset: end,
      bytes: new Uint8Array(bytes).buffer,
      length: bytes.length,
      aborted: [],
    }
    const { outcome, isCut } = await runPartition(kernel, pool, chain, SPEC, input, 0, [], [], { outputBytesMax })
    parts.push(outcome.sink)
    expect(isCut).toBe(outcome.nextOffset < end)
    if (!isCut) return parts
    expect(outcome.nextOffset).toBeGreaterThan(position)
    position = outcome.nextOffset
  }
}

const valuesOf = (batches: OutputBatch[]): Buffer[] =>
  batches.flatMap(({ bytes, length, records }) =>
    decodeRecords(inflate(0, Buffer.from(bytes, 0, length).subarray(BATCH_HEADER_BYTES)), records).map(({ value }) => value!),
  )

describe('a round', () => {
  it('is cut where its output becomes too large, and no record is lost or doubled', async () => {
    const values = fc.array(fc.uint8Array({ maxLength: 3000 }), { minLength: 1, maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(fc.array(values, { minLength: 1, maxLength: 8 }), fc.integer({ min: 1, max: 40_000 }), async (batches, most) => {
        const expected = batches.map((batch) => batch.map((value) => Buffer.from(value)))
        const parts = await runInParts(logOf(expected), most)
        expect(parts.flatMap(valuesOf)).toEqual(expected.flat())
      }),
      { numRuns: 60 },
    )
  })

  it('of eight kilobytes that inflate to a hundred megabytes is made a few megabytes at a time', async () => {
    const values = Array.from({ length: 1000 }, (_, n) => Buffer.concat([Buffer.alloc(100_000, 97), Buffer.from(String(n))]))
    const log = logOf([values])
    expect(log.bytes.length).toBeLessThan(100_000)
    const parts = await runInParts(log, 2 << 20)
    for (const part of parts) expect(part.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(8 << 20)
    const found = parts.flatMap(valuesOf)
    expect(found.length).toBe(1000)
    expect(found.every((value, n) => value.equals(values[n]!))).toBe(true)
  })
})

describe('a section', () => {
  it('is cut before the record that would be too much, whatever its records are', () => {
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

/** Batches that a lane makes, above all of values that it encodes: each record has its own time, and no batch grows by its compression. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createBufferPool } from '../../services/processor/lane/buffer-pool.ts'
import type { LaneChain, PartitionOutcome } from '../../services/processor/lane/messages.ts'
import { openRowTarget } from '../../services/processor/lane/row-target.ts'
import { runPartition } from '../../services/processor/lane/run-partition.ts'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { inflate } from '../../shared/kafka/protocol/compression.ts'
import {
  COMPRESSION_MASK,
  BATCH_HEADER_BYTES,
  LOG_APPEND_TIME,
  decodeRecords,
  encodeBatch,
  readBatchHeader,
} from '../../shared/kafka/protocol/record-batch.ts'
import { frame } from '../../shared/model/framing.ts'
import { compileCached } from '../../shared/smartmodule/compile-cache.ts'
import { callWatchOver } from '../../shared/smartmodule/host/call-watch.ts'
import { openChain } from '../../shared/smartmodule/host/chain.ts'
import { openKernel, type Kernel } from '../../shared/smartmodule/host/kernel.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { NO_TELEMETRY, type StepSpec } from '../../shared/smartmodule/host/spec.ts'
import { BARE_CHAIN } from '../harness/chains.ts'

const BASE_MS = 1_700_000_000_000
const DAY_MS = 86_400_000
const AVRO = {
  type: 'record',
  name: 'R',
  fields: [
    { name: 'at', type: 'long' },
    { name: 'raw', type: 'string' },
  ],
}
const PROTOBUF = 'syntax = "proto3"; message R { int64 at = 1; string raw = 2; }'
const CODECS: Record<'avro' | 'protobuf', NonNullable<LaneChain['sinkCodec']>> = {
  avro: { format: 'avro', schema: { text: JSON.stringify(AVRO), references: [] } },
  protobuf: { format: 'protobuf', schema: { text: PROTOBUF, references: [] } },
}

let kernel: Kernel
let timestamp: WebAssembly.Module
beforeAll(async () => {
  kernel = await openKernel(await WebAssembly.compile(await kernelBinary(cacheFolder())))
  const source = join(import.meta.dirname, '..', '..', 'shared', 'smartmodule', 'catalogue', 'timestamp', 'module.ts')
  timestamp = await WebAssembly.compile(await compileCached(source, 'smartmodule', cacheFolder()))
})

const stepOf = (): StepSpec => ({
  module: timestamp,
  kind: 'batch',
  document: {
    config: { field: 'at', format: 'unix_ms' },
    input_format: 'json',
    output_format: 'json',
    input_prefix_length: 5,
    output_prefix: '',
    pipeline: 'pl_test',
    step: 0,
    partition: 0,
  },
})

type Given = { at: number; raw: string; timeMs: number }

/** Runs the records through a chain for a stream of the format. */
async function run(given: Given[], change: Partial<LaneChain>, steps: StepSpec[] = [], attributes = 0): Promise<PartitionOutcome> {
  const spec: LaneChain = { ...BARE_CHAIN, ...change }
  const target = openRowTarget(spec)
  const chain = await openChain({ steps, rows: target?.rows }, kernel, callWatchOver(), NO_TELEMETRY)
  const records = given.map(({ timeMs, ...value }, offsetDelta) => ({
    offsetDelta,
    timestampDelta: BigInt(timeMs - BASE_MS),
    key: null,
    value: frame(1, JSON.stringify(value)),
    headers: [],
  }))
  const batch = encodeBatch(records, BigInt(BASE_MS), attributes)
  const context = {
    kernel,
    buffers: createBufferPool(0),
    chain,
    spec,
    rowBuffer: target?.buffer,
    nowMs: Date.now(),
    lost: [0],
    lostMax: [0],
  }
  const { outcome } = await runPartition(context, {
    topicId: 't1',
    partition: 0,
    sinkPartition: 0,
    deadLetterPartition: 0,
    position: 0n,
    nextOffset: BigInt(given.length),
    bytes: new Uint8Array(batch).buffer,
    length: batch.length,
    aborted: [],
  })
  chain.close()
  return outcome
}

/** The headers of the sink's batches, and the times of their records. */
const batchesOf = ({ sink }: PartitionOutcome) =>
  sink.map(({ bytes, length }) => {
    const batch = Buffer.from(bytes, 0, length)
    const header = readBatchHeader(batch, 0)!
    const section = inflate(header.attributes & COMPRESSION_MASK, batch.subarray(BATCH_HEADER_BYTES))
    const times = decodeRecords(section, header.recordCount).map(({ timestampDelta }) => Number(header.baseTimestamp + timestampDelta))
    return { header, times }
  })

/** Times before and behind the first record's, some of them farther away than 32 bits hold. */
const TIMES = [5, 0, 7, -3, 200 * DAY_MS, -200 * DAY_MS, 63, 64, -64, -65].map((delta) => BASE_MS + delta)

describe.each(['avro', 'protobuf'] as const)('a record written to a stream in %s', (format) => {
  const sinkCodec = CODECS[format]

  it('has its own time', async () => {
    const outcome = await run(
      TIMES.map((timeMs) => ({ at: 1, raw: '', timeMs })),
      { sinkCodec },
    )
    const [batch] = batchesOf(outcome)
    expect(batch!.times).toEqual(TIMES)
    expect(Number(batch!.header.maxTimestamp)).toBe(Math.max(...TIMES))
  })

  it('has the time that a step sets, in each partition', async () => {
    const given = TIMES.map((at) => ({ at, raw: '', timeMs: BASE_MS }))
    expect(batchesOf(await run(given, { sinkCodec }, [stepOf()])).flatMap(({ times }) => times)).toEqual(TIMES)
    expect(batchesOf(await run(given, { sinkCodec, partitions: 3 }, [stepOf()])).flatMap(({ times }) => times)).toEqual(TIMES)
  })

  it('fails when its time is one that the broker would refuse', async () => {
    const given = [BASE_MS, Date.now() + 100 * DAY_MS, BASE_MS + 1].map((at) => ({ at, raw: '', timeMs: BASE_MS }))
    const outcome = await run(given, { sinkCodec }, [stepOf()])
    expect(batchesOf(outcome).flatMap(({ times }) => times)).toEqual([BASE_MS, BASE_MS + 1])
    expect(outcome.deadLetterOffsets).toEqual([1n])
  })
})

it.each([undefined, CODECS.avro])(
  'a topic whose own time counts gives it to records that no step gives another (%#)',
  async (sinkCodec) => {
    const change = sinkCodec ? { sinkCodec } : {}
    const given = TIMES.map((timeMs, index) => ({ at: BASE_MS + index, raw: '', timeMs }))
    const times = async (steps: StepSpec[]) => batchesOf(await run(given, change, steps, LOG_APPEND_TIME)).flatMap((batch) => batch.times)
    expect(await times([])).toEqual(TIMES.map(() => Math.max(...TIMES)))
    expect(await times([stepOf()])).toEqual(given.map(({ at }) => at))
  },
)

it.each(['gzip', 'zstd', 'lz4', 'snappy'] as const)('a batch that %s would make larger stays as it is', async (compression) => {
  const text = JSON.stringify({ type: 'record', name: 'R', fields: [AVRO.fields[0], { name: 'raw', type: 'bytes' }] })
  const sinkCodec: LaneChain['sinkCodec'] = { format: 'avro', schema: { text, references: [] } }
  const given = [{ at: 0, raw: randomBytes(60_000).toString('base64'), timeMs: BASE_MS }]
  const [plain] = (await run(given, { sinkCodec })).sink
  const [compressed] = (await run(given, { sinkCodec, compression })).sink
  expect(plain!.length).toBeGreaterThan(60_000)
  expect(compressed!.length).toBeLessThanOrEqual(plain!.length)
})

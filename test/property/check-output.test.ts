/** Values and timestamps that a topic's consumers or its broker could not take are their records' failures, whatever module wrote them. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { BATCH_HEADER_BYTES, decodeRecords, encodeRecords, type KafkaRecord } from '../../shared/kafka/protocol/record-batch.ts'
import { COUNTER, COUNTER_COUNT } from '../../shared/model/counters.ts'
import { frame, framingPrefix } from '../../shared/model/framing.ts'
import { callWatchOver } from '../../shared/smartmodule/host/call-watch.ts'
import { openChain, type Chain } from '../../shared/smartmodule/host/chain.ts'
import { openKernel, type Kernel } from '../../shared/smartmodule/host/kernel.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { NO_TELEMETRY, type ChainOutput } from '../../shared/smartmodule/host/spec.ts'
import { batch as batchModule, IDENTITY, toBinary } from '../attack/modules/module-builder.ts'

const SCHEMA_ID = 7
const HOUR_MS = 3_600_000

let kernel: Kernel
/** Returns its input as it is. */
let identity: WebAssembly.Module
beforeAll(async () => {
  kernel = await openKernel(await WebAssembly.compile(await kernelBinary(cacheFolder())))
  identity = await WebAssembly.compile(new Uint8Array(toBinary(batchModule({ process: IDENTITY }))))
})

const openIdentity = (steps: number, output_prefix: string, needs_keys = false): Promise<Chain> =>
  openChain(
    {
      steps: Array.from({ length: steps }, (_, step) => ({
        module: identity,
        kind: 'batch',
        document: {
          config: {},
          input_format: 'json',
          output_format: 'json',
          input_prefix_length: 0,
          output_prefix: step === steps - 1 ? output_prefix : '',
          pipeline: 'pl_test',
          step,
          partition: 0,
        },
      })),
      reframe_schema_id: SCHEMA_ID,
      needs_keys,
    },
    kernel,
    callWatchOver(),
    NO_TELEMETRY,
  )

type Given = { key?: Buffer | null; value: Buffer | null; time: number }

async function run(chain: Chain, given: Given[], attributes = 0): Promise<ChainOutput & { records: KafkaRecord[] }> {
  const base = BigInt(given[0]!.time)
  const section = encodeRecords(
    given.map(({ key = Buffer.from('k'), value, time }, offsetDelta) => ({
      offsetDelta,
      timestampDelta: BigInt(time) - base,
      key,
      value,
      headers: [['h', Buffer.from('v')]],
    })),
  )
  const output: ChainOutput = {
    counts: new Float64Array(Math.max(1, chain.stepCount) * COUNTER_COUNT),
    failures: [],
    retries: [],
    lost: Array.from({ length: chain.stepCount }, () => 0),
    lostMax: Array.from({ length: chain.stepCount }, () => 0),
  }
  kernel.begin(0n)
  await chain.run(
    {
      section,
      recordCount: given.length,
      lastOffsetDelta: given.length - 1,
      firstDelta: 0,
      baseOffset: 0n,
      baseTimestamp: base,
      maxTimestamp: given.reduce((most, { time }) => (BigInt(time) > most ? BigInt(time) : most), base),
      attributes,
      partition: 0,
      sinkPartition: 0,
    },
    { batchBytesMax: 1 << 20, recordBytesMax: 1 << 20, seal: () => {} },
    output,
  )
  const batch = Buffer.from(kernel.memory.buffer.slice(kernel.builtAt() + BATCH_HEADER_BYTES, kernel.builtAt() + kernel.builtBytes()))
  return { ...output, records: decodeRecords(batch, kernel.builtRecords()) }
}

const framed = fc.string({ minLength: 1, maxLength: 20 }).map((text) => frame(SCHEMA_ID, text))
const others = fc.constantFrom(
  Buffer.alloc(0),
  Buffer.from('{}'),
  Buffer.from('{"n":1}'),
  frame(SCHEMA_ID, ''),
  frame(SCHEMA_ID + 1, '{}'),
  frame(SCHEMA_ID, '{}').subarray(0, 4),
  Buffer.concat([Buffer.from([1]), frame(SCHEMA_ID, '{}').subarray(1)]),
)
const isFramed = (value: Buffer | null): boolean =>
  value === null || (value.length > 5 && value.subarray(0, 5).equals(frame(SCHEMA_ID, '')))
const times = (nowMs: number) =>
  fc.constantFrom(-2, -1, 0, 1000, nowMs, nowMs + HOUR_MS / 2, nowMs + HOUR_MS, nowMs + 1000 * HOUR_MS, -1e15)
const isTimely = (time: number, nowMs: number): boolean => time >= -1 && time < nowMs + HOUR_MS

describe('the output of a chain', () => {
  it.each([1, 3])('has framed values and possible timestamps alone: all others are failures of their records (%d steps)', async (steps) => {
    const chain = await openIdentity(steps, framingPrefix(SCHEMA_ID))
    const nowMs = Date.now()
    const given = fc.array(fc.record({ value: fc.oneof(framed, others, fc.constant(null)), time: times(nowMs) }), {
      minLength: 1,
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(given, async (all) => {
        const { records, failures, counts } = await run(chain, all)
        const good = all.filter(({ value, time }) => isFramed(value) && isTimely(time, nowMs))
        expect(records.map(({ value }) => value)).toEqual(good.map(({ value }) => value))
        const bad = all.flatMap(({ value, time }, delta) =>
          isFramed(value) && isTimely(time, nowMs) ? [] : [[delta, isFramed(value) ? 'invalid_timestamp' : 'not_framed', steps - 1]],
        )
        expect(failures.map(({ delta, code, step }) => [delta, code, step]).toSorted(([a], [b]) => Number(a) - Number(b))).toEqual(bad)
        const last = counts.subarray((steps - 1) * COUNTER_COUNT)
        expect([last[COUNTER.in], last[COUNTER.out], last[COUNTER.failed], last[COUNTER.filtered]]).toEqual([
          all.length,
          good.length,
          bad.length,
          0,
        ])
      }),
      { numRuns: 300 },
    )
  })

  it('needs no frame where the sink has none', async () => {
    const { records } = await run(await openIdentity(1, ''), [{ value: Buffer.from('x'), time: 5 }])
    expect(records.map(({ value }) => value?.toString())).toEqual(['x'])
  })

  it.each([0, 1])('has keys alone where the topic is compacted, and any where it is not (%d steps)', async (steps) => {
    const keys = fc.constantFrom(null, Buffer.alloc(0), Buffer.from('k'))
    const given = fc.array(fc.record({ key: keys, value: fc.oneof(framed, fc.constant(null)), time: fc.constant(1000) }), { minLength: 1 })
    const [compacted, other] = [
      await openIdentity(steps, framingPrefix(SCHEMA_ID), true),
      await openIdentity(steps, framingPrefix(SCHEMA_ID)),
    ]
    await fc.assert(
      fc.asyncProperty(given, async (all) => {
        const { records, failures } = await run(compacted, all)
        expect(records.map(({ key }) => key)).toEqual(all.flatMap(({ key }) => (key === null ? [] : [key])))
        const bad = all.flatMap(({ key }, delta) => (key === null ? [[delta, 'key_missing']] : []))
        expect(failures.map(({ delta, code }) => [delta, code]).toSorted(([a], [b]) => Number(a) - Number(b))).toEqual(bad)
        expect((await run(other, all)).records).toHaveLength(all.length)
      }),
      { numRuns: 100 },
    )
  })

  it('may have any timestamp where the topic’s own time counts', async () => {
    const far = Date.now() + 1000 * HOUR_MS
    const { failures } = await run(await openIdentity(0, ''), [{ value: frame(1, '{}'), time: far }], 8)
    expect(failures).toEqual([])
  })

  it('has no impossible timestamps of a source either', async () => {
    const far = Date.now() + 1000 * HOUR_MS
    const { records, failures } = await run(await openIdentity(0, ''), [
      { value: frame(1, '{}'), time: 1000 },
      { value: frame(1, '{}'), time: far },
    ])
    expect(records).toHaveLength(1)
    expect(failures.map(({ delta, code }) => [delta, code])).toEqual([[1, 'invalid_timestamp']])
  })
})

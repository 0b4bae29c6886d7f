/** Lanes, seen from the main thread: a chain that has to wait loses nothing when others move around it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { createBufferPool } from '../../services/processor/lane/buffer-pool.ts'
import { openLanes, type LanesOptions } from '../../services/processor/lane/lanes.ts'
import type { LaneChain, LaneStep, RoundPartition } from '../../services/processor/lane/messages.ts'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { encodeBatch } from '../../shared/kafka/protocol/record-batch.ts'
import { ON_ERROR_DEFAULT } from '../../shared/model/policies.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { BARE_CHAIN } from '../harness/chains.ts'
import { compileFixture } from '../harness/compiled-fixtures.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'

type Module = Pick<LaneStep, 'name' | 'sha256' | 'module' | 'kind' | 'extismFunction'>

async function plugIn(fixture: string, sha256: string): Promise<Module> {
  const module = await WebAssembly.compile(new Uint8Array(await compileFixture(fixture)))
  return { name: fixture, sha256, module, kind: 'extism', extismFunction: 'map' }
}

function chainOf(module: Module, id: string): LaneChain {
  const step: LaneStep = {
    ...module,
    version: '1.0.0',
    onError: ON_ERROR_DEFAULT,
    document: {
      config: {},
      input_format: 'json',
      output_format: 'json',
      input_prefix_length: 0,
      output_prefix: '',
      pipeline: id,
      step: 0,
      partition: 0,
      allowed_hosts: ['example.com'],
    },
  }
  return { ...BARE_CHAIN, pipelineId: id, runId: id, steps: [step] }
}

const lanesWith = async (options: Pick<LanesOptions, 'onLost' | 'onRequest'> & Partial<Pick<LanesOptions, 'callTimeoutMs'>>) =>
  openLanes({
    inputs: createBufferPool(1 << 20),
    count: 1,
    kernel: await WebAssembly.compile(await kernelBinary(cacheFolder())),
    // Far more than `slow-start` takes on a slow machine; a chain is set apart long before.
    callTimeoutMs: 10_000,
    now: Date.now,
    onStuck: () => {},
    onLog: () => {},
    onMeasured: () => {},
    ...options,
  })

/** One batch of these values, as a part of a round. */
function partOf(values: readonly string[]): RoundPartition {
  const records = values.map((value, offsetDelta) => ({
    offsetDelta,
    timestampDelta: 0n,
    key: null,
    value: Buffer.from(value),
    headers: [],
  }))
  const batch = encodeBatch(records, 1000n, 0)
  const bytes = batch.buffer.slice(batch.byteOffset, batch.byteOffset + batch.length) as ArrayBuffer
  const position = { topicId: 't1', partition: 0, sinkPartition: 0, deadLetterPartition: 0, position: 0n }
  return { ...position, nextOffset: BigInt(values.length), bytes, length: batch.length, aborted: [] }
}

it('a plug-in’s request is answered though its chain was moved to another lane meanwhile', async () => {
  const lost: string[] = []
  const asked: string[] = []
  const lanes = await lanesWith({
    onLost: (reason) => lost.push(reason),
    async onRequest({ pipelineId }, { url }) {
      asked.push(`${pipelineId} ${url}`)
      return { status: 200, headers: {}, body: Uint8Array.from(Buffer.from('found')) }
    },
  })
  try {
    const { signal } = new AbortController()
    const asking = await lanes.open(chainOf(await plugIn('ask', 'a'), 'pl_asks'), signal)
    const slow = chainOf(await plugIn('slow-start', 'b'), 'pl_slow')
    // Behind the start of the other chain, which is set apart while it lasts.
    const opening = lanes.open(slow, signal)
    await sleep(40)
    const round = await asking.run([partOf(['{"url": "http://example.com/"}'])], 1 << 20)
    expect(round.outcomes[0]!.sink[0]!.records).toBe(1)
    expect(Buffer.from(round.outcomes[0]!.sink[0]!.bytes).includes('200 {} found')).toBe(true)
    expect(asked).toEqual(['pl_asks http://example.com/'])
    expect(lost).toEqual([])
    await opening
  } finally {
    await lanes.close()
  }
})

it('traps of a SmartModule’s version count against the chain that runs it, and against no other one', async () => {
  const source = `import { Record } from 'dps'
export function filter(record: Record): bool {
  unreachable()
  return true
}`
  const module = { name: 'traps', sha256: 'c', module: await WebAssembly.compile(await compileSmartModule(source)), kind: 'batch' } as const
  const lanes = await lanesWith({ onLost: () => {}, onRequest: () => Promise.reject(new Error('no step asks for anything')) })
  const values = Array.from({ length: 15 }, () => '{}')
  try {
    const { signal } = new AbortController()
    const [first, second] = await Promise.all(['pl_1', 'pl_2'].map((id) => lanes.open(chainOf(module, id), signal)))
    for (const chain of [first!, second!]) {
      const { outcomes } = await chain.run([partOf(values)], 1 << 20)
      expect(outcomes[0]!.deadLetterOffsets).toHaveLength(15)
    }
    await expect(first!.run([partOf(values)], 1 << 20)).rejects.toThrow('traps 1.0.0 is quarantined')
    const anew = await lanes.open(chainOf(module, 'pl_1'), signal)
    expect((await anew.run([partOf(values)], 1 << 20)).outcomes[0]!.deadLetterOffsets).toHaveLength(15)
  } finally {
    await lanes.close()
  }
})

it('an idle runner looks at no call, and a call that does not return is ended all the same once there is one', async () => {
  const source = `import { Record } from 'dps'
export function filter(record: Record): bool {
  while (record.end > record.start) {}
  return true
}`
  const module = { name: 'loops', sha256: 'd', module: await WebAssembly.compile(await compileSmartModule(source)), kind: 'batch' } as const
  const started = vi.spyOn(globalThis, 'setInterval')
  const stopped = vi.spyOn(globalThis, 'clearInterval')
  const looking = () => {
    const timers = started.mock.results.map(({ value }) => value as NodeJS.Timeout)
    const ended = new Set(stopped.mock.calls.map(([timer]) => timer))
    return timers.filter((timer) => !ended.has(timer)).length
  }
  const lost: string[] = []
  const lanes = await lanesWith({
    onLost: (reason) => lost.push(reason),
    onRequest: () => Promise.reject(new Error('no step asks for anything')),
    callTimeoutMs: 300,
  })
  try {
    expect(looking()).toBe(0)
    const opening = lanes.open(chainOf(module, 'pl_loops'), new AbortController().signal)
    expect(looking()).toBe(1)
    const chain = await opening
    await expect.poll(looking, { timeout: 10_000 }).toBe(0)
    await expect(chain.run([partOf(['{}'])], 1 << 20)).rejects.toThrow('did not return within')
    expect(lost).toHaveLength(1)
    await expect.poll(looking, { timeout: 10_000 }).toBe(0)
  } finally {
    await lanes.close()
    vi.restoreAllMocks()
  }
})

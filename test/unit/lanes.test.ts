/** Lanes, seen from the main thread: a chain that has to wait loses nothing when others move around it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createBufferPool } from '../../services/processor/lane/buffer-pool.ts'
import { openLanes } from '../../services/processor/lane/lanes.ts'
import type { LaneChain, LaneStep } from '../../services/processor/lane/messages.ts'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { encodeBatch } from '../../shared/kafka/protocol/record-batch.ts'
import { ON_ERROR_DEFAULT } from '../../shared/model/policies.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { BARE_CHAIN } from '../harness/chains.ts'
import { compileFixture } from '../harness/compiled-fixtures.ts'

async function chainOf(fixture: string, id: string): Promise<LaneChain> {
  const step: LaneStep = {
    version: '1.0.0',
    sha256: id,
    module: await WebAssembly.compile(new Uint8Array(await compileFixture(fixture))),
    kind: 'extism',
    extismFunction: 'map',
    name: fixture,
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

it('a plug-in’s request is answered though its chain was moved to another lane meanwhile', async () => {
  const lost: string[] = []
  const asked: string[] = []
  const lanes = openLanes({
    inputs: createBufferPool(1 << 20),
    count: 1,
    kernel: await WebAssembly.compile(await kernelBinary(cacheFolder())),
    // Far more than `slow-start` takes on a slow machine; a chain is set apart long before.
    callTimeoutMs: 10_000,
    now: Date.now,
    onLost: (reason) => lost.push(reason),
    onStuck: () => {},
    onLog: () => {},
    onMeasured: () => {},
    async onRequest({ pipelineId }, { url }) {
      asked.push(`${pipelineId} ${url}`)
      return { status: 200, headers: {}, body: Uint8Array.from(Buffer.from('found')) }
    },
  })
  try {
    const { signal } = new AbortController()
    const asking = await lanes.open(await chainOf('ask', 'pl_asks'), signal)
    const slow = await chainOf('slow-start', 'pl_slow')
    // Behind the start of the other chain, which is set apart while it lasts.
    const opening = lanes.open(slow, signal)
    await sleep(40)
    const value = Buffer.from('{"url": "http://example.com/"}')
    const batch = encodeBatch([{ offsetDelta: 0, timestampDelta: 0n, key: null, value, headers: [] }], 1000n, 0)
    const bytes = batch.buffer.slice(batch.byteOffset, batch.byteOffset + batch.length) as ArrayBuffer
    const position = { topicId: 't1', partition: 0, sinkPartition: 0, deadLetterPartition: 0, position: 0n, nextOffset: 1n }
    const round = await asking.run([{ ...position, bytes, length: batch.length, aborted: [] }], 1 << 20)
    expect(round.outcomes[0]!.sink[0]!.records).toBe(1)
    expect(Buffer.from(round.outcomes[0]!.sink[0]!.bytes).includes('200 {} found')).toBe(true)
    expect(asked).toEqual(['pl_asks http://example.com/'])
    expect(lost).toEqual([])
    await opening
  } finally {
    await lanes.close()
  }
})

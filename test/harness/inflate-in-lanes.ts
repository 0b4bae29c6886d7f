/**
 * A process of its own for `test/unit/inflated-memory.test.ts`: runs the batches from standard input in as many lanes as its argument says,
 * as two partitions each, and prints how many bytes its resident memory grew at most, and how many records were run.
 */
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { createBufferPool } from '../../services/processor/lane/buffer-pool.ts'
import { openLanes } from '../../services/processor/lane/lanes.ts'
import { readBatchHeader } from '../../shared/kafka/protocol/record-batch.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { BARE_CHAIN } from './chains.ts'

const log = await buffer(process.stdin)
const lanes = openLanes({
  inputs: createBufferPool(0),
  count: Number(process.argv[2]),
  kernel: await WebAssembly.compile(await kernelBinary(cacheFolder())),
  callTimeoutMs: 60_000,
  now: Date.now,
  onLost: (reason) => console.error(reason),
  onStuck: () => {},
  onLog: () => {},
  onMeasured: () => {},
  onRequest: () => Promise.reject(new Error('no step asks for anything')),
})
const chains = await Promise.all(
  Array.from({ length: Number(process.argv[2]) }, (_, n) =>
    // Compressed output, which stays small: what is measured is the input.
    lanes.open({ ...BARE_CHAIN, compression: 'zstd', pipelineId: `pl_${n}`, runId: `pl_${n}` }, new AbortController().signal),
  ),
)
await sleep(200)
const before = process.memoryUsage().rss
let end = 0n
for (let at = 0, header = readBatchHeader(log, at); header; at += header.size, header = readBatchHeader(log, at))
  end = header.baseOffset + BigInt(header.lastOffsetDelta) + 1n
const runs = await Promise.all(
  chains.map((chain) => {
    const partitions = [0, 1].map((partition) => ({
      topicId: 't1',
      partition,
      sinkPartition: partition,
      deadLetterPartition: partition,
      position: 0n,
      nextOffset: end,
      bytes: new Uint8Array(log).buffer,
      length: log.length,
      aborted: [],
    }))
    return chain.run(partitions, 32 << 20)
  }),
)
const records = runs.flatMap(({ outcomes }) => outcomes).reduce((sum, outcome) => sum + outcome.records, 0)
console.log(JSON.stringify({ grownBytes: process.resourceUsage().maxRSS * 1024 - before, records }))
await lanes.close()

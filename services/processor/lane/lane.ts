/**
 * A lane: a worker thread that only runs chains. It opens no connection (`test/house` checks its imports); bytes come in and go out as
 * transferred buffers. When a SmartModule never returns, the main thread terminates the lane and starts another one.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { parentPort, workerData } from 'node:worker_threads'
import { releaseMemoryWhenIdle } from '../../../shared/processes/release-memory.ts'
import { SmartModuleTrap } from '../../../shared/smartmodule/abi.ts'
import { callWatchOver, enterChain } from '../../../shared/smartmodule/host/call-watch.ts'
import { openChain, type Chain } from '../../../shared/smartmodule/host/chain.ts'
import { CorruptBatch, TooManyTraps } from '../../../shared/smartmodule/host/spec.ts'
import { openKernel } from '../../../shared/smartmodule/host/kernel.ts'
import { RecordRefused } from '../../../shared/smartmodule/host/failure-policies.ts'
import type { FromLane, LaneChain, LaneData, PartitionOutcome, Retries, RoundPartition, ToLane } from './messages.ts'
import type { RowBuffer } from '../../../shared/connectors/encode/row-buffer.ts'
import { UnknownSchema } from '../../../shared/codecs/codecs.ts'
import { openDecoder, type SectionDecoder } from './codec-input.ts'
import { openRowTarget } from './row-target.ts'
import { createBufferPool } from './buffer-pool.ts'
import { ownThreadId } from './priority.ts'
import { createLaneTelemetry } from './lane-telemetry.ts'
import { createPlugInCalls } from './plug-in-calls.ts'
import { runPartition } from './run-partition.ts'
import { writeNote, type Phase } from '../channel/notes.ts'

const data = workerData as LaneData
const port = parentPort!
const kernel = await openKernel(data.kernel)
const watch = callWatchOver(data.watch)
/** Buffers of output batches; they come back once the batches are written. */
const buffers = createBufferPool(64 << 20)
const chains = new Map<number, { chain: Chain; spec: LaneChain; rowBuffer?: RowBuffer; decode?: SectionDecoder }>()

function say(message: FromLane, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

const telemetry = createLaneTelemetry((chainId, lines, dropped) => say({ type: 'log', chainId, lines, dropped }))

const plugInCalls = createPlugInCalls(say)

/** Should the process end meanwhile, the note tells the supervisor for which run. */
async function noted(runId: string | undefined, phase: Phase, work: () => Promise<void>): Promise<void> {
  const { notes } = data
  if (!notes || runId === undefined) return work()
  writeNote(notes.fd, notes.index, { runId, phase })
  await work()
  writeNote(notes.fd, notes.index, undefined)
}

async function open(chainId: number, spec: LaneChain): Promise<void> {
  enterChain(watch, chainId)
  telemetry.begin(chainId)
  try {
    const target = openRowTarget(spec)
    const chain = await openChain(
      {
        steps: spec.steps,
        reframe_schema_id: spec.reframeSchemaId,
        partitions: spec.partitions,
        rows: target?.rows,
        needs_keys: spec.sinkNeedsKeys,
        on_error: spec.sinkOnError,
        send: plugInCalls.senderOf(chainId),
      },
      kernel,
      watch,
      telemetry,
    )
    chains.set(chainId, { chain, spec, rowBuffer: target?.buffer, decode: spec.sourceCodec && openDecoder(spec.sourceCodec) })
    say({ type: 'opened', chainId })
  } catch (error) {
    say({ type: 'refused', chainId, message: reasonOf(error) })
  } finally {
    telemetry.end()
  }
}

async function run({ chainId, roundId, partitions, nowMs, lostMax, outputBytesMax }: Extract<ToLane, { type: 'run' }>): Promise<void> {
  enterChain(watch, chainId)
  const open = chains.get(chainId)
  if (!open) return say({ type: 'broken', roundId, message: 'the chain is not open in this lane', isFinal: false })
  telemetry.begin(chainId)
  try {
    const outcomes: PartitionOutcome[] = []
    const retries: Retries = []
    const lost = Array.from({ length: open.chain.stepCount }, () => 0)
    const rest: RoundPartition[] = []
    const context = { kernel, buffers, ...open, nowMs, lost, lostMax }
    let outputBytes = 0
    let isLate = false
    let awaited: UnknownSchema | undefined
    for (const partition of partitions) {
      if (isLate || outputBytes >= outputBytesMax) {
        rest.push(partition)
        continue
      }
      const ran = await runPartition(context, partition, outputBytesMax - outputBytes).catch((error: unknown) => {
        if (!(error instanceof UnknownSchema)) throw error
        awaited ??= error
        return undefined
      })
      // The other partitions are looked at too: the schemas that they lack are waited for at the same time.
      if (!ran) continue
      outcomes.push(ran.outcome)
      outputBytes += ran.outputBytes
      isLate ||= ran.isLate
      if (ran.isCut) rest.push({ ...partition, position: ran.outcome.nextOffset })
      if (ran.retries.length > 0) retries.push({ partition: partition.partition, offsets: ran.retries })
    }
    if (awaited) throw awaited
    open.chain.tellTimes()
    const measures = telemetry.end()
    const all = partitions.map(({ bytes }) => bytes)
    if (retries.length > 0) {
      buffers.give(outcomes.flatMap(({ sink }) => sink.map(({ bytes }) => bytes)))
      const backoffMs = open.spec.steps.reduce(
        (most, { onError: { policy, backoff_ms } }) => (policy === 'retry' ? Math.max(most, backoff_ms) : most),
        open.spec.sinkOnError?.policy === 'retry' ? open.spec.sinkOnError.backoff_ms : 0,
      )
      return say({ type: 'retry', roundId, retries, inputs: all, backoffMs, lost }, all)
    }
    const transfer = outcomes.flatMap(({ sink, rows, deadLetters, counts }) => [
      ...sink.map(({ bytes }) => bytes),
      ...rows.flatMap(({ bytes, ends, offsets, times }) => [bytes.buffer, ends.buffer, offsets.buffer, times.buffer] as ArrayBuffer[]),
      ...deadLetters.map(({ bytes }) => bytes),
      counts.buffer as ArrayBuffer,
    ])
    const inputs = all.filter((bytes) => !rest.some((each) => each.bytes === bytes))
    say({ type: 'done', roundId, outcomes, outputBytes, rest, inputs, lost, measures }, [...transfer, ...all])
  } catch (error) {
    telemetry.end()
    const message = reasonOf(error)
    if (error instanceof TooManyTraps) return say({ type: 'trapped', roundId, step: error.step, message })
    if (error instanceof CorruptBatch || error instanceof SmartModuleTrap || error instanceof RecordRefused)
      return say({ type: 'broken', roundId, message, isFinal: true })
    // The round is run again, by then perhaps with the revision that knows the schema.
    if (error instanceof UnknownSchema) return say({ type: 'waiting', roundId, message })
    // Unexpected: the kernel may be in an inconsistent state, so this lane must not run another round.
    setImmediate(() => {
      throw error
    })
  }
}

// One message at a time: while a round awaits a plug-in, the next one must not touch the kernel.
let turn = Promise.resolve()
port.on('message', (message: ToLane) => {
  // What a round waits for does not wait for the round.
  if (message.type === 'answer') return plugInCalls.settle(message.requestId, message.answer)
  turn = turn.then(() => {
    if (message.type === 'open') return noted(message.chain.runId, 'open', () => open(message.chainId, message.chain))
    if (message.type === 'run') return noted(chains.get(message.chainId)?.spec.runId, 'run', () => run(message))
    if (message.type === 'recycle') buffers.give(message.buffers)
    else {
      chains.get(message.chainId)?.chain.close()
      chains.delete(message.chainId)
    }
    return undefined
  })
})
say({ type: 'ready', threadId: ownThreadId() })
releaseMemoryWhenIdle(() => chains.size === 0)

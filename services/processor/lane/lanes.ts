/**
 * The lanes of a processor, seen from the main thread: which chain runs where, one round at a time per lane, and the watchdog that ends
 * a lane whose SmartModule does not come back. Chains that shared the lane are opened again in its successor; their rounds are lost
 * and replayed by their tasks.
 */
import { Worker } from 'node:worker_threads'
import type { BufferPool } from '../task/buffer-pool.ts'
import type { FromLane, LaneChain, LaneData, PartitionOutcome, RoundPartition, ToLane } from './messages.ts'

/** The round did not finish; the task replays it from the committed offset. */
export class RoundLost extends Error {}

/** A SmartModule refused its config, trapped at start, or did not return in time: the pipeline can't go on by itself. */
export class ChainFailed extends Error {
  readonly step: number
  constructor(step: number, message: string) {
    super(message)
    this.step = step
  }
}

export type OpenChain = {
  /** Gives back the output buffers of a round that has been committed. */
  recycle(outcomes: PartitionOutcome[]): void
  /** Runs one round; rejects with RoundLost or ChainFailed. The buffers of `partitions` are gone afterwards. */
  run(partitions: RoundPartition[]): Promise<PartitionOutcome[]>
  close(): void
}

export type Lanes = { open(chain: LaneChain): Promise<OpenChain>; close(): Promise<void> }

export type LanesOptions = {
  /** Where the buffers of finished rounds go. */
  inputs: BufferPool
  count: number
  kernel: WebAssembly.Module
  callTimeoutMs: number
  now: () => number
  onLost: (reason: string) => void
}

type Waiting = { resolve(outcomes: PartitionOutcome[]): void; reject(error: Error): void }
type Job = { message: Extract<ToLane, { type: 'run' }>; waiting: Waiting }
type Registered = { id: number; spec: LaneChain; opening?: { resolve(): void; reject(error: Error): void }; failure?: Error }
type Lane = {
  worker: Worker
  watch: Int32Array
  seen: number
  /** Looks of the watchdog at which the same call was still under way. */
  ticks: number
  chains: Map<number, Registered>
  queue: Job[]
  running?: Job
  closed: boolean
}

const WATCH_INTERVAL_MS = 100

export function openLanes(options: LanesOptions): Lanes {
  let nextChain = 1
  let nextRound = 1
  const lanes: Lane[] = []
  for (let i = 0; i < options.count; i++) lanes.push(startLane(new Map()))

  function startLane(chains: Map<number, Registered>): Lane {
    const watch = new Int32Array(new SharedArrayBuffer(16))
    const data: LaneData = { kernel: options.kernel, watch }
    const worker = new Worker(new URL('./lane.ts', import.meta.url), { workerData: data, name: 'lane' })
    const lane: Lane = { worker, watch, seen: 0, ticks: 0, chains, queue: [], closed: false }
    worker.on('message', (message: FromLane) => onMessage(lane, message))
    worker.on('error', (error) => loseLane(lane, `a lane failed: ${error.message}`))
    for (const chain of chains.values()) post(lane, { type: 'open', chainId: chain.id, chain: chain.spec })
    return lane
  }

  function post(lane: Lane, message: ToLane, transfer: ArrayBuffer[] = []): void {
    lane.worker.postMessage(message, transfer)
  }

  function onMessage(lane: Lane, message: FromLane): void {
    if (lane.closed) return
    switch (message.type) {
      case 'ready':
        return
      case 'opened':
        lane.chains.get(message.chainId)?.opening?.resolve()
        return
      case 'refused': {
        const chain = lane.chains.get(message.chainId)
        if (!chain) return
        chain.failure = new ChainFailed(message.step, message.message)
        chain.opening?.reject(chain.failure)
        return
      }
      default: {
        const job = lane.running
        if (!job || job.message.roundId !== message.roundId) return
        lane.running = undefined
        if (message.type === 'done') {
          options.inputs.give(message.inputs)
          job.waiting.resolve(message.outcomes)
        } else job.waiting.reject(message.isFinal ? new ChainFailed(0, message.message) : new RoundLost(message.message))
        next(lane)
      }
    }
  }

  function next(lane: Lane): void {
    const job = lane.queue.shift()
    if (!job) return
    lane.running = job
    post(
      lane,
      job.message,
      job.message.partitions.map(({ bytes }) => bytes),
    )
  }

  /** Ends a lane and puts another in its place. `culprit` is the chain that must not be opened again. */
  function loseLane(lane: Lane, reason: string, culprit?: { chainId: number; error: ChainFailed }): void {
    if (lane.closed) return
    lane.closed = true
    void lane.worker.terminate()
    options.onLost(reason)
    const chains = new Map(lane.chains)
    if (culprit) {
      const chain = chains.get(culprit.chainId)
      if (chain) {
        chain.failure = culprit.error
        chain.opening?.reject(culprit.error)
      }
      chains.delete(culprit.chainId)
    }
    const successor = startLane(chains)
    lanes[lanes.indexOf(lane)] = successor
    for (const job of [...(lane.running ? [lane.running] : []), ...lane.queue]) {
      job.waiting.reject(culprit && job.message.chainId === culprit.chainId ? culprit.error : new RoundLost(reason))
    }
  }

  /** The first word of `watch` is odd while a call into a SmartModule is under way and changes with each call. */
  function watchLane(lane: Lane): void {
    const calls = Atomics.load(lane.watch, 0)
    if (calls !== lane.seen || (calls & 1) === 0) {
      lane.seen = calls
      lane.ticks = 0
      return
    }
    // Looks are counted, not time: a process that was paused, or a clock that was set, must not blame the module.
    if (++lane.ticks * WATCH_INTERVAL_MS < options.callTimeoutMs) return
    const step = Atomics.load(lane.watch, 1)
    const partition = Atomics.load(lane.watch, 2)
    const chainId = Atomics.load(lane.watch, 3)
    const name = lane.chains.get(chainId)?.spec.steps[step]?.name ?? 'a SmartModule'
    const where = partition < 0 ? 'while starting' : `on a batch of partition ${partition}`
    const message = `step ${step + 1} (${name}) did not return within ${options.callTimeoutMs} ms ${where}`
    loseLane(lane, message, { chainId, error: new ChainFailed(step, message) })
  }
  const timer = setInterval(() => lanes.forEach(watchLane), WATCH_INTERVAL_MS)

  const laneOf = (chainId: number): Lane | undefined => lanes.find(({ chains }) => chains.has(chainId))

  return {
    async open(spec) {
      const chain: Registered = { id: nextChain++, spec }
      const lane = lanes.toSorted((a, b) => a.chains.size - b.chains.size)[0]!
      lane.chains.set(chain.id, chain)
      const opened = Promise.withResolvers<void>()
      chain.opening = opened
      post(lane, { type: 'open', chainId: chain.id, chain: spec })
      try {
        await opened.promise
      } catch (error) {
        laneOf(chain.id)?.chains.delete(chain.id)
        throw error
      }
      return {
        run(partitions) {
          const at = laneOf(chain.id)
          if (!at || chain.failure) return Promise.reject(chain.failure ?? new RoundLost('the chain is closed'))
          return new Promise((resolve, reject) => {
            at.queue.push({
              message: { type: 'run', chainId: chain.id, roundId: nextRound++, partitions, nowMs: options.now() },
              waiting: { resolve, reject },
            })
            if (!at.running) next(at)
          })
        },
        recycle(outcomes) {
          const buffers = outcomes.flatMap(({ sink }) => sink.map(({ bytes }) => bytes))
          const at = laneOf(chain.id)
          if (at && buffers.length > 0) post(at, { type: 'recycle', buffers }, buffers)
        },
        close() {
          const at = laneOf(chain.id)
          if (!at) return
          at.chains.delete(chain.id)
          post(at, { type: 'close', chainId: chain.id })
        },
      }
    },
    async close() {
      clearInterval(timer)
      await Promise.all(
        lanes.map(async (lane) => {
          lane.closed = true
          for (const job of [...(lane.running ? [lane.running] : []), ...lane.queue])
            job.waiting.reject(new RoundLost('the processor is stopping'))
          await lane.worker.terminate()
        }),
      )
    },
  }
}

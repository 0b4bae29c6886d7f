/**
 * The lanes of a runner, seen from the main thread: which chain runs where, and how the chains of a lane take turns. `watchdog.ts` says
 * what happens when a SmartModule does not return.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import type { RefusedRecord } from '../../../shared/connectors/sink.ts'
import { lastChain } from '../../../shared/smartmodule/host/call-watch.ts'
import type { PlugInAnswer, PlugInRequest } from '../../../shared/model/plug-in-http.ts'
import { Interrupted } from '../interruption.ts'
import type { BufferPool } from './buffer-pool.ts'
import type { Measure } from '../../../shared/model/telemetry.ts'
import type { Lane, LaneRound, Registered } from './lane-record.ts'
import type { LaneLine } from './lane-telemetry.ts'
import { post, startLaneThreads, type LaneThreads } from './lane-threads.ts'
import type { FromLane, LaneChain, PartitionOutcome, RoundPartition } from './messages.ts'
import { createQuarantine } from './quarantine.ts'
import { createFailureBook } from './failure-book.ts'
import { createTurns, type Turns } from './turns.ts'
import { leastLoaded, startWatchdog } from './watchdog.ts'

export type OpenChain = {
  /** The round has been committed: gives its output buffers back and forgets the faults of its records. */
  recycle(outcomes: PartitionOutcome[]): void
  /** The sink refused these records: the next run over them fails them. */
  refuse(partition: number, records: readonly RefusedRecord[]): void
  /** These records already have dead letters. */
  addDeadLettered(partition: number, offsets: readonly bigint[]): void
  /** Records of the range `from` to before `to` that the sink refused or that have dead letters. */
  failedIn(partition: number, from: bigint, to: bigint): bigint[]
  /** Forgets all that is known about records: their topic is another one now. */
  forget(): void
  /**
   * Runs one round, until about `outputBytesMax` were made of it; rejects with `round_lost`, `retry_later` or `failed`. The buffers of
   * `partitions` are gone afterwards.
   */
  run(partitions: RoundPartition[], outputBytesMax: number): Promise<LaneRound>
  close(): void
}

export type Lanes = {
  /** Aborting `signal` gives up the chain's rounds and ends the lane that is running one. */
  open(chain: LaneChain, signal: AbortSignal): Promise<OpenChain>
  /** Lanes at work, including those added for slow chains. */
  count(): number
  /** Lanes among them with the lowest priority, whose chains are slow. */
  steppedBack(): number
  close(): Promise<void>
}

export type LanesOptions = {
  /** Gets the input buffers of finished rounds back. */
  inputs: BufferPool
  count: number
  kernel: WebAssembly.Module
  callTimeoutMs: number
  now: () => number
  onLost: (reason: string) => void
  /** File of the runner's notes (`channel/notes.ts`); undefined where none are kept. */
  notesFd?: number
  /** A lane that was ended goes on, in a call that can't be interrupted: only the end of the process ends it. */
  onStuck: () => void
  /** Lines of a chain's SmartModules, or how many of them were dropped. */
  onLog: (chain: LaneChain, lines: readonly LaneLine[], dropped: number) => void
  /** Sends a request of one of the chain's plug-ins. */
  onRequest: (chain: LaneChain, request: PlugInRequest) => Promise<PlugInAnswer>
  /** What a chain's SmartModules have measured in a run. */
  onMeasured: (chain: LaneChain, measures: readonly Measure[]) => void
}

/** A chain fails when this many lanes in a row have crashed while running it. */
const CRASHES_MAX = 10

export function openLanes(options: LanesOptions): Lanes {
  let nextChain = 1
  let nextRound = 1
  const { count, callTimeoutMs, inputs, now } = options
  const threads = startLaneThreads({ ...options, onMessage, onCrash, onPost: () => watchdog.wake() })
  const turns = createTurns({ threads, inputs, onMeasured: options.onMeasured, now })
  const watchdog = startWatchdog({ threads, turns, count, callTimeoutMs, lose })

  function onMessage(lane: Lane, message: FromLane): void {
    switch (message.type) {
      case 'ready':
        return threads.onReady(lane, message.threadId)
      case 'opened':
        lane.opening--
        return lane.chains.get(message.chainId)?.opening.resolve()
      case 'refused': {
        lane.opening--
        const chain = lane.chains.get(message.chainId)
        if (!chain) return
        chain.failure = new Interrupted('failed', message.message)
        return chain.opening.reject(chain.failure)
      }
      case 'log': {
        const chain = chainOf(lane, message.chainId)
        return chain && options.onLog(chain.spec, message.lines, message.dropped)
      }
      case 'request': {
        const chain = chainOf(lane, message.chainId)
        return void answer(lane, message, async () => {
          if (!chain) throw new Error('its pipeline is not here any more')
          return options.onRequest(chain.spec, message.request)
        })
      }
      default:
        return turns.onAnswer(lane, message)
    }
  }

  function onCrash(lane: Lane, error: Error): void {
    const chain = lane.running?.chain ?? lane.chains.get(lastChain(lane.watch))
    const message = `a lane failed: ${error.message}`
    if (chain && ++chain.crashes >= CRASHES_MAX)
      chain.failure = new Interrupted('failed', `gave up after ${CRASHES_MAX} lost lanes: ${message}`)
    lose(lane, message)
  }

  /** Terminates a lane and replaces it. A chain that has failed is not opened again. */
  function lose(lane: Lane, reason: string): void {
    if (lane.closed) return
    options.onLost(reason)
    if (threads.replaceSpare(lane)) return
    const chains = new Map([...lane.chains].filter(([, { failure }]) => failure === undefined))
    for (const [id, { failure, opening }] of lane.chains) if (!chains.has(id)) opening.reject(failure)
    threads.replace(lane, chains)
    turns.giveUp(lane, ({ chain }) => chain.failure ?? new Interrupted('round_lost', reason))
  }

  /** Closes a chain. An extra lane that is empty then is terminated. */
  function close(chain: Registered): void {
    const lane = threads.laneOf(chain)
    if (!lane) return
    lane.chains.delete(chain.id)
    post(lane, { type: 'close', chainId: chain.id })
    if (lane.chains.size > 0 || lane.running || lane.rounds.length > 0) return
    if (threads.all().length > count) threads.remove(lane)
    else if (lane.hasSteppedBack) threads.replace(lane, new Map())
  }

  function abandon(chain: Registered): void {
    const lane = threads.laneOf(chain)
    if (!lane) return
    chain.failure ??= new Interrupted('round_lost', 'its task gave the round up')
    chain.opening.reject(chain.failure)
    const { failure } = chain
    if (lane.running?.chain !== chain) return turns.giveUp(lane, () => failure, chain)
    if (lane.chains.size > 1 || threads.all().length <= count) return lose(lane, failure.message)
    options.onLost(failure.message)
    threads.remove(lane)
    turns.giveUp(lane, () => failure)
  }

  async function register(spec: LaneChain, signal: AbortSignal): Promise<Registered> {
    const opening = Promise.withResolvers<void>()
    const chain = newChain(nextChain++, spec, opening)
    // The first chain does not share the CPUs with lanes that only start; the second one has a lane of its own.
    if (threads.all().some(({ chains }) => chains.size > 0)) threads.fill()
    const lane = leastLoaded(threads.all())
    lane.chains.set(chain.id, chain)
    post(lane, { type: 'open', chainId: chain.id, chain: spec })
    signal.addEventListener('abort', () => abandon(chain), { once: true })
    try {
      await opening.promise
      threads.fill()
      threads.prepare()
      return chain
    } catch (error) {
      threads.laneOf(chain)?.chains.delete(chain.id)
      throw error
    }
  }

  return {
    count: () => threads.all().length,
    steppedBack: () => threads.all().filter(({ hasSteppedBack, chains }) => hasSteppedBack && chains.size > 0).length,
    async open(spec, signal) {
      return handleOf(await register(spec, signal), { threads, turns, roundId: () => nextRound++, close })
    },
    async close() {
      watchdog.close()
      for (const lane of threads.all()) turns.giveUp(lane, () => new Interrupted('round_lost', 'the runner is stopping'))
      await threads.close()
    },
  }
}

const newChain = (id: number, spec: LaneChain, opening: Registered['opening']): Registered => ({
  id,
  spec,
  failureBook: createFailureBook(),
  quarantine: createQuarantine(),
  opening,
  isSlow: false,
  calm: 0,
  crashes: 0,
})

/** A chain of the lane; the one that is running there may have been moved to another one meanwhile. */
const chainOf = (lane: Lane, id: number): Registered | undefined =>
  lane.chains.get(id) ?? (lane.running?.chain.id === id ? lane.running.chain : undefined)

/** Answers a plug-in's request in any case: its call waits. */
async function answer(lane: Lane, { requestId }: { requestId: number }, send: () => Promise<PlugInAnswer>): Promise<void> {
  const failed = (error: unknown): PlugInAnswer => ({ status: 502, headers: {}, body: new Uint8Array(), problem: reasonOf(error) })
  const found = await new Promise<PlugInAnswer>((resolve) => resolve(send())).catch(failed)
  if (!lane.closed) post(lane, { type: 'answer', requestId, answer: found }, [found.body.buffer])
}

type Around = { threads: LaneThreads; turns: Turns; roundId(): number; close(chain: Registered): void }

/** What a task holds of its chain. */
function handleOf(chain: Registered, { threads, turns, roundId, close }: Around): OpenChain {
  return {
    run(partitions, outputBytesMax) {
      const at = threads.laneOf(chain)
      if (!at || chain.failure) return Promise.reject(chain.failure ?? new Interrupted('round_lost', 'the chain is closed'))
      const settled = Promise.withResolvers<LaneRound>()
      turns.enqueue(at, {
        chain,
        waiting: partitions,
        outcomes: [],
        rest: [],
        outputBytesLeft: outputBytesMax,
        roundId: roundId(),
        settled,
      })
      return settled.promise
    },
    recycle(outcomes) {
      // Committed: what was known about these records is no longer needed.
      chain.failureBook.settle(outcomes)
      const buffers = outcomes.flatMap(({ sink }) => sink.map(({ bytes }) => bytes)).filter(({ byteLength }) => byteLength > 0)
      const at = threads.laneOf(chain)
      if (at && buffers.length > 0) post(at, { type: 'recycle', buffers }, buffers)
    },
    refuse: (partition, records) => chain.failureBook.refuse(partition, records),
    addDeadLettered: (partition, offsets) => chain.failureBook.addDeadLettered(partition, offsets),
    failedIn: (partition, from, to) => chain.failureBook.failedIn(partition, from, to),
    forget: () => chain.failureBook.clear(),
    close: () => close(chain),
  }
}

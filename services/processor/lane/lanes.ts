/**
 * The lanes of a processor, seen from the main thread: which chain runs where, how the chains of a lane take turns, and what happens when
 * a SmartModule does not return. Past the soft deadline the other chains move to another lane and the slow one keeps this lane to itself.
 * Past the hard deadline the lane is terminated and replaced, and the task replays the round with the hanging call cut into parts.
 */
import { Worker } from 'node:worker_threads'
import type { RefusedRecord } from '../../../shared/connectors/sink.ts'
import { callUnderWay, callWatchOver, lastChain, WATCH_BYTES } from '../../../shared/smartmodule/host/call-watch.ts'
import { Interrupted } from '../interruption.ts'
import type { BufferPool } from './buffer-pool.ts'
import { createSuspectBook } from './suspects.ts'
import type { Job, Lane, LaneRound, Registered } from './lane-record.ts'
import type { FromLane, LaneChain, LaneData, PartitionOutcome, RoundPartition, ToLane } from './messages.ts'
import { stepBack } from './priority.ts'
import { threadCpuMs, workedMs } from './thread-time.ts'
import { createQuarantine, QUARANTINE_LOSSES, QUARANTINE_WINDOW_MS } from './quarantine.ts'

export type OpenChain = {
  /** The round has been committed: gives its output buffers back and forgets the faults of its records. */
  recycle(outcomes: PartitionOutcome[]): void
  /** The sink refused these records: the next run over them fails them. */
  refuse(partition: number, records: readonly RefusedRecord[]): void
  /** These records already have dead letters. */
  addDeadLettered(partition: number, offsets: readonly bigint[]): void
  /**
   * Runs one round, until about `outputBytesMax` were made of it; rejects with `round_lost`, `retry_later` or `failed`. The buffers of
   * `partitions` are gone afterwards.
   */
  run(partitions: RoundPartition[], outputBytesMax: number): Promise<LaneRound>
  close(): void
}

export type Lanes = {
  open(chain: LaneChain): Promise<OpenChain>
  /** Lanes at work, including those added for slow chains. */ count(): number
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
}

const WATCH_INTERVAL_MS = 25
/** Of one call. With a spare lane ready, a hanging call stops the other chains only once, for about a tenth of a second. */
const SOFT_DEADLINE_MS = 75
/** Of one call, after which its lane's thread gets the lowest priority on the machine. */
const HOLD_BACK_MS = 150
/** Of one turn, even if all its calls are short: a module that traps on every record is slow too. */
const SLOW_TURN_MS = 200
/** Deadlines while a call that hung is being cut into parts: for a part of several records, and for a single record. */
const SEARCH_DEADLINE_MS = 250
const SEARCH_LAST_DEADLINE_MS = 1000
/** Lanes beyond the configured ones, to separate slow chains from the others; past this limit they share lanes. */
const LANES_APART_MAX = 4
/** A slow chain counts as normal again after this many turns in a row that were not slow. */
const CALM_TURNS = 50
const CRASHES_MAX = 10

export function openLanes(options: LanesOptions): Lanes {
  let nextChain = 1
  let nextRound = 1
  const quarantine = createQuarantine(options.now)
  const lanes: Lane[] = []
  for (let i = 0; i < options.count; i++) lanes.push(startLane())
  /** Started and idle: a thread takes most of a second to start, and no chain should wait for that. */
  let spare = startLane()

  /** Takes the spare lane into use with these chains and starts the next spare. */
  function takeLane(chains: Map<number, Registered>): Lane {
    const lane = spare
    spare = startLane()
    lane.chains = chains
    if (chains.size > 0 && isOnlySlow(lane)) holdBack(lane)
    for (const chain of chains.values()) post(lane, { type: 'open', chainId: chain.id, chain: chain.spec })
    return lane
  }

  function startLane(): Lane {
    const shared = new SharedArrayBuffer(WATCH_BYTES)
    const data: LaneData = { kernel: options.kernel, watch: shared }
    const worker = new Worker(new URL('./lane.ts', import.meta.url), { workerData: data, name: 'lane' })
    const lane: Lane = {
      worker,
      threadId: undefined,
      isBack: false,
      watch: callWatchOver(shared),
      seen: 0,
      ticks: 0,
      cpuAtFirst: undefined,
      turnTicks: 0,
      chains: new Map(),
      jobs: [],
      closed: false,
    }
    worker.on('message', (message: FromLane) => onMessage(lane, message))
    worker.on('error', (error) => {
      const chain = lane.running?.chain ?? lane.chains.get(lastChain(lane.watch))
      const message = `a lane failed: ${error.message}`
      if (chain && ++chain.crashes >= CRASHES_MAX)
        chain.failure = new Interrupted('failed', `gave up after ${CRASHES_MAX} lost lanes: ${message}`)
      loseLane(lane, message)
    })
    return lane
  }

  function post(lane: Lane, message: ToLane, transfer: ArrayBuffer[] = []): void {
    lane.worker.postMessage(message, transfer)
  }

  function onMessage(lane: Lane, message: FromLane): void {
    if (lane.closed) return
    if (message.type === 'ready') {
      lane.threadId = message.threadId
      return lane.isBack ? stepBack(message.threadId) : undefined
    }
    if (message.type === 'opened') return lane.chains.get(message.chainId)?.opening.resolve()
    if (message.type === 'refused') {
      const chain = lane.chains.get(message.chainId)
      if (!chain) return
      chain.failure = new Interrupted('failed', message.message)
      return chain.opening.reject(chain.failure)
    }
    const job = lane.running
    // A late answer to a round that was given up.
    if (!job || job.roundId !== message.roundId) return
    lane.running = undefined
    settle(lane, job, message)
    if (++job.chain.calm >= CALM_TURNS && job.chain.isSlow) rehabilitate(lane, job.chain)
    else next(lane)
  }

  const isOnlySlow = (lane: Lane): boolean => [...lane.chains.values()].every(({ isSlow }) => isSlow)

  /** From now on all other threads on the machine come first, including those of brokers running on it. */
  function holdBack(lane: Lane): void {
    if (lane.isBack) return
    lane.isBack = true
    if (lane.threadId !== undefined) stepBack(lane.threadId)
  }

  /** A chain that is no longer slow moves to a fresh lane: a thread's lowered priority can't be raised again. */
  function rehabilitate(lane: Lane, chain: Registered): void {
    chain.isSlow = false
    if (lane.closed || !lane.isBack) return next(lane)
    replace(lane, lane.chains)
    const fresh = laneOf(chain)
    fresh?.jobs.push(...lane.jobs)
    if (fresh) next(fresh)
  }

  /** Terminates a lane and puts the spare one in its place, with these chains. */
  function replace(lane: Lane, chains: Map<number, Registered>): void {
    lane.closed = true
    void lane.worker.terminate()
    lanes[lanes.indexOf(lane)] = takeLane(chains)
  }

  function settle(lane: Lane, job: Job, message: Exclude<FromLane, { type: 'ready' | 'opened' | 'refused' }>): void {
    const { chain, settled } = job
    switch (message.type) {
      case 'done':
        options.inputs.give(message.inputs)
        job.outcomes.push(...message.outcomes)
        job.rest.push(...message.rest)
        job.outputBytesLeft -= message.outputBytes
        addLosses(chain, message.lost)
        chain.crashes = 0
        // Its chain may have been moved to another lane meanwhile.
        if (job.waiting.length > 0 && job.outputBytesLeft > 0) {
          const at = laneOf(chain) ?? lane
          at.jobs.push(job)
          // Nothing else starts a turn in that lane.
          if (at !== lane && !at.running) next(at)
          return
        }
        return settled.resolve({ outcomes: job.outcomes, rest: [...job.rest, ...job.waiting] })
      case 'retry':
        options.inputs.give(message.inputs)
        addLosses(chain, message.lost)
        chain.suspects.addAttempts(message.retries)
        return settled.reject(new Interrupted({ kind: 'retry_later', afterMs: message.backoffMs }, 'records failed and are to be retried'))
      case 'trapped':
        chain.failure = quarantined(chain.spec, message.step, message.message)
        return settled.reject(chain.failure)
      default:
        return settled.reject(new Interrupted(message.isFinal ? 'failed' : 'round_lost', message.message))
    }
  }

  function addLosses({ spec }: Registered, lost: number[]): void {
    for (const [step, count] of lost.entries()) if (count > 0) quarantine.add(spec.steps[step]!.sha256, count)
  }

  function quarantined(spec: LaneChain, step: number, message: string): Interrupted {
    const { name, version, sha256 } = spec.steps[step]!
    return new Interrupted(
      { kind: 'failed', quarantined: sha256 },
      `step ${step + 1}: ${name} ${version} is quarantined: ${QUARANTINE_LOSSES} traps or missed deadlines within ${QUARANTINE_WINDOW_MS / 1000} s (the last: ${message})`,
    )
  }

  /** Gives the lane its next turn: a whole round when no other waits, otherwise one partition of it, so that turns stay short. */
  function next(lane: Lane): void {
    const job = lane.jobs.shift()
    if (!job) return
    const partitions = lane.jobs.length === 0 ? job.waiting.splice(0) : job.waiting.splice(0, 1)
    for (const each of partitions) each.suspects = job.chain.suspects.of(each.partition)
    lane.running = job
    lane.turnTicks = 0
    const lostMax = job.chain.spec.steps.map(({ sha256 }) => quarantine.left(sha256) - 1)
    post(
      lane,
      {
        type: 'run',
        chainId: job.chain.id,
        roundId: job.roundId,
        partitions,
        nowMs: options.now(),
        lostMax,
        outputBytesMax: job.outputBytesLeft,
      },
      partitions.map(({ bytes }) => bytes),
    )
  }

  function giveUp(lane: Lane, errorOf: (job: Job) => Error): void {
    for (const job of [...(lane.running ? [lane.running] : []), ...lane.jobs]) job.settled.reject(errorOf(job))
    lane.running = undefined
    lane.jobs = []
  }

  /** Terminates a lane and replaces it. A chain that has failed is not opened again. */
  function loseLane(lane: Lane, reason: string): void {
    if (lane.closed) return
    options.onLost(reason)
    if (lane === spare) {
      lane.closed = true
      void lane.worker.terminate()
      spare = startLane()
      return
    }
    const chains = new Map([...lane.chains].filter(([, { failure }]) => failure === undefined))
    for (const [id, { failure, opening }] of lane.chains) if (!chains.has(id)) opening.reject(failure)
    replace(lane, chains)
    giveUp(lane, ({ chain }) => chain.failure ?? new Interrupted('round_lost', reason))
  }

  /** Counts watchdog ticks, not time: a module must not be blamed for a paused process or an adjusted clock. */
  function watchLane(lane: Lane): void {
    if (lane.running && ++lane.turnTicks * WATCH_INTERVAL_MS >= SLOW_TURN_MS) setApart(lane, lane.running.chain)
    const call = callUnderWay(lane.watch)
    if (!call || call.number !== lane.seen) {
      lane.seen = call?.number ?? 0
      lane.ticks = 0
      lane.cpuAtFirst = call && threadCpuMs(lane.threadId)
      return
    }
    const tookMs = workedMs(++lane.ticks * WATCH_INTERVAL_MS, lane.cpuAtFirst, threadCpuMs(lane.threadId))
    const chain = lane.chains.get(call.chainId)
    const step = chain?.spec.steps[call.step]
    if (tookMs >= SOFT_DEADLINE_MS && chain) setApart(lane, chain)
    if (tookMs >= HOLD_BACK_MS && isOnlySlow(lane)) holdBack(lane)
    if (tookMs < deadlineOf(chain, call)) return
    const where = call.partition < 0 ? 'while starting' : `on a batch of partition ${call.partition}`
    const message = `step ${call.step + 1} (${step?.name ?? 'a SmartModule'}) did not return within ${Math.round(tookMs)} ms ${where}`
    if (chain && step) {
      if (call.partition < 0) chain.failure = new Interrupted('failed', message)
      else if (quarantine.add(step.sha256, 1)) chain.failure = quarantined(chain.spec, call.step, message)
      else chain.suspects.suspect(call.partition, call.first, call.last, call.step, message)
    }
    loseLane(lane, message)
  }

  function deadlineOf(chain: Registered | undefined, call: { step: number; partition: number; first: bigint; last: bigint }): number {
    const whole = chain?.spec.steps[call.step]?.timeoutMs ?? options.callTimeoutMs
    if (!chain || call.partition < 0 || !chain.suspects.isSearching(call.partition)) return whole
    return Math.min(whole, call.first === call.last ? SEARCH_LAST_DEADLINE_MS : SEARCH_DEADLINE_MS)
  }

  /** The slow chain keeps its lane; the other chains move to another lane with their waiting rounds. */
  function setApart(lane: Lane, slow: Registered): void {
    slow.isSlow = true
    slow.calm = 0
    const others = [...lane.chains.values()].filter(({ isSlow }) => !isSlow)
    if (others.length === 0) return
    let target = lanes.find(
      (each) => each !== lane && [...each.chains.values()].every(({ isSlow }) => !isSlow) && !isStuck(each) && !each.isBack,
    )
    if (!target) {
      if (lanes.length >= options.count + LANES_APART_MAX) return
      lanes.push((target = takeLane(new Map())))
    }
    for (const chain of others) {
      lane.chains.delete(chain.id)
      post(lane, { type: 'close', chainId: chain.id })
      target.chains.set(chain.id, chain)
      post(target, { type: 'open', chainId: chain.id, chain: chain.spec })
    }
    target.jobs.push(...lane.jobs.filter(({ chain }) => others.includes(chain)))
    lane.jobs = lane.jobs.filter(({ chain }) => !others.includes(chain))
    if (!target.running) next(target)
  }

  const isStuck = (lane: Lane): boolean => lane.ticks * WATCH_INTERVAL_MS >= SOFT_DEADLINE_MS
  const timer = setInterval(() => [...lanes].forEach(watchLane), WATCH_INTERVAL_MS)
  const laneOf = (chain: Registered): Lane | undefined => lanes.find(({ chains }) => chains.has(chain.id))

  /** Closes a chain. An extra lane that is empty then is terminated. */
  function close(chain: Registered): void {
    const lane = laneOf(chain)
    if (!lane) return
    lane.chains.delete(chain.id)
    post(lane, { type: 'close', chainId: chain.id })
    if (lane.chains.size > 0 || lane.running || lane.jobs.length > 0) return
    if (lanes.length <= options.count) return lane.isBack ? replace(lane, new Map()) : undefined
    lane.closed = true
    lanes.splice(lanes.indexOf(lane), 1)
    void lane.worker.terminate()
  }

  return {
    count: () => lanes.length,
    async open(spec) {
      const opening = Promise.withResolvers<void>()
      const chain: Registered = { id: nextChain++, spec, suspects: createSuspectBook(), opening, isSlow: false, calm: 0, crashes: 0 }
      // The least loaded lane; one that hangs or has a slow chain only when there is no other.
      const cost = (lane: Lane) =>
        lane.chains.size + (isStuck(lane) || [...lane.chains.values()].some(({ isSlow }) => isSlow) || lane.isBack ? 1e6 : 0)
      const lane = lanes.toSorted((a, b) => cost(a) - cost(b))[0]!
      lane.chains.set(chain.id, chain)
      post(lane, { type: 'open', chainId: chain.id, chain: spec })
      try {
        await opening.promise
      } catch (error) {
        laneOf(chain)?.chains.delete(chain.id)
        throw error
      }
      return {
        run(partitions, outputBytesMax) {
          const at = laneOf(chain)
          if (!at || chain.failure) return Promise.reject(chain.failure ?? new Interrupted('round_lost', 'the chain is closed'))
          const job: Job = {
            chain,
            waiting: partitions,
            outcomes: [],
            rest: [],
            outputBytesLeft: outputBytesMax,
            roundId: nextRound++,
            settled: Promise.withResolvers<LaneRound>(),
          }
          at.jobs.push(job)
          if (!at.running) next(at)
          return job.settled.promise
        },
        recycle(outcomes) {
          // Committed: what was known about these records is no longer needed.
          chain.suspects.settle(outcomes)
          const buffers = outcomes.flatMap(({ sink }) => sink.map(({ bytes }) => bytes)).filter(({ byteLength }) => byteLength > 0)
          const at = laneOf(chain)
          if (at && buffers.length > 0) post(at, { type: 'recycle', buffers }, buffers)
        },
        refuse: (partition, records) => chain.suspects.refuse(partition, records),
        addDeadLettered: (partition, offsets) => chain.suspects.addDeadLettered(partition, offsets),
        close: () => close(chain),
      }
    },
    async close() {
      clearInterval(timer)
      await Promise.all(
        [...lanes, spare].map(async (lane) => {
          lane.closed = true
          giveUp(lane, () => new Interrupted('round_lost', 'the processor is stopping'))
          await lane.worker.terminate()
        }),
      )
    },
  }
}

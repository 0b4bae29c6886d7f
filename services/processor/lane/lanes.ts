/**
 * The lanes of a processor, seen from the main thread: which chain runs where, turns among the chains of a lane, and what happens when a
 * SmartModule does not come back. Past the soft deadline the others move to another lane at once and the slow one keeps this one to
 * itself; past the hard deadline the lane is ended and replaced, and the round is replayed by its task, cut where it hung.
 */
import { Worker } from 'node:worker_threads'
import type { RefusedRecord } from '../../../shared/connectors/sink.ts'
import { callUnderWay, callWatchOver, lastChain, WATCH_BYTES } from '../../../shared/smartmodule/host/call-watch.ts'
import { Interrupted } from '../interruption.ts'
import type { BufferPool } from './buffer-pool.ts'
import { createDoubtBook } from './doubts.ts'
import type { Job, Lane, LaneRound, Registered } from './lane-record.ts'
import type { FromLane, LaneChain, LaneData, PartitionOutcome, RoundPartition, ToLane } from './messages.ts'
import { stepBack } from './priority.ts'
import { threadCpuMs, workedMs } from './thread-time.ts'
import { createQuarantine, QUARANTINE_LOSSES, QUARANTINE_WINDOW_MS } from './quarantine.ts'

export type OpenChain = {
  /** The round has been committed: gives its output buffers back, and forgets what was held against its records. */
  recycle(outcomes: PartitionOutcome[]): void
  /** The sink would not take these records: the next run over them fails them. */
  refuse(partition: number, records: readonly RefusedRecord[]): void
  /** Dead letters of these records are in their topic already. */
  addLettered(partition: number, offsets: readonly bigint[]): void
  /**
   * Runs one round, until about `outputBytesMax` were made of it; rejects with `round_lost`, `retry_later` or `failed`. The buffers of
   * `partitions` are gone afterwards.
   */
  run(partitions: RoundPartition[], outputBytesMax: number): Promise<LaneRound>
  close(): void
}

export type Lanes = {
  open(chain: LaneChain): Promise<OpenChain>
  /** Lanes at work, slow ones of their own included. */ count(): number
  close(): Promise<void>
}

export type LanesOptions = {
  /** Where the buffers of finished rounds go. */
  inputs: BufferPool
  count: number
  kernel: WebAssembly.Module
  callTimeoutMs: number
  now: () => number
  onLost: (reason: string) => void
}

const WATCH_INTERVAL_MS = 25
/** Of one call. With it and a spare lane the others stand still for about a tenth of a second, once. */
const SOFT_DEADLINE_MS = 75
/** Of one call, after which its lane steps back behind everything else on the machine. */
const HOLD_BACK_MS = 150
/** Of one turn, whose calls may all be short: a module that traps on every record is slow too. */
const SLOW_TURN_MS = 200
/** Deadlines while a call that hung is being cut apart: of a part with several records, and of one alone. */
const SEARCH_DEADLINE_MS = 250
const SEARCH_LAST_DEADLINE_MS = 1000
/** Lanes beyond the configured ones, for chains that are slow; more slow chains than that share them. */
const LANES_APART_MAX = 4
/** Turns in a row that a slow chain has to be quick for, before it is like the others again. */
const CALM_TURNS = 50
const CRASHES_MAX = 10

export function openLanes(options: LanesOptions): Lanes {
  let nextChain = 1
  let nextRound = 1
  const quarantine = createQuarantine(options.now)
  const lanes: Lane[] = []
  for (let i = 0; i < options.count; i++) lanes.push(startLane())
  /** Started and idle: a thread takes most of a second to start, which nobody waits for. */
  let spare = startLane()

  /** A lane at once, with these chains; the next spare starts meanwhile. */
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
        chain.failure = new Interrupted('failed', `gave up after ${CRASHES_MAX} lanes: ${message}`)
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
    // A late answer of a round that was given up.
    if (!job || job.roundId !== message.roundId) return
    lane.running = undefined
    settle(lane, job, message)
    if (++job.chain.calm >= CALM_TURNS && job.chain.isSlow) rehabilitate(lane, job.chain)
    else next(lane)
  }

  const isOnlySlow = (lane: Lane): boolean => [...lane.chains.values()].every(({ isSlow }) => isSlow)

  /** The others come first on the cores from now on, the threads of the brokers beside us included. */
  function holdBack(lane: Lane): void {
    if (lane.isBack) return
    lane.isBack = true
    if (lane.threadId !== undefined) stepBack(lane.threadId)
  }

  /** A chain that was slow and is not any more gets a lane like the others'; a thread that stepped back can't rise again. */
  function rehabilitate(lane: Lane, chain: Registered): void {
    chain.isSlow = false
    if (lane.closed || !lane.isBack) return next(lane)
    replace(lane, lane.chains)
    const fresh = laneOf(chain)
    fresh?.jobs.push(...lane.jobs)
    if (fresh) next(fresh)
  }

  /** Ends a lane and puts the spare one in its place, with these chains. */
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
          // Another lane hears of it by nobody else.
          if (at !== lane && !at.running) next(at)
          return
        }
        return settled.resolve({ outcomes: job.outcomes, rest: [...job.rest, ...job.waiting] })
      case 'retry':
        options.inputs.give(message.inputs)
        addLosses(chain, message.lost)
        chain.doubts.addAttempts(message.retries)
        return settled.reject(
          new Interrupted({ kind: 'retry_later', afterMs: message.backoffMs }, 'records failed whose policy is to try again'),
        )
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

  /** Gives the lane its next turn: a whole round when nobody else waits, else one partition of it, so that turns stay short. */
  function next(lane: Lane): void {
    const job = lane.jobs.shift()
    if (!job) return
    const partitions = lane.jobs.length === 0 ? job.waiting.splice(0) : job.waiting.splice(0, 1)
    for (const each of partitions) each.doubts = job.chain.doubts.of(each.partition)
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

  /** Ends a lane and puts another in its place. A chain that has failed is not opened again. */
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

  /** Looks are counted, not time: a process that was paused, or a clock that was set, must not blame the module. */
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
      else chain.doubts.suspect(call.partition, call.first, call.last, call.step, message)
    }
    loseLane(lane, message)
  }

  function deadlineOf(chain: Registered | undefined, call: { step: number; partition: number; first: bigint; last: bigint }): number {
    const whole = chain?.spec.steps[call.step]?.timeoutMs ?? options.callTimeoutMs
    if (!chain || call.partition < 0 || !chain.doubts.isSearching(call.partition)) return whole
    return Math.min(whole, call.first === call.last ? SEARCH_LAST_DEADLINE_MS : SEARCH_DEADLINE_MS)
  }

  /** The slow chain keeps its lane; the others, with the rounds that wait, go on in another one. */
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

  /** A lane that was added for a slow chain goes with it. */
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
      const chain: Registered = { id: nextChain++, spec, doubts: createDoubtBook(), opening, isSlow: false, calm: 0, crashes: 0 }
      // The least loaded; one that hangs, or belongs to a slow chain, only when there is no other.
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
          // Committed: what was known of the records behind it is of no more use.
          chain.doubts.settle(outcomes)
          const buffers = outcomes.flatMap(({ sink }) => sink.map(({ bytes }) => bytes)).filter(({ byteLength }) => byteLength > 0)
          const at = laneOf(chain)
          if (at && buffers.length > 0) post(at, { type: 'recycle', buffers }, buffers)
        },
        refuse: (partition, records) => chain.doubts.refuse(partition, records),
        addLettered: (partition, offsets) => chain.doubts.addLettered(partition, offsets),
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

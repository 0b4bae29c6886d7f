/** Turns among the chains of a lane: which round runs next, and what comes of one that was run. */
import { Interrupted } from '../interruption.ts'
import type { BufferPool } from './buffer-pool.ts'
import type { Lane, QueuedRound, Registered } from './lane-record.ts'
import { post, type LaneThreads } from './lane-threads.ts'
import type { LanesOptions } from './lanes.ts'
import type { FromLane } from './messages.ts'
import { quarantinedBy } from './quarantine.ts'

export type TurnsOptions = {
  threads: LaneThreads
  inputs: BufferPool
  onMeasured: LanesOptions['onMeasured']
  now: () => number
}
export type Turns = ReturnType<typeof createTurns>
export type RoundAnswer = Exclude<FromLane, { type: 'ready' | 'opened' | 'refused' | 'log' | 'request' }>

/** A slow chain counts as normal again after this many turns in a row that were not slow. */
const CALM_TURNS = 50
/** How soon a round that waits for something is tried again. */
const WAITING_MS = 500

export function createTurns({ threads, inputs, onMeasured, now }: TurnsOptions) {
  /** Gives the lane its next turn: a whole round when no other waits, otherwise one partition of it, so that turns stay short. */
  function next(lane: Lane): void {
    const round = lane.rounds.shift()
    if (!round) return
    const { chain, roundId } = round
    const partitions = lane.rounds.length === 0 ? round.waiting.splice(0) : round.waiting.splice(0, 1)
    for (const each of partitions) each.knownFailures = chain.failureBook.of(each.partition)
    lane.running = round
    lane.turnTicks = 0
    const lostMax = chain.spec.steps.map(({ sha256 }) => chain.quarantine.left(sha256) - 1)
    const limits = { nowMs: now(), lostMax, outputBytesMax: round.outputBytesLeft }
    post(
      lane,
      { type: 'run', chainId: chain.id, roundId, partitions, ...limits },
      partitions.map(({ bytes }) => bytes),
    )
  }

  /** Adds a round to the lane; it runs at once where nothing else does. */
  function enqueue(lane: Lane, round: QueuedRound): void {
    lane.rounds.push(round)
    if (!lane.running) next(lane)
  }

  function addLosses({ spec, quarantine }: Registered, lost: number[]): void {
    for (const [step, count] of lost.entries()) if (count > 0) quarantine.add(spec.steps[step]!.sha256, count)
  }

  /** The round's next part has its turn after the other rounds' of the lane. */
  function goOn(lane: Lane, round: QueuedRound): void {
    // Its chain may have been moved to another lane meanwhile, where nothing else may start a turn.
    const at = threads.laneOf(round.chain) ?? lane
    if (at === lane) lane.rounds.push(round)
    else enqueue(at, round)
  }

  function runLater({ settled }: QueuedRound, reason: string): void {
    settled.reject(new Interrupted({ kind: 'retry_later', afterMs: WAITING_MS }, reason))
  }

  function settle(lane: Lane, round: QueuedRound, message: RoundAnswer): void {
    const { chain, settled } = round
    switch (message.type) {
      case 'done':
        inputs.give(message.inputs)
        round.outcomes.push(...message.outcomes)
        round.rest.push(...message.rest)
        round.outputBytesLeft -= message.outputBytes
        addLosses(chain, message.lost)
        if (message.measures.length > 0) onMeasured(chain.spec, message.measures)
        chain.crashes = 0
        if (round.waiting.length > 0 && round.outputBytesLeft > 0) return goOn(lane, round)
        if (round.awaits !== undefined) return runLater(round, round.awaits)
        return settled.resolve({ outcomes: round.outcomes, rest: [...round.rest, ...round.waiting] })
      case 'retry':
        inputs.give(message.inputs)
        addLosses(chain, message.lost)
        chain.failureBook.addAttempts(message.retries)
        return settled.reject(new Interrupted({ kind: 'retry_later', afterMs: message.backoffMs }, 'records failed and are to be retried'))
      case 'waiting':
        // The other parts are looked at first, so that what they need is waited for at the same time.
        round.awaits ??= message.message
        return round.waiting.length > 0 ? goOn(lane, round) : runLater(round, round.awaits)
      case 'trapped':
        chain.failure = quarantinedBy(chain.spec, message.step, message.message)
        return settled.reject(chain.failure)
      default:
        return settled.reject(new Interrupted(message.isFinal ? 'failed' : 'round_lost', message.message))
    }
  }

  /** A chain that is no longer slow moves to a fresh lane: a thread's lowered priority can't be raised again. */
  function rehabilitate(lane: Lane, chain: Registered): void {
    chain.isSlow = false
    if (lane.closed || !lane.hasSteppedBack) return next(lane)
    threads.replace(lane, lane.chains)
    const fresh = threads.laneOf(chain)
    fresh?.rounds.push(...lane.rounds)
    if (fresh) next(fresh)
  }

  return {
    next,
    enqueue,
    /** A lane has run its turn. */
    onAnswer(lane: Lane, message: RoundAnswer): void {
      const round = lane.running
      // A late answer to a round that was given up.
      if (!round || round.roundId !== message.roundId) return
      lane.running = undefined
      settle(lane, round, message)
      if (++round.chain.calm >= CALM_TURNS && round.chain.isSlow) rehabilitate(lane, round.chain)
      else next(lane)
    },
    /** Rejects every round of the lane, or only those of `of`, a chain with no round running. */
    giveUp(lane: Lane, why: (round: QueuedRound) => Error, of?: Registered): void {
      const isOfIt = ({ chain }: QueuedRound) => of === undefined || chain === of
      for (const round of [...(lane.running ? [lane.running] : []), ...lane.rounds].filter(isOfIt)) round.settled.reject(why(round))
      if (of === undefined) lane.running = undefined
      lane.rounds = lane.rounds.filter((round) => !isOfIt(round))
    },
  }
}

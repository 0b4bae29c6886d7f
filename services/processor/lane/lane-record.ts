/** What the main thread knows about a lane, the chains that run in it, and their rounds. */
import type { Worker } from 'node:worker_threads'
import type { CallWatch } from '../../../shared/smartmodule/host/call-watch.ts'
import type { FailureBook } from './failure-book.ts'
import type { Quarantine } from './quarantine.ts'
import type { LaneChain, PartitionOutcome, RoundPartition } from './messages.ts'

/** The outcomes of a round, and what is left of it to run later. */
export type LaneRound = { outcomes: PartitionOutcome[]; rest: RoundPartition[] }

/** A round that waits for its turns, or has had some of them. */
export type QueuedRound = {
  chain: Registered
  /** Parts that no lane has run yet. */
  waiting: RoundPartition[]
  /** What some of its parts need and is still to come: it is run again as a whole, later. */
  awaits?: string
  outcomes: PartitionOutcome[]
  /** What was left when the output became too large. */
  rest: RoundPartition[]
  outputBytesLeft: number
  roundId: number
  settled: PromiseWithResolvers<LaneRound>
}

export type Registered = {
  id: number
  spec: LaneChain
  failureBook: FailureBook
  quarantine: Quarantine
  opening: PromiseWithResolvers<void>
  failure?: Error
  isSlow: boolean
  /** Turns in a row that were not slow. */
  calm: number
  /** Lanes in a row that crashed while running it. */
  crashes: number
}

export type Lane = {
  worker: Worker
  /** Known once the thread is up. */
  threadId: number | undefined
  /** Its thread has been given the lowest priority. */
  hasSteppedBack: boolean
  watch: CallWatch
  seen: number
  /** Watchdog ticks at which the same call was still under way. */
  ticks: number
  /** CPU time of the thread when the call was first seen. */
  cpuAtFirst: number | undefined
  /** Watchdog ticks since the current turn began. */
  turnTicks: number
  chains: Map<number, Registered>
  /** Chains that it was told to open, and has not said how that went. */
  opening: number
  /** Called with each message to it. */
  onPost(): void
  /** Those that wait for a turn. */
  rounds: QueuedRound[]
  running?: QueuedRound
  closed: boolean
}

/** What the main thread keeps of a lane, of the chains that run in it, and of their rounds. */
import type { Worker } from 'node:worker_threads'
import type { CallWatch } from '../../../shared/smartmodule/host/call-watch.ts'
import type { DoubtBook } from './doubts.ts'
import type { LaneChain, PartitionOutcome, RoundPartition } from './messages.ts'

/** What became of a round, and what is left of it to be run again. */
export type LaneRound = { outcomes: PartitionOutcome[]; rest: RoundPartition[] }

export type Job = {
  chain: Registered
  /** Parts that no lane has run yet. */
  waiting: RoundPartition[]
  outcomes: PartitionOutcome[]
  /** Of what was made too much of. */
  rest: RoundPartition[]
  outputBytesLeft: number
  roundId: number
  settled: PromiseWithResolvers<LaneRound>
}

export type Registered = {
  id: number
  spec: LaneChain
  doubts: DoubtBook
  opening: PromiseWithResolvers<void>
  failure?: Error
  isSlow: boolean
  /** Turns in a row that were not slow. */ calm: number
  /** Lanes in a row that it cost without a word of the module. */ crashes: number
}

export type Lane = {
  worker: Worker
  /** Known once the thread is up. */ threadId: number | undefined
  /** Runs only when nobody else wants the core. */ isBack: boolean
  watch: CallWatch
  seen: number
  /** Looks of the watchdog at which the same call was still under way. */ ticks: number
  /** CPU time of the thread when the call was first seen. */ cpuAtFirst: number | undefined
  /** Looks since the turn under way began. */ turnTicks: number
  chains: Map<number, Registered>
  jobs: Job[]
  running?: Job
  closed: boolean
}

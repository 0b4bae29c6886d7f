/**
 * The rounds of one assignment: fetch → chain → write; the chain of a round runs while the one before it is written. Ends when the
 * assignment is void, when the task pauses or stops, or when a job is done. If it throws, all uncommitted rounds are dropped.
 * HOT: work per round.
 */
import type { OpenSink } from '../../../../shared/connectors/sink.ts'
import type { Cluster, Connections, TopicLayout } from '../../../../shared/kafka/cluster.ts'
import type { Assignment } from '../../../../shared/kafka/membership.ts'
import type { FetchBatches } from '../../../../shared/kafka/wire/fetch.ts'
import { COUNTER, COUNTER_COUNT } from '../../../../shared/model/counters.ts'
import type { JobInput } from '../../../../shared/model/definition.ts'
import { interruptionOf, isInDoubt, type Interruption } from '../../interruption.ts'
import type { PartitionOutcome, RoundPartition } from '../../lane/messages.ts'
import type { Transactions } from '../../transaction/transactions.ts'
import type { ByteBudget } from '../byte-budget.ts'
import type { PlannedRange } from '../positions.ts'
import type { Progress } from '../progress.ts'
import type { Revisions } from '../revisions.ts'
import type { Running } from '../running.ts'
import type { Targets } from '../targets.ts'
import { openFetcher, type FetchedRound } from './fetch.ts'
import type { Skipping } from './fetch-progress.ts'
import { createJobRate } from './job-rate.ts'
import type { RoundSize } from './round-size.ts'
import { createRoundsUnderWay } from './rounds-under-way.ts'
import { openRowWriter } from './row-writer.ts'
import { createTopicWriter } from './topic-writer.ts'

export type RoundsOptions = {
  cluster: Cluster
  transactions: Transactions
  targets: Targets
  fetch: FetchBatches
  fetchConnections: Connections
  budget: ByteBudget
  roundBytesMax: number
  /** Kept by the task: adapted to how long earlier transactions took. */
  size: RoundSize
  revisions: Revisions
  progress: Progress
  layout: TopicLayout
  owned: Assignment
  /** Owned partitions whose targets have no leader at the moment. */
  aside: readonly number[]
  /** Positions of the owned partitions; they move with every commit. */
  positions: Map<number, bigint>
  /** The revision whose chain runs: the current one, or one that finishes what it has planned. */
  running(): Running
  /** The assignment is valid, and nothing asks the task to pause or to stop. */
  isAtWork(): boolean
  /** The assignment is still valid, even while the task is being paused or stopped. */
  isOwner(): boolean
  /** An external sink. `planned`: these ranges are written and nothing else. */
  rows: { sink: OpenSink; planned: ReadonlyMap<number, PlannedRange>; isPatient(): boolean } | undefined
  /** Called with the reason while the sink is unavailable, with null once it has answered. */
  onWaiting(reason: string | null): void
  /** Called when expired records were skipped. */
  onSkipped: Skipping['onSkipped']
  /** Aborted when a stop has waited long enough for an external sink. */
  writesOver: AbortSignal
  now: () => number
}

/** A round whose output became too large for one transaction: it is run and committed a part at a time. */
type Cut = { round: FetchedRound; rest: RoundPartition[]; done: number }

/** How often a sink's time boundary is checked. */
const BOUNDARY_LOOK_MS = 100
/** How often a task whose sink is a topic looks whether it has passed nothing but control batches for long. */
const QUIET_LOOK_MS = 5000
/** Another member has the rest of a job's partitions for a moment. */
const OTHERS_LOOK_MS = 1000

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const recordsOf = (outcomes: readonly PartitionOutcome[]): number => outcomes.reduce((sum, { records }) => sum + records, 0)

function failedOf({ counts }: PartitionOutcome): number {
  let failed = 0
  for (let at = COUNTER.failed; at < counts.length; at += COUNTER_COUNT) failed += counts[at]!
  return failed
}

/**
 * Whether output of earlier rounds is still written when this round is interrupted: where only partitions or records of this round are in
 * the way.
 */
const keepsOutput = ({ kind }: Interruption): boolean => kind === 'partitions_aside' || kind === 'retry_later'

/** True when a job is done. */
export async function runRounds(options: RoundsOptions): Promise<boolean> {
  const { isAtWork, isOwner, layout, owned, positions, progress, revisions, rows, running } = options
  const { job } = running().definition
  /** Only ranges that were planned before are written: up to their ends, and by the revision that planned them. */
  const isRecovery = rows !== undefined && rows.planned.size > 0
  const hasNext = () => !isRecovery && revisions.hasNext()
  const rate = createJobRate(job?.records_per_second_max ?? null, options.roundBytesMax, isAtWork)
  const fetcher = openFetcher({
    ...options,
    connections: options.fetchConnections,
    positions: new Map(positions),
    roundBytesMax: rate.roundBytesMax,
    skipping: {
      onSkipped: options.onSkipped,
      // The current revision decides.
      startsOf: async (partitions) =>
        running().definition.on_lost_position === 'earliest' ? options.cluster.offsets(layout, partitions, 'earliest') : new Map(),
    },
    until: isRecovery ? plannedEnds(owned, positions, rows.planned) : job && jobEnds(owned, job),
  })
  progress.onFetcher(fetcher)
  const stopped = new AbortController()
  const around = { ...options, onCommit: progress.onCommit, hasNext, signal: AbortSignal.any([stopped.signal, options.writesOver]) }
  const writer = rows ? openRowWriter({ ...around, ...rows, topicId: layout.topicId }) : createTopicWriter(around)
  /** A time boundary can be reached without a new record. */
  const timer = isRecovery ? undefined : setInterval(() => writer.isDue() && fetcher.interrupt(), rows ? BOUNDARY_LOOK_MS : QUIET_LOOK_MS)
  const underWay = createRoundsUnderWay(progress.onInFlight)
  let writing: Promise<void> = Promise.resolve()
  let inputBytes = 0
  let cut: Cut | undefined

  try {
    while (isAtWork()) {
      const waitMs = cut ? 0 : writer.waitMs(inputBytes)
      if (waitMs > 0) await sleep(waitMs)
      const round = cut?.round ?? (await fetcher.take())
      if (round) underWay.add(round)
      if (hasNext()) {
        // Between two rounds: nothing is under way, and what was fetched goes through the next revision.
        await writing
        if (!isAtWork()) break
        // Rows of one revision are not mixed with those of the next.
        await writer.flush(running(), true)
        await revisions.swap()
      }
      if (!round) {
        await writing
        const isDone = fetcher.isDone()
        if (isDone || (!isRecovery && writer.isDue())) await writer.flush(running(), isDone)
        if (!isDone) continue
        if (isRecovery) return false
        // The member that has all partitions says that the job is done.
        if (owned.partitions.length === layout.leaders.length) return true
        await sleep(OTHERS_LOOK_MS)
        return false
      }
      inputBytes = round.bytes
      const current = running()
      const startedAt = performance.now()
      const { outcomes, rest } = await current.chain.run(cut?.rest ?? lanePartsOf(round), options.size.bytesMax())
      const records = recordsOf(outcomes)
      cut = rest.length > 0 ? { round, rest, done: (cut?.done ?? 0) + records } : undefined
      underWay.setDone(cut?.done ?? 0)
      const isWhole = cut === undefined
      await writing
      if (!isAtWork()) break
      if (!job) revisions.threshold().check(outcomes.map((each) => [each.partition, each.nextOffset, each.records, failedOf(each)]))
      await rate.wait(records, startedAt)
      if (!isAtWork()) break
      writing = writer.take(current, outcomes, inputBytes, () => isWhole && underWay.close(round))
      writing.catch(() => fetcher.close())
    }
    // A pause or a stop flushes what is held, but must not cut an earlier planned range short.
    await writing
    if (!isRecovery && isOwner()) await writer.flush(running(), true)
  } catch (error) {
    // A failed commit closes the fetcher: throw the commit's error instead. A fetcher closed by an interrupt is no failure.
    await writing
    const interruption = interruptionOf(error)
    if (keepsOutput(interruption) && isOwner()) await writer.flush(running(), true)
    // A flush before a pause may have left a transaction open: the next run must not go on in it.
    if (isAtWork() || isInDoubt(interruption)) throw error
  } finally {
    clearInterval(timer)
    fetcher.close()
    progress.onFetcher(undefined)
    // Another member owns it by now: what is being written would be refused or repeated anyway.
    if (!isOwner()) stopped.abort()
    await writing.catch(() => {})
    stopped.abort()
    writer.drop()
    underWay.closeAll()
  }
  await writing
  return false

  function lanePartsOf({ batches }: FetchedRound): RoundPartition[] {
    const recordsMax = rate.recordsMax(batches.length)
    return batches.map((each) => toLane(each, recordsMax))
  }

  function toLane(
    { partition, position, nextOffset, bytes, length, aborted }: FetchedRound['batches'][number],
    recordsMax: number | undefined,
  ): RoundPartition {
    return {
      topicId: layout.topicId,
      partition,
      sinkPartition: partition % (options.targets.sink?.leaders.length ?? Number.POSITIVE_INFINITY),
      deadLetterPartition: partition % options.targets.deadLetter.leaders.length,
      position,
      nextOffset,
      ...(isRecovery ? { until: nextOffset } : {}),
      bytes,
      length,
      aborted,
      ...(recordsMax === undefined ? {} : { recordsMax }),
    }
  }
}

/** A job reads each partition up to the end of its last range; partitions without ranges are not read. */
function jobEnds({ partitions }: Assignment, { ranges }: JobInput): Map<number, bigint> {
  const endOf = (partition: number) => (ranges[String(partition)] ?? []).map(([, until]) => BigInt(until))
  return new Map(partitions.map((partition) => [partition, endOf(partition).reduce((most, end) => (end > most ? end : most), 0n)]))
}

/** While planned ranges are being written, partitions without one are not read. */
function plannedEnds(
  { partitions }: Assignment,
  positions: ReadonlyMap<number, bigint>,
  planned: ReadonlyMap<number, PlannedRange>,
): Map<number, bigint> {
  return new Map(partitions.map((partition) => [partition, planned.get(partition)?.to ?? positions.get(partition) ?? 0n]))
}

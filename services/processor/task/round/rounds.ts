/**
 * The rounds of one assignment: fetch → chain → deliver → commit, the chain of a round running while the one before it commits. Ends when
 * the assignment is void, the task pauses or stops, a job has come to its end; throws what broke it, and then every round that was not
 * committed is dropped.
 * HOT: work per round.
 */
import type { Cluster, Connections, TopicLayout } from '../../../../shared/kafka/cluster.ts'
import type { Assignment } from '../../../../shared/kafka/group/membership.ts'
import type { FetchBatches } from '../../../../shared/kafka/wire/fetch.ts'
import type { LedgerEntry } from '../../../../shared/model/definition.ts'
import { COUNTER_COUNT } from '../../../../shared/model/counters.ts'
import type { OpenSink } from '../../../../shared/connectors/sink.ts'
import type { PartitionOutcome, RoundPartition } from '../../lane/messages.ts'
import { freezeAt, type Mutation } from '../../mutation.ts'
import type { ByteBudget } from '../byte-budget.ts'
import type { FailureThreshold } from '../failure-threshold.ts'
import { ledgerBatch } from '../ledger.ts'
import type { Producer } from '../producer.ts'
import type { Running } from '../running.ts'
import { createCommitPace } from './commit-pace.ts'
import { commitRound, type GroupCoordinator } from './commit.ts'
import { deliver, type Targets } from './deliver.ts'
import { openRowWriter, type RowWriter } from './row-writer.ts'
import type { RoundSize } from './round-size.ts'
import { openFetcher, PartitionsAside, type FetchedRound, type Fetcher, type Skipping } from './fetch.ts'

export type RoundsOptions = {
  cluster: Cluster
  connections: Connections
  fetchConnections: Connections
  fetch: FetchBatches
  budget: ByteBudget
  roundBytesMax: number
  /** Of the task: what earlier transactions have shown. */
  size: RoundSize
  coordinator: GroupCoordinator
  producer: Producer
  targets: Targets
  /** Of the owned partitions, those whose records have nowhere to go at the moment. */
  aside: readonly number[]
  /** Of the revision at work. */
  threshold(): FailureThreshold
  layout: TopicLayout
  owned: Assignment
  /** Of the owned partitions, by partition; moves with every commit. */
  positions: Map<number, bigint>
  running(): Running
  /** Takes the next revision over, when there is one. Called between rounds, with none under way. */
  swap(): Promise<void>
  hasNext(): boolean
  isMine(): boolean
  /** The assignment holds, even while the task is being paused or stopped. */
  isOwner(): boolean
  /** Where the sink is no topic. `planned`: these ranges, by the offsets they end at, are to be written before anything else. */
  rows?: { sink: OpenSink; planned: ReadonlyMap<number, bigint>; withLetters: ReadonlySet<number>; isPatient(): boolean }
  /** The sink is away, and why; null once it has answered. */
  onWaiting(reason: string | null): void
  /** Records that had expired were passed over. */
  onSkipped: Skipping['onSkipped']
  onFetcher(fetcher: Fetcher | undefined): void
  onCommit(records: number): void
  /** Records fetched and not committed. */
  onInFlight(records: number): void
  now: () => number
  mutation?: Mutation
}

/** An idle task commits its first round at once, later ones below this size at the task's pace (a transaction has a price at the broker). */
const SMALL_ROUND_BYTES = 256 << 10
/** Progress over control batches alone is committed once a minute. */
const QUIET_COMMIT_MS = 60_000
/** Of a job with a rate limit. */
const SLOW_ROUND_BYTES = 64 << 10

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** How often a sink's boundary in time is looked for. */
const BOUNDARY_LOOK_MS = 100

const FAILED = 4

const bytesOf = (batches: readonly { length: number }[]): number => batches.reduce((sum, { length }) => sum + length, 0)

function failedOf({ counts }: PartitionOutcome): number {
  let failed = 0
  for (let at = FAILED; at < counts.length; at += COUNTER_COUNT) failed += counts[at]!
  return failed
}

/** Answers true when a job is done. */
export async function runRounds(options: RoundsOptions): Promise<boolean> {
  const { connections, coordinator, isMine, layout, mutation, now, owned, positions, producer, targets } = options
  const { job } = options.running().definition
  const rate = job?.records_per_second_max ?? null
  const fetching = openFetcher({
    fetch: options.fetch,
    connections: options.fetchConnections,
    layout,
    positions: new Map(positions),
    aside: options.aside,
    budget: options.budget,
    roundBytesMax: rate === null ? options.roundBytesMax : SLOW_ROUND_BYTES,
    skipping: {
      onSkipped: options.onSkipped,
      // As the revision at work wants it.
      startsOf: async (partitions) =>
        options.running().definition.on_lost_position === 'earliest' ? options.cluster.offsets(layout, partitions, 'earliest') : new Map(),
    },
    until: options.rows && options.rows.planned.size > 0 ? plannedEnds(options) : job && untilOf(owned, job.ranges),
  })
  options.onFetcher(fetching)
  const open = new Set<FetchedRound>()
  const inFlight = () => {
    let records = 0
    for (const { batches } of open) for (const batch of batches) records += batch.records
    // Of a round that was cut, what is committed is in flight no more.
    if (cut) records = Math.max(0, records - cut.done)
    options.onInFlight(records)
  }
  let committing: Promise<void> = Promise.resolve()
  let lastCommitAt = 0
  let lastBytes = 0
  const pace = createCommitPace()
  /** Of a round whose output became too large for one transaction: it is run and committed a part at a time. */
  let cut: { round: FetchedRound; rest: RoundPartition[]; done: number } | undefined
  const quiet = new Map<number, bigint>()

  /** Entries for the partitions that this revision commits for the first time. */
  function ledgerOf({ definition, accounting }: Running, partitions: number[]): LedgerEntry[] {
    if (job) return []
    return partitions
      .filter((partition) => accounting.revisionOf(partition) !== definition.revision)
      .map((partition) => ({
        pipeline_id: definition.pipeline_id,
        partition,
        revision: definition.revision,
        from_offset: String(positions.get(partition) ?? 0n),
        at: new Date(now()).toISOString(),
      }))
  }

  const isRecovery = options.rows !== undefined && options.rows.planned.size > 0
  const stopped = new AbortController()
  const rowWriter =
    options.rows &&
    openRowWriter({
      ...options.rows,
      topicId: layout.topicId,
      cluster: options.cluster,
      connections,
      coordinator,
      producer,
      targets,
      owned,
      positions,
      ledgerOf: (running, partitions) => {
        const entries = ledgerOf(running, partitions)
        return entries.length > 0 ? ledgerBatch(entries, now()) : undefined
      },
      onWritten: options.onCommit,
      isMine,
      // A planned range is finished by the revision that planned it.
      hasNext: () => !isRecovery && options.hasNext(),
      onWaiting: options.onWaiting,
      budget: options.budget,
      now,
      signal: stopped.signal,
    })

  /** A boundary in time comes without a record. */
  const timer = !rowWriter || isRecovery ? undefined : setInterval(() => rowWriter.isDue() && fetching.interrupt(), BOUNDARY_LOOK_MS)

  /** All of it has been run and committed, or handed over. */
  function close(round: FetchedRound): void {
    round.release()
    open.delete(round)
    inFlight()
  }

  async function finishRows(writer: RowWriter, running: Running, outcomes: PartitionOutcome[], done?: FetchedRound): Promise<void> {
    writer.hold(outcomes)
    if (done) close(done)
    // A range that was planned is written as a whole, at its end.
    if (!isRecovery && writer.isDue()) await writer.flush(running, false)
  }

  async function write(running: Running, outcomes: PartitionOutcome[]): Promise<void> {
    const { definition, accounting } = running
    const none = new Float64Array(Math.max(1, definition.steps.length) * COUNTER_COUNT)
    const countsOf = new Map(outcomes.map(({ partition, counts }) => [partition, counts]))
    const offsets = [...quiet].map(([partition, offset]) => ({
      partition,
      offset,
      metadata: accounting.metadataWith(partition, countsOf.get(partition) ?? none),
    }))
    const entries = ledgerOf(
      running,
      offsets.map(({ partition }) => partition),
    )
    const ledger = entries.length > 0 ? ledgerBatch(entries, now()) : undefined
    const target = { groupId: definition.group_id, topic: definition.source_topic, assignment: owned }
    if (mutation === 'skip_dropped_round') for (const { partition, offset } of offsets) positions.set(partition, offset)
    freezeAt('freeze_before_output', mutation)
    // D1: the offsets join the transaction of the output, after all of it was acknowledged.
    if (mutation !== 'commit_before_output') {
      const firstMs = await deliver(connections, outcomes, ledger, targets, producer, mutation)
      if (firstMs !== undefined && lastBytes < SMALL_ROUND_BYTES) pace.firstTook(firstMs)
    }
    freezeAt('freeze_before_offsets', mutation)
    await commitRound(options.cluster, connections, coordinator, target, offsets, producer, mutation)
    freezeAt('freeze_after_commit', mutation)
    if (mutation === 'commit_before_output') await sleep(100)
    if (mutation === 'commit_before_output' && (await deliver(connections, outcomes, ledger, targets, producer)) !== undefined)
      await producer.end(true)
    for (const { partition } of offsets) accounting.add(partition, countsOf.get(partition) ?? none)
    if (mutation === 'count_twice') for (const [partition, counts] of countsOf) accounting.add(partition, counts)
    for (const { partition, offset } of offsets) positions.set(partition, offset)
    quiet.clear()
    running.chain.recycle(outcomes)
  }

  async function finish(running: Running, outcomes: PartitionOutcome[], done?: FetchedRound): Promise<void> {
    for (const outcome of outcomes) quiet.set(outcome.partition, outcome.nextOffset)
    const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0)
    if (records > 0 || now() - lastCommitAt > QUIET_COMMIT_MS || (job && fetching.isDone())) {
      const bytes = outcomes.reduce((sum, { sink, deadLetters }) => sum + bytesOf(sink) + bytesOf(deadLetters), 0)
      const startedAt = now()
      options.budget.use(bytes)
      try {
        await write(running, outcomes)
      } finally {
        options.budget.give(bytes)
        options.size.took(now() - startedAt)
      }
      lastCommitAt = now()
    }
    if (done) close(done)
    options.onCommit(records)
  }

  try {
    while (isMine()) {
      const since = now() - lastCommitAt
      if (!cut && lastBytes < SMALL_ROUND_BYTES && since < pace.intervalMs()) await sleep(pace.intervalMs() - since)
      const round = cut?.round ?? (await fetching.take())
      if (round) open.add(round)
      inFlight()
      // A range that was planned by one revision is written as a whole; the next one comes after it.
      if (options.hasNext() && !isRecovery) {
        // A hot swap happens at a round's border: nothing is under way, and what was fetched goes through the next revision.
        await committing
        if (!isMine()) break
        // What was made by one revision is not mixed with the next one's.
        await rowWriter?.flush(options.running(), true)
        await options.swap()
      }
      if (!round) {
        await committing
        if (rowWriter && (fetching.isDone() || (!isRecovery && rowWriter.isDue())))
          await rowWriter.flush(options.running(), fetching.isDone())
        if (!fetching.isDone()) continue
        if (isRecovery) return false
        if (owned.partitions.length === layout.leaders.length) return true
        // Another member has the rest for a moment: whoever has all of it says that the job is done.
        await sleep(1000)
        return false
      }
      lastBytes = round.bytes
      const running = options.running()
      const startedAt = now()
      freezeAt('freeze_before_chain', mutation)
      const { outcomes, rest } = await running.chain.run(cut?.rest ?? round.batches.map(toLane), options.size.bytesMax())
      const before = cut?.done ?? 0
      cut = rest.length > 0 ? { round, rest, done: before + outcomes.reduce((sum, outcome) => sum + outcome.records, 0) } : undefined
      const done = cut ? undefined : round
      await committing
      if (!isMine()) break
      if (!job)
        options.threshold().check(outcomes.map((outcome) => [outcome.partition, outcome.nextOffset, outcome.records, failedOf(outcome)]))
      // The rate holds from the first record on: what came in one batch waits for its turn as a whole.
      if (rate !== null) await pause((outcomes.reduce((sum, outcome) => sum + outcome.records, 0) * 1000) / rate - (now() - startedAt))
      if (!isMine()) break
      committing = rowWriter ? finishRows(rowWriter, running, outcomes, done) : finish(running, outcomes, done)
      committing.catch(() => fetching.close())
    }
    // A pause or a stop drains; a range that was planned earlier is not to be cut short.
    await committing
    if (rowWriter && !isRecovery && options.isOwner()) await rowWriter.flush(options.running(), true)
    // Control batches alone: behind them retention may move the log's start, and nothing was lost.
    if (!rowWriter && quiet.size > 0 && options.isOwner()) await write(options.running(), [])
  } catch (error) {
    // A fetcher closed by an interrupt, or by a failed commit, is no failure of its own.
    await committing
    // What the others have made must not be made again and again while some partitions are looked for.
    if (error instanceof PartitionsAside && rowWriter && options.isOwner()) await rowWriter.flush(options.running(), true)
    if (isMine()) throw error
  } finally {
    clearInterval(timer)
    fetching.close()
    options.onFetcher(undefined)
    // Somebody else's by now: what is being written would be refused or repeated anyway.
    if (!options.isOwner()) stopped.abort()
    await committing.catch(() => {})
    stopped.abort()
    rowWriter?.drop()
    for (const round of open) round.release()
    options.onInFlight(0)
  }
  await committing
  return false

  function toLane({ partition, position, nextOffset, bytes, length, aborted }: FetchedRound['batches'][number]) {
    return {
      partition,
      sinkPartition: partition % targets.sink.leaders.length,
      deadLetterPartition: partition % targets.deadLetter.leaders.length,
      position,
      nextOffset,
      ...(isRecovery ? { until: nextOffset } : {}),
      bytes,
      length,
      aborted,
    }
  }

  /** In short steps, so that a job that is cancelled ends. */
  async function pause(ms: number): Promise<void> {
    for (const until = now() + ms; isMine() && now() < until;) await sleep(Math.min(100, until - now()))
  }
}

/** A job reads each partition up to the end of its last range, and those without one not at all. */
function untilOf(owned: Assignment, ranges: Record<string, [string, string][]>): Map<number, bigint> {
  return new Map(
    owned.partitions.map((partition) => [
      partition,
      (ranges[String(partition)] ?? []).reduce((most, [, until]) => (BigInt(until) > most ? BigInt(until) : most), 0n),
    ]),
  )
}

/** Partitions without a planned range are not read at all while the others' are being written. */
function plannedEnds({ owned, positions, rows }: RoundsOptions): Map<number, bigint> {
  return new Map(owned.partitions.map((partition) => [partition, rows!.planned.get(partition) ?? positions.get(partition) ?? 0n]))
}

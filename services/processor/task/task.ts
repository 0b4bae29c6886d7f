/**
 * One task: a member of its pipeline's consumer group that runs rounds (fetch → chain → deliver → commit) over the partitions it owns.
 *
 *   starting ─ chain opens, joins, takes the transactional id over ─▶ running ◀──▶ paused
 *   running ─ broken transaction, lost lane, broker away ─▶ re-initialise, replay from the committed offsets ─▶ running
 *   any ─ stop() ─▶ stopped      any ─ refused config, hanging module, lost position ─▶ failed      any ─ fenced ─▶ taken over
 *   starting ─ broker away ─▶ broken (the supervisor starts it again)
 */
import { KafkaError, type Cluster, type TopicLayout } from '../../../shared/kafka/cluster.ts'
import { openMembership, type Assignment, type Membership } from '../../../shared/kafka/group/membership.ts'
import type { FetchBatches } from '../../../shared/kafka/wire/fetch.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { LaneChain, PartitionOutcome } from '../lane/messages.ts'
import { ChainFailed, type Lanes, type OpenChain } from '../lane/lanes.ts'
import { createAccounting } from './accounting.ts'
import type { ByteBudget } from './byte-budget.ts'
import { createProducer, TakenOver, Undeliverable, type Producer } from './producer.ts'
import { AssignmentLost, commitRound, type GroupCoordinator } from './round/commit.ts'
import { deliver, type Targets } from './round/deliver.ts'
import { openFetcher, PositionLost, type FetchedRound, type Fetcher } from './round/fetch.ts'

export type TaskStatus = 'starting' | 'running' | 'paused' | 'stopped' | 'failed'
export type TaskEnd = { kind: 'stopped' } | { kind: 'taken_over' } | { kind: 'failed'; reason: string } | { kind: 'broken'; reason: string }

/** What the outside may see of a task at any moment. */
export type TaskView = {
  status: TaskStatus
  reason: string | null
  partitions: {
    partition: number
    position: bigint
    end: bigint
    steps: ReturnType<ReturnType<typeof createAccounting>['snapshot']>[number]['steps']
  }[]
  recordsDone: number
}

export type Task = { view(): TaskView; setPaused(paused: boolean): void; stop(): Promise<void>; ended: Promise<TaskEnd> }

export type TaskOptions = {
  definition: PipelineDefinition
  index: number
  transactionalId: string
  brokers: string[]
  clientId: string
  cluster: Cluster
  lanes: Lanes
  chain: LaneChain
  budget: ByteBudget
  fetch: FetchBatches
  roundBytesMax: number
  sessionTimeoutMs: number
  now: () => number
  log: (level: 'info' | 'warn', message: string) => void
  onChange: () => void
}

/** An idle task commits its first round at once, later small ones no more often than this (a transaction has a price at the broker). */
const COMMIT_INTERVAL_MS = 50
const SMALL_ROUND_BYTES = 256 << 10
/** Progress over control batches alone is committed once a minute. */
const QUIET_COMMIT_MS = 60_000
const BACKOFF_MAX_MS = 5000

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export function startTask(options: TaskOptions): Task {
  const { definition, cluster, lanes, now } = options
  const accounting = createAccounting(definition.revision, definition.steps.length)
  const connections = cluster.openConnections(`${definition.pipeline_id}-${options.index}`)
  // A long-polling fetch would hold up everything behind it on the same connection.
  const fetchConnections = cluster.openConnections(`${definition.pipeline_id}-${options.index}-fetch`)
  const coordinator: GroupCoordinator = { nodeId: undefined }
  let status: TaskStatus = 'starting'
  let reason: string | null = null
  let paused = definition.desired === 'paused'
  let stopping = false
  let assignment: Assignment | undefined
  let fetcher: Fetcher | undefined
  let positions = new Map<number, bigint>()
  let ends = new Map<number, bigint>()
  let recordsDone = 0
  let wake: (() => void) | undefined

  function become(next: TaskStatus, why: string | null = null): void {
    if (status === next && reason === why) return
    status = next
    reason = why
    options.onChange()
  }

  /** Ends the round loop at its next border. */
  function interrupt(): void {
    fetcher?.close()
    wake?.()
  }

  async function waitUntil(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => (wake = resolve))
  }

  async function layoutOf(topic: string): Promise<TopicLayout> {
    // A topic made a moment ago may not have reached this broker's metadata yet.
    for (const deadline = now() + 10_000; now() < deadline; await sleep(200)) {
      const layout = await cluster.describeTopic(topic)
      if (layout) return layout
    }
    throw new PositionLost(`topic ${topic} does not exist`)
  }

  async function openTargets(): Promise<Targets> {
    const targets: Targets = {
      sink: await layoutOf(definition.sink_topic),
      deadLetter: await layoutOf(definition.dead_letter_topic),
      async refresh() {
        targets.sink = await layoutOf(definition.sink_topic)
        targets.deadLetter = await layoutOf(definition.dead_letter_topic)
      },
    }
    return targets
  }

  /** Where the owned partitions go on, and their counters. A missing position is never guessed. */
  async function loadPositions(owned: Assignment): Promise<Map<number, bigint>> {
    const committed = await cluster.committedOffsets(definition.group_id, definition.source_topic, [...owned.partitions])
    const loaded = new Map<number, bigint>()
    accounting.forget()
    for (const partition of owned.partitions) {
      const found = committed.get(partition)
      if (!found) throw new PositionLost(`partition ${partition} of ${definition.source_topic} has no committed position`)
      loaded.set(partition, found.offset)
      accounting.restore(partition, found.metadata)
    }
    return loaded
  }

  /** Runs rounds until the assignment is void, the task pauses or stops. Throws what broke it. */
  async function runAssignment(owned: Assignment, chain: OpenChain, producer: Producer, targets: Targets): Promise<void> {
    const layout = await layoutOf(definition.source_topic)
    positions = await loadPositions(owned)
    const fetching = openFetcher({
      fetch: options.fetch,
      connections: fetchConnections,
      layout,
      positions: new Map(positions),
      budget: options.budget,
      roundBytesMax: options.roundBytesMax,
    })
    fetcher = fetching
    ends = fetching.ends
    const open = new Set<FetchedRound>()
    const isMine = () => assignment === owned && !paused && !stopping
    let committing: Promise<void> = Promise.resolve()
    let lastCommitAt = 0
    let lastBytes = 0
    const quiet = new Map<number, bigint>()

    async function finish(round: FetchedRound, outcomes: PartitionOutcome[]): Promise<void> {
      for (const outcome of outcomes) quiet.set(outcome.partition, outcome.nextOffset)
      const hasRecords = outcomes.some(({ records }) => records > 0)
      if (hasRecords || now() - lastCommitAt > QUIET_COMMIT_MS) {
        const none = new Float64Array(Math.max(1, definition.steps.length) * 7)
        const countsOf = new Map(outcomes.map(({ partition, counts }) => [partition, counts]))
        const offsets = [...quiet].map(([partition, offset]) => ({
          partition,
          offset,
          metadata: accounting.metadataWith(partition, countsOf.get(partition) ?? none),
        }))
        await deliver(connections, outcomes, targets, producer)
        await commitRound(
          cluster,
          connections,
          coordinator,
          { groupId: definition.group_id, topic: definition.source_topic, assignment: owned },
          offsets,
          producer,
        )
        lastCommitAt = now()
        for (const [partition, counts] of countsOf) accounting.add(partition, counts)
        for (const { partition, offset } of offsets) positions.set(partition, offset)
        quiet.clear()
        chain.recycle(outcomes)
        recordsDone += outcomes.reduce((sum, { records }) => sum + records, 0)
        options.onChange()
      }
      round.release()
      open.delete(round)
    }

    try {
      while (isMine()) {
        const since = now() - lastCommitAt
        if (lastBytes < SMALL_ROUND_BYTES && since < COMMIT_INTERVAL_MS) await sleep(COMMIT_INTERVAL_MS - since)
        const round = await fetching.take()
        open.add(round)
        lastBytes = round.bytes
        const sinkPartitions = targets.sink.leaders.length
        const outcomes = await chain.run(
          round.batches.map(({ partition, position, bytes, length, aborted }) => ({
            partition,
            sinkPartition: partition % sinkPartitions,
            position,
            bytes,
            length,
            aborted,
          })),
        )
        await committing
        if (!isMine()) break
        committing = finish(round, outcomes)
        committing.catch(() => fetching.close())
      }
    } catch (error) {
      // A fetcher closed by an interrupt, or by a failed commit, is no failure of its own.
      await committing
      if (isMine()) throw error
    } finally {
      fetching.close()
      fetcher = undefined
      await committing.catch(() => {})
      for (const round of open) round.release()
    }
    await committing
  }

  async function startOver(producer: Producer, chainFailure: unknown): Promise<void> {
    const message = chainFailure instanceof Error ? chainFailure.message : String(chainFailure)
    options.log('warn', `round dropped, replaying from the committed offsets: ${message}`)
    coordinator.nodeId = undefined
    await producer.initialise(false)
  }

  /** Errors that no repetition mends: the pipeline is failed with this reason. */
  function isFinal(error: unknown): boolean {
    return (
      error instanceof ChainFailed ||
      error instanceof PositionLost ||
      error instanceof Undeliverable ||
      (error instanceof Error && error.message.startsWith('accounting of'))
    )
  }

  async function run(): Promise<TaskEnd> {
    let membership: Membership | undefined
    let chain: OpenChain | undefined
    try {
      chain = await lanes.open(options.chain)
      const targets = await openTargets()
      membership = await openMembership({
        brokers: options.brokers,
        clientId: options.clientId,
        groupId: definition.group_id,
        topic: definition.source_topic,
        sessionTimeoutMs: options.sessionTimeoutMs,
        heartbeatMs: Math.min(1000, Math.floor(options.sessionTimeoutMs / 6)),
        onAssigned(next) {
          assignment = next
          interrupt()
        },
        onRevoked() {
          assignment = undefined
          interrupt()
        },
        onError: (error) => options.log('warn', `group membership: ${error.message}`),
      })
      const producer = createProducer(cluster, connections, options.transactionalId)
      await producer.initialise(true)
      let backoffMs = 100
      let isBroken = false
      while (!stopping) {
        become(paused ? 'paused' : 'running')
        await waitUntil(() => stopping || (assignment !== undefined && !paused))
        if (stopping || !assignment) continue
        const owned = assignment
        try {
          if (isBroken) await producer.initialise(false)
          isBroken = false
          become('running')
          const before = recordsDone
          await runAssignment(owned, chain, producer, targets)
          if (recordsDone > before) backoffMs = 100
        } catch (error) {
          if (error instanceof TakenOver) return { kind: 'taken_over' }
          if (isFinal(error)) return { kind: 'failed', reason: messageOf(error) }
          if (error instanceof AssignmentLost && assignment === owned) assignment = undefined
          isBroken = true
          become('running', `retrying: ${messageOf(error)}`)
          await startOver(producer, error).then(
            () => (isBroken = false),
            (again: unknown) => {
              if (again instanceof TakenOver) throw again
              options.log('warn', `the producer can't be re-initialised yet: ${messageOf(again)}`)
            },
          )
          await sleep(backoffMs)
          backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
        }
      }
      return { kind: 'stopped' }
    } catch (error) {
      if (error instanceof TakenOver) return { kind: 'taken_over' }
      return { kind: isFinal(error) ? 'failed' : 'broken', reason: messageOf(error) }
    } finally {
      assignment = undefined
      chain?.close()
      await membership?.close()
      await Promise.allSettled([connections.close(), fetchConnections.close()])
    }
  }

  const ended = run().then((end) => {
    if (end.kind === 'broken') become('starting', `retrying: ${end.reason}`)
    else become(end.kind === 'failed' ? 'failed' : 'stopped', end.kind === 'failed' ? end.reason : null)
    return end
  })

  return {
    ended,
    view: () => ({
      status,
      reason,
      recordsDone,
      partitions: accounting.snapshot().map(({ partition, steps }) => ({
        partition,
        position: positions.get(partition) ?? 0n,
        end: ends.get(partition) ?? positions.get(partition) ?? 0n,
        steps,
      })),
    }),
    setPaused(next) {
      if (paused === next) return
      paused = next
      interrupt()
    },
    async stop() {
      stopping = true
      interrupt()
      await ended
    },
  }
}

function messageOf(error: unknown): string {
  if (error instanceof KafkaError) return error.message
  return error instanceof Error ? error.message : String(error)
}

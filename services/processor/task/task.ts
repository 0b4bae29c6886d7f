/**
 * One task: a member of its pipeline's consumer group that runs rounds (fetch → chain → deliver → commit) over the partitions it owns.
 *
 *   starting ─ chain opens, joins, takes the transactional id over ─▶ running ◀──▶ paused
 *   running ─ broken transaction, lost lane, broker away ─▶ re-initialise, replay from the committed offsets ─▶ running
 *   running ─ next revision ─▶ running, without leaving the group      running ─ too many records fail ─▶ held back (paused)
 *   any ─ stop() ─▶ stopped      any ─ refused config or record, quarantine, lost position ─▶ failed      any ─ fenced ─▶ taken over
 *   starting ─ broker away ─▶ broken (the supervisor starts it again)      a job ─ at its end ─▶ finished
 */
import type { ConnectorContext } from '../../../shared/connectors/connector.ts'
import type { OpenSink } from '../../../shared/connectors/sink.ts'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { openMembership, type Assignment, type Membership } from '../../../shared/kafka/group/membership.ts'
import type { FetchBatches } from '../../../shared/kafka/wire/fetch.ts'
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { ChainFailed, RetryLater, RoundLost } from '../lane/ends.ts'
import type { Lanes } from '../lane/lanes.ts'
import type { LaneChain } from '../lane/messages.ts'
import type { Mutation } from '../mutation.ts'
import type { ByteBudget } from './byte-budget.ts'
import { isEnvironment, isFinal, reasonOf } from './failures.ts'
import { createFailureThreshold, ThresholdPassed } from './failure-threshold.ts'
import { loadPositions, openTargets, PartitionsChanged, sourceLayout, type Loaded } from './places.ts'
import { createPlanners, tellLettered, type Earlier } from './planners.ts'
import { watchPartitions } from './watch-partitions.ts'
import { openRevision, type Revision, type Running } from './running.ts'
import { openSink, SinkMoved, SinkUnavailable } from './sinks.ts'
import { createProducer, TakenOver, TargetAway, type Producer } from './producer.ts'
import { AssignmentLost, commitRound, type GroupCoordinator } from './round/commit.ts'
import { findAside, type AwayDeadLetters, type Targets } from './round/deliver.ts'
import type { Fetcher } from './round/fetch.ts'
import { createRoundSize } from './round/round-size.ts'
import { runRounds } from './round/rounds.ts'
import type { Task, TaskEnd, TaskStatus } from './task-view.ts'

export type TaskOptions = {
  definition: PipelineDefinition
  index: number
  transactionalId: string
  ledgerTopic: string
  brokers: string[]
  clientId: string
  cluster: Cluster
  lanes: Lanes
  chain: LaneChain
  /** An earlier revision, to finish what it has planned; undefined where it is not known any more. */
  earlier: Earlier
  connectors: ConnectorContext
  budget: ByteBudget
  fetch: FetchBatches
  roundBytesMax: number
  sessionTimeoutMs: number
  now: () => number
  log: (level: 'info' | 'warn', message: string) => void
  onChange: () => void
  mutation?: Mutation
}

const BACKOFF_MAX_MS = 5000
const REPLAY_AFTER_MS = 20
/** Failures in a row that are no matter of the brokers, before the pipeline is failed with their cause. */
const FAILURES_MAX = 20

export function startTask(options: TaskOptions): Task {
  const { cluster, lanes, now, mutation } = options
  const first = options.definition
  const name = `${runIdOf(first)}-${options.index}`
  const connections = cluster.openConnections(name)
  // A long-polling fetch would hold up everything behind it on the same connection.
  const fetchConnections = cluster.openConnections(`${name}-fetch`)
  const coordinator: GroupCoordinator = { nodeId: undefined }
  let status: TaskStatus = 'starting'
  let reason: string | null = null
  let heldBack: string | undefined
  let paused = first.desired === 'paused'
  let stopping = false
  let assignment: Assignment | undefined
  let fetcher: Fetcher | undefined
  const knownEnds = new Map<number, bigint>()
  let running: Running | undefined
  let sink: OpenSink | undefined
  let next: Revision | undefined
  let threshold = createFailureThreshold(first.failure_threshold, now)
  let positions = new Map<number, bigint>()
  let recordsDone = 0
  let inFlight = 0
  let hasRun = false
  const awayDeadLetters: AwayDeadLetters = new Set()
  let wake: (() => void) | undefined
  const size = createRoundSize(options.roundBytesMax)
  const planners = createPlanners(
    options.earlier,
    (definition) => openSink(definition, { ...options.connectors, fields: definition.sink?.fields }),
    (message) => options.log('warn', message),
    now,
  )

  function become(to: TaskStatus, why: string | null = null): void {
    if (status === to && reason === why) return
    status = to
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

  /** Sleeps unless something happens: a stop, a pause, another assignment or revision does not wait for a backoff. */
  async function pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      wake = resolve
      timer = setTimeout(resolve, ms)
    })
    clearTimeout(timer)
  }

  const isHeld = () => paused || heldBack !== undefined
  const isReset = () => next !== undefined && running !== undefined && next.definition.reset_revision > running.definition.reset_revision

  const openRunning = (revision: Revision, to: OpenSink | undefined, targets: Targets, partitions: number): Promise<Running> =>
    openRevision({ lanes, mutation, before: running?.accounting }, revision, to, targets, partitions)

  /** Takes the next revision over; nothing is under way. Throws ChainFailed when its chain does not start. */
  async function swap(targets: Targets, partitions: number): Promise<void> {
    const coming = next
    if (!coming || !running) return
    next = undefined
    const before = running
    running = await openRunning(coming, sink, targets, partitions)
    before.chain.close()
    threshold = createFailureThreshold(coming.definition.failure_threshold, now)
    options.log('info', `revision ${coming.definition.revision} took over from ${before.definition.revision}`)
    options.onChange()
  }

  async function runAssignment(
    owned: Assignment,
    producer: Producer,
    targets: Targets,
    partitions: number,
    keep: boolean,
  ): Promise<boolean> {
    const { definition, accounting } = running!
    const layout = await sourceLayout(cluster, definition, now)
    let planned: Loaded['planned'] = new Map()
    if (!keep) {
      const loaded = await loadPositions(cluster, definition, layout, owned, accounting, sink, mutation)
      ;({ positions, planned } = loaded)
      const target = { groupId: definition.group_id, topic: definition.source_topic, assignment: owned }
      if (loaded.unmirrored.length > 0) await commitRound(cluster, connections, coordinator, target, loaded.unmirrored, producer)
    }
    const aside = await findAside(owned.partitions, targets, !sink && !running!.isByKey, awayDeadLetters)
    if (aside.length > 0) become('running', `waiting: what partitions ${aside.join(', ')} write to has no leader; the others go on`)
    const rounds = (ranges: ReadonlyMap<number, bigint>, withLetters: ReadonlySet<number>, to = sink, current = () => running!) =>
      runRounds({
        cluster,
        connections,
        fetchConnections,
        fetch: options.fetch,
        budget: options.budget,
        roundBytesMax: options.roundBytesMax,
        size,
        coordinator,
        producer,
        targets,
        aside,
        threshold: () => threshold,
        layout,
        owned,
        positions,
        running: current,
        swap: () => swap(targets, partitions),
        hasNext: () => next !== undefined,
        // Positions that were set from outside are loaded anew, not taken over between two rounds.
        isMine: () => assignment === owned && !isHeld() && !stopping && !isReset(),
        isOwner: () => assignment === owned,
        rows: to && { sink: to, planned: ranges, withLetters, isPatient: () => planners.isPatient(current()) },
        onWaiting: (why) => become('running', why === null ? null : `retrying: ${why}`),
        onSkipped: (partition, from, to) => options.log('warn', `partition ${partition}: ${from} to ${to} had expired and were skipped`),
        onFetcher(open) {
          // A partition that is not read at the moment lags all the same.
          for (const [partition, end] of fetcher?.ends ?? []) knownEnds.set(partition, end)
          fetcher = open
        },
        onInFlight: (records) => (inFlight = records),
        onCommit(records) {
          recordsDone += records
          options.onChange()
        },
        now,
        mutation,
      })
    // Ranges that were planned and perhaps written go first, exactly as they were planned.
    const reachable = [...planned].filter(([partition]) => layout.leaders[partition]! >= 0 && !aside.includes(partition))
    for (const [revision, ranges] of Map.groupBy(reachable, ([, { revision: own }]) => own)) {
      const at = await planners.open(revision, running!, (found, to) => openRunning(found, to, targets, partitions))
      await tellLettered(cluster, connections, at, { layout, targets, positions }, ranges)
      const withLetters = ranges.filter(([, { lettersFrom }]) => lettersFrom !== undefined).map(([partition]) => partition)
      await rounds(new Map(ranges.map(([partition, { to }]) => [partition, to])), new Set(withLetters), at.sink, () => at).catch(
        (error: unknown) => {
          // Written by the revision at work, from the start of a run.
          throw planners.mayGoOn(at, error) ? new SinkMoved('a planned range goes to the sink as it is now') : error
        },
      )
      await planners.close()
      if (assignment !== owned || isHeld() || stopping) return false
    }
    await planners.close()
    return rounds(new Map(), new Set())
  }

  let partitionsChanged = false

  async function run(): Promise<TaskEnd> {
    let membership: Membership | undefined
    let poll: NodeJS.Timeout | undefined
    try {
      const targets = await openTargets(cluster, first, options.ledgerTopic, now)
      const partitions = (await sourceLayout(cluster, first, now)).leaders.length
      sink = await openSink(first, options.connectors)
      running = await openRunning({ definition: first, chain: options.chain }, sink, targets, partitions)
      membership = await openMembership({
        brokers: options.brokers,
        clientId: options.clientId,
        groupId: first.group_id,
        topic: first.source_topic,
        connection: cluster.connectionOptions,
        sessionTimeoutMs: options.sessionTimeoutMs,
        heartbeatMs: Math.min(700, Math.floor(options.sessionTimeoutMs / 6)),
        onAssigned(given) {
          assignment = given
          options.log('info', `owns partitions ${given.partitions.join(',') || 'none'} in generation ${given.generationId}`)
          interrupt()
        },
        onRevoked() {
          assignment = undefined
          interrupt()
        },
        onError: (error) => options.log('warn', `group membership: ${error.message}`),
      })
      const producer = createProducer(cluster, connections, options.transactionalId, mutation)
      await producer.initialise(true)
      hasRun = true
      poll = watchPartitions(cluster, first, partitions, targets.sink.leaders.length, () => {
        partitionsChanged = true
        interrupt()
      })
      return await runAssignments(producer, targets, partitions)
    } catch (error) {
      if (error instanceof TakenOver) return { kind: 'taken_over' }
      return endBy(error)
    } finally {
      clearInterval(poll)
      assignment = undefined
      running?.chain.close()
      await planners.close()
      await membership?.close()
      await sink?.close().catch(() => {})
      await Promise.allSettled([connections.close(), fetchConnections.close()])
    }
  }

  async function runAssignments(producer: Producer, targets: Targets, partitions: number): Promise<TaskEnd> {
    let backoffMs = 100
    let failures = 0
    let isBroken = false
    let keep = false
    while (!stopping) {
      if (partitionsChanged) throw new PartitionsChanged('the topics have other partitions now')
      become(isHeld() ? 'paused' : 'running', heldBack ?? null)
      await waitUntil(() => stopping || partitionsChanged || next !== undefined || (assignment !== undefined && !isHeld()))
      if (stopping) break
      if (next) await swap(targets, partitions)
      if (!assignment || isHeld()) continue
      const owned = assignment
      const before = recordsDone
      try {
        if (isBroken && mutation !== 'no_new_epoch') await producer.initialise(false)
        isBroken = false
        become('running')
        if (await runAssignment(owned, producer, targets, partitions, keep)) return { kind: 'finished' }
        keep = false
        backoffMs = 100
        failures = 0
      } catch (error) {
        if (error instanceof TakenOver) throw error
        if (error instanceof TargetAway && error.topic === first.dead_letter_topic) awayDeadLetters.add(error.partition)
        if (recordsDone > before) [backoffMs, failures] = [100, 0]
        // Nothing was being written: the round before was committed, this one only runs again. Lost lanes are bounded by the quarantine.
        if (error instanceof RetryLater || error instanceof RoundLost) {
          await pause(error instanceof RetryLater ? error.afterMs : REPLAY_AFTER_MS)
          continue
        }
        if (error instanceof SinkUnavailable || error instanceof SinkMoved) {
          become('running', `retrying: ${reasonOf(error)}`)
          // The backoff is the task's own, unless the sink asks for a longer one.
          await pause(error instanceof SinkUnavailable ? Math.max(backoffMs, error.afterMs) : REPLAY_AFTER_MS)
          backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
          continue
        }
        if (error instanceof ThresholdPassed) {
          heldBack = error.message
          continue
        }
        if (isFinal(error)) return endBy(error)
        if (!isEnvironment(error) && ++failures >= FAILURES_MAX)
          return { kind: 'failed', reason: `gave up after ${FAILURES_MAX} attempts: ${reasonOf(error)}` }
        if (error instanceof AssignmentLost && assignment === owned) assignment = undefined
        isBroken = true
        keep = mutation === 'skip_dropped_round' && assignment === owned
        become('running', `retrying: ${reasonOf(error)}`)
        isBroken = !(await startOver(producer, targets, error))
        await pause(backoffMs)
        backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
      }
    }
    return { kind: 'stopped' }
  }

  /** After any doubt: a fresh epoch for the own producer id, then replay from the committed offsets. */
  async function startOver(producer: Producer, targets: Targets, cause: unknown): Promise<boolean> {
    options.log('warn', `round dropped, replaying from the committed offsets: ${reasonOf(cause)}`)
    coordinator.nodeId = undefined
    if (mutation === 'no_new_epoch') return true
    // Leaders may have moved without a broker to say so: one that died answers nothing.
    await targets.refresh().catch((error: unknown) => options.log('warn', `the targets' leaders are not known yet: ${reasonOf(error)}`))
    try {
      await producer.initialise(false)
      return true
    } catch (error) {
      if (error instanceof TakenOver) throw error
      options.log('warn', `the producer can't be re-initialised yet: ${reasonOf(error)}`)
      return false
    }
  }

  function endBy(error: unknown): TaskEnd {
    if (isFinal(error)) {
      const quarantined = error instanceof ChainFailed ? error.quarantined : undefined
      return { kind: 'failed', reason: reasonOf(error), ...(quarantined ? { quarantined } : {}) }
    }
    return { kind: 'broken', reason: reasonOf(error), isEnvironment: isEnvironment(error) || error instanceof PartitionsChanged }
  }

  const ended = run().then((end) => {
    if (end.kind === 'broken') become('starting', `retrying: ${end.reason}`)
    else if (end.kind === 'failed') become('failed', end.reason)
    else become(end.kind === 'finished' ? 'finished' : 'stopped')
    return end
  })

  return {
    ended,
    view: () => ({
      status,
      reason,
      revision: running?.definition.revision ?? first.revision,
      heldBack: heldBack !== undefined,
      inFlight,
      recordsDone,
      hasRun,
      partitions: (running?.accounting.snapshot() ?? []).map(({ partition, steps, totals }) => ({
        partition,
        position: positions.get(partition) ?? 0n,
        end: fetcher?.ends.get(partition) ?? knownEnds.get(partition) ?? positions.get(partition) ?? 0n,
        steps,
        totals,
      })),
    }),
    setPaused(to) {
      if (paused === to) return
      paused = to
      // Whoever resumes has seen why the task held itself back.
      if (!to) {
        heldBack = undefined
        threshold = createFailureThreshold((running?.definition ?? first).failure_threshold, now)
      }
      interrupt()
    },
    update(definition, chain) {
      if (definition.revision <= (next?.definition ?? running?.definition ?? first).revision) return
      next = { definition, chain }
      fetcher?.interrupt()
      wake?.()
    },
    async stop() {
      stopping = true
      interrupt()
      await ended
    },
  }
}

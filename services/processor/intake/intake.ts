/**
 * The intake: a member of a group of its own on the pipeline's intake topic. Whoever owns partition s reads split s of the source; what
 * was read and the position behind it go into one transaction. D1: a position is never durable before its records. Leases, fencing and
 * failover are the group's.
 *
 *   starting ─ opens the source, joins, takes the transactional id over ─▶ running ◀──▶ paused
 *   running ─ anything in doubt ─▶ re-initialise, read again from the committed positions      any ─ stop() ─▶ stopped
 *   any ─ a config that can't work, a lost position ─▶ failed      any ─ fenced ─▶ taken over
 */
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { batchesOf, refuseTooLarge } from '../../../shared/connectors/block-batches.ts'
import { ConfigRefused } from '../../../shared/connectors/connector.ts'
import type { OpenSource, SourceRead } from '../../../shared/connectors/source.ts'
import { openMembership, type Assignment, type Membership } from '../../../shared/kafka/group/membership.ts'
import { TRANSACTIONAL } from '../../../shared/kafka/protocol/record-batch.ts'
import { frame } from '../../../shared/registry/framing.ts'
import { runIdOf } from '../../../shared/model/definition.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import type { OutputBatch } from '../lane/messages.ts'
import { reasonOf } from '../task/failures.ts'
import { createProducer, TakenOver, type Producer } from '../task/producer.ts'
import { layoutOf } from '../task/places.ts'
import { AssignmentLost, commitRound, type GroupCoordinator } from '../task/round/commit.ts'
import { deliver, type Targets } from '../task/round/deliver.ts'
import { PositionLost } from '../task/round/fetch.ts'
import type { Task, TaskEnd, TaskStatus } from '../task/task-view.ts'
import type { TaskOptions } from '../task/task.ts'
import { readSeen, seenBatch } from './seen.ts'
import { openSplitReader, type SplitRead } from './split-reader.ts'
import { isLong, positionIn, POSITION_IN_TOPIC, withPosition } from './split-position.ts'

/** Values get the registry's prefix with schema id 0: whatever reads the topic finds the framing that streams have. */
const INTAKE_BATCHES = { attributes: TRANSACTIONAL, prefix: frame(0, '') }
/** A source that is away is asked for as long as it takes: only what can't get better fails the pipeline. */
const BACKOFF_MAX_MS = 15_000

const metadataOf = (position: string | undefined): string =>
  position !== undefined && isLong(position) ? POSITION_IN_TOPIC : withPosition(position)

export type IntakeOptions = Omit<TaskOptions, 'chain' | 'earlier' | 'lanes' | 'fetch' | 'roundBytesMax' | 'budget' | 'ledgerTopic'> & {
  groupId: string
  seenTopic: string
}

export function startIntake(options: IntakeOptions): Task {
  const { cluster, definition, now, connectors } = options
  const topic = definition.source_topic
  const connections = cluster.openConnections(`${runIdOf(definition)}-intake-${options.index}`)
  const coordinator: GroupCoordinator = { nodeId: undefined }
  let status: TaskStatus = 'starting'
  let reason: string | null = null
  let paused = definition.desired === 'paused'
  let stopping = false
  let assignment: Assignment | undefined
  let recordsDone = 0
  let revision = definition.revision
  let hasRun = false
  let wake: (() => void) | undefined
  let interruptReading: (() => void) | undefined

  function become(to: TaskStatus, why: string | null = null): void {
    if (status === to && reason === why) return
    status = to
    reason = why === null ? null : connectors.mask(why)
    options.onChange()
  }
  function interrupt(): void {
    interruptReading?.()
    wake?.()
  }
  async function pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      wake = resolve
      timer = setTimeout(resolve, ms)
    })
    clearTimeout(timer)
  }

  /** One assignment, until it is void, the task pauses or stops, or something fails. */
  async function readAssignment(owned: Assignment, source: OpenSource, producer: Producer, targets: Targets): Promise<void> {
    const partitions = targets.sink.leaders.length
    const committed = await cluster.committedOffsets(options.groupId, topic, [...owned.partitions])
    const { entries: seen, positions } = await readSeen(cluster, options.seenTopic, owned.partitions)
    const states = new Map<number, { next: bigint; position: string | undefined }>()
    for (const split of owned.partitions) {
      const found = committed.get(split)
      // D2: it was committed when the pipeline was made; a group that has lost it must not begin anew.
      if (!found) throw new PositionLost(`split ${split} of the source has no committed position`)
      states.set(split, { next: found.offset, position: positionIn(found.metadata, positions.get(split)) })
    }
    const reader = openSplitReader(
      source,
      owned.partitions,
      partitions,
      (split) => states.get(split)!.position,
      (split) => seen.get(split)!,
    )
    const isMine = () => assignment === owned && !paused && !stopping
    interruptReading = () => void reader.close()
    try {
      while (isMine()) {
        const reads = await reader.take()
        if (!isMine()) return
        if (!reads) return await idle(isMine)
        await write(reads, states, owned, producer, targets)
        become('running')
        for (const { split, read } of reads) source.confirm?.(split, read.position)
        // The reader looks at the same map: what is committed is seen from now on.
        for (const { split, read } of reads) remember(seen.get(split)!, read)
      }
    } finally {
      interruptReading = undefined
      await reader.close()
    }
  }

  function remember(seen: Map<string, string>, { seen: entries = [] }: SourceRead): void {
    for (const { key, value } of entries) {
      if (value === null) seen.delete(key)
      else seen.set(key, value)
    }
  }

  /** Every split has come to its end: the membership is kept, so that the positions are. */
  async function idle(isMine: () => boolean): Promise<void> {
    become('running', 'the source has been read to its end')
    while (isMine()) await pause(1000)
  }

  async function write(
    reads: SplitRead[],
    states: Map<number, { next: bigint; position: string | undefined }>,
    owned: Assignment,
    producer: Producer,
    targets: Targets,
  ): Promise<void> {
    const batches: OutputBatch[] = []
    const next = new Map<number, { next: bigint; position: string | undefined }>()
    let records = 0
    for (const { split, read } of reads) {
      const block = refuseTooLarge(read.block, LIMITS.topic_batch_bytes_max)
      batches.push(...batchesOf(block, { ...INTAKE_BATCHES, partitions: targets.sink.leaders.length, keyless: split, nowMs: now() }))
      const before = next.get(split) ?? states.get(split)!
      next.set(split, { next: before.next + BigInt(read.block.count), position: read.position })
      records += read.block.count
    }
    const remembered = seenBatch(reads, now())
    const outcome = {
      partition: 0,
      nextOffset: 0n,
      records,
      sink: batches,
      rows: [],
      deadLetters: [],
      letterOffsets: [],
      counts: new Float64Array(0),
    }
    await deliver(connections, [outcome], remembered, targets, producer)
    const offsets = [...next].map(([partition, state]) => ({ partition, offset: state.next, metadata: metadataOf(state.position) }))
    await commitRound(cluster, connections, coordinator, { groupId: options.groupId, topic, assignment: owned }, offsets, producer)
    for (const [split, state] of next) states.set(split, state)
    recordsDone += records
    options.onChange()
  }

  async function runAssignments(source: OpenSource, producer: Producer, targets: Targets): Promise<TaskEnd> {
    let backoffMs = 200
    let isBroken = false
    while (!stopping) {
      if (!assignment || paused) {
        become(paused ? 'paused' : 'running')
        await pause(1000)
        continue
      }
      const owned = assignment
      const before = recordsDone
      try {
        if (isBroken) {
          coordinator.nodeId = undefined
          await targets.refresh()
          await producer.initialise(false)
        }
        isBroken = false
        become('running')
        await readAssignment(owned, source, producer, targets)
      } catch (error) {
        if (error instanceof TakenOver) return { kind: 'taken_over' }
        if (error instanceof PositionLost || error instanceof ConfigRefused)
          return { kind: 'failed', reason: connectors.mask(reasonOf(error)) }
        if (recordsDone > before) backoffMs = 200
        if (error instanceof AssignmentLost && assignment === owned) assignment = undefined
        isBroken = true
        become('running', `retrying: the source: ${reasonOf(error)}`)
        await pause(backoffMs)
        backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
      }
    }
    return { kind: 'stopped' }
  }

  async function run(): Promise<TaskEnd> {
    let membership: Membership | undefined
    let source: OpenSource | undefined
    try {
      const direction = findConnector(definition.source!.connector_id)?.source
      if (!direction?.open)
        throw new ConfigRefused(`this processor knows no source ${definition.source!.connector_id}: it may be older than the pipeline`)
      source = await (await direction.open())(definition.source!.config, connectors)
      const targets = await openIntakeTargets()
      membership = await openMembership({
        brokers: options.brokers,
        clientId: options.clientId,
        groupId: options.groupId,
        topic,
        connection: cluster.connectionOptions,
        sessionTimeoutMs: options.sessionTimeoutMs,
        heartbeatMs: Math.min(700, Math.floor(options.sessionTimeoutMs / 6)),
        onAssigned(given) {
          assignment = given
          interrupt()
        },
        onRevoked() {
          assignment = undefined
          interrupt()
        },
        onError: (error) => options.log('warn', `intake membership: ${error.message}`),
      })
      const producer = createProducer(cluster, connections, options.transactionalId)
      await producer.initialise(true)
      hasRun = true
      return await runAssignments(source, producer, targets)
    } catch (error) {
      if (error instanceof TakenOver) return { kind: 'taken_over' }
      const why = connectors.mask(reasonOf(error))
      if (error instanceof ConfigRefused || error instanceof PositionLost) return { kind: 'failed', reason: why }
      return { kind: 'broken', reason: why, isEnvironment: true }
    } finally {
      assignment = undefined
      await membership?.close()
      await source?.close().catch(() => {})
      await connections.close().catch(() => {})
    }
  }

  /** The intake topic takes the place of the sink, what was seen that of the ledger. */
  async function openIntakeTargets(): Promise<Targets> {
    const read = async () => {
      const sink = await layoutOf(cluster, topic, now)
      return { sink, deadLetter: sink, ledger: await layoutOf(cluster, options.seenTopic, now) }
    }
    const targets: Targets = { ...(await read()), refresh: async () => void Object.assign(targets, await read()) }
    return targets
  }

  const ended = run().then((end) => {
    if (end.kind === 'broken') become('starting', `retrying: ${end.reason}`)
    else if (end.kind === 'failed') become('failed', end.reason)
    else become('stopped')
    return end
  })

  return {
    ended,
    view: () => ({ status, reason, revision, heldBack: false, inFlight: 0, recordsDone, hasRun, partitions: [] }),
    setPaused(to) {
      if (paused === to) return
      paused = to
      interrupt()
    },
    // The source is fixed for a pipeline's life: a revision changes the chain alone.
    update(next) {
      revision = next.revision
      options.onChange()
    },
    async stop() {
      stopping = true
      interrupt()
      await ended
    },
  }
}

/**
 * The intake: a member of a group of its own on the pipeline's intake topic. The owner of partition s reads split s of the source; what
 * was read and the position behind it go into one transaction. D1: a position is never durable before its records. Leases, fencing and
 * failover are the group's.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { ConfigRefused } from '../../../shared/connectors/connector.ts'
import { refusalIn } from '../../../shared/connectors/refusal.ts'
import { createBlockBuilder } from '../../../shared/connectors/record-block.ts'
import type { OpenSource } from '../../../shared/connectors/source.ts'
import type { Assignment } from '../../../shared/kafka/membership.ts'
import { runIdOf, type SourceDefinition } from '../../../shared/model/definition.ts'
import { READ_TO_END } from '../../../shared/model/pipeline-status.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { Interrupted } from '../interruption.ts'
import { createMember, isAtWorkOn } from '../member/member.ts'
import { endOf, runAssignments } from '../member/run-assignments.ts'
import type { Task, TaskEnd } from '../member/task-view.ts'
import type { TaskOptions } from '../task/task.ts'
import { openLayouts } from '../transaction/layouts.ts'
import { openTransactions, type Transactions } from '../transaction/transactions.ts'
import { openIntakeWriter, type SplitState } from './intake-writer.ts'
import { forget, readSeen, remember } from './seen.ts'
import { positionIn } from './split-position.ts'
import { CLOSE_MS, openSplitReader, type SplitRead } from './split-reader.ts'

/** An unavailable source is retried without limit; only errors that can't pass fail the pipeline. */
const PATIENCE = { minMs: 200, maxMs: 15_000, failuresMax: Number.POSITIVE_INFINITY }
const IDLE_LOOK_MS = 1000

const NO_RECORDS = createBlockBuilder(0).take()

export type IntakeOptions = Omit<TaskOptions, 'chain' | 'earlier' | 'lanes' | 'fetch' | 'roundBytesMax' | 'budget' | 'ledgerTopic'> & {
  source: Extract<SourceDefinition, { kind: 'connector' }>
  groupId: string
  seenTopic: string
}

export function startIntake(options: IntakeOptions): Task {
  const { cluster, definition, groupId, seenTopic, now, connectors, log, onChange } = options
  const { topic, connector_id, config } = options.source
  const connections = cluster.openConnections(`${runIdOf(definition)}-intake-${options.task}`)
  const member = createMember({ isPaused: definition.desired === 'paused', mask: connectors.mask, onChange, log })
  let recordsDone = 0
  let running = definition
  const context = { ...connectors, onLostPosition: () => running.on_lost_position }

  async function openSource(): Promise<OpenSource> {
    const direction = findConnector(connector_id)?.source
    if (!direction?.open) throw new ConfigRefused(`this processor does not know source ${connector_id}: it may be older than the pipeline`)
    return direction
      .open()
      .then((open) => open(config, context))
      .catch(asAway)
  }

  /** Reads for one assignment until it is void, the task pauses or stops, or something fails. */
  async function readAssignment(owned: Assignment, source: OpenSource, transactions: Transactions): Promise<void> {
    const committed = await cluster.committedOffsets(groupId, topic, [...owned.partitions])
    const { entries: seen, positions } = await readSeen(cluster, seenTopic, owned.partitions)
    const states = new Map<number, SplitState>()
    for (const split of owned.partitions) {
      const found = committed.get(split)
      // D2: it was committed when the pipeline was created; a group that has lost it must not start over.
      if (!found) throw new Interrupted('failed', `split ${split} of the source has no committed position`)
      states.set(split, { next: found.offset, position: positionIn(found.metadata, positions.get(split)) })
    }
    const writer = openIntakeWriter({ transactions, topic, seenTopic, groupId, owned, states, now })
    const reader = openSplitReader(
      source,
      owned.partitions,
      transactions.layouts.of(topic).leaders.length,
      (split) => states.get(split)!.position,
      (split) => seen.get(split)!,
    )
    const isAtWork = () => isAtWorkOn(member, owned)
    /** The reader uses the same entries, so it knows the committed ones from then on. */
    async function commit(reads: readonly SplitRead[]): Promise<void> {
      const written = await writer.write(reads)
      recordsDone += written
      onChange()
      member.become('running')
      for (const { split, read } of reads) source.confirm?.(split, read.position)
      for (const { split, read } of reads) remember(seen.get(split)!, read)
    }
    const remove = (split: number, keys: string[]) => {
      const position = states.get(split)!.position!
      return commit([{ split, read: { block: NO_RECORDS, position, seen: keys.map((key) => ({ key, value: null })) } }])
    }
    member.onInterrupt = () => void reader.close()
    try {
      while (isAtWork()) {
        const waitMs = writer.waitMs()
        if (waitMs > 0) await member.pause(waitMs)
        const reads = await reader.take().catch(asAway)
        if (!isAtWork()) return
        if (!reads) return await idle(isAtWork)
        await commit(reads)
        const before = reads.flatMap(({ split, read }) => (read.forgetBefore === undefined ? [] : [[split, read.forgetBefore] as const]))
        await forget(cluster, seenTopic, seen, new Map(before), remove, isAtWork)
      }
    } finally {
      member.onInterrupt = undefined
      await reader.close()
    }
  }

  /** Every split has reached its end. The task stays in the group, so that the committed positions are kept. */
  async function idle(isAtWork: () => boolean): Promise<void> {
    member.become('running', READ_TO_END)
    while (isAtWork()) await member.pause(IDLE_LOOK_MS)
  }

  async function run(): Promise<TaskEnd> {
    let source: OpenSource | undefined
    try {
      const opened = (source = await openSource())
      const layouts = await openLayouts(cluster, [topic, seenTopic])
      await member.join({
        brokers: options.brokers,
        clientId: options.clientId,
        groupId,
        topic,
        connection: cluster.connectionOptions,
        sessionTimeoutMs: options.sessionTimeoutMs,
      })
      const transactions = openTransactions({ ...options, connections, layouts })
      await transactions.takeOver()
      member.started()
      const work = {
        isPreparing: () => false,
        prepare: () => Promise.resolve(),
        run: (owned: Assignment) => readAssignment(owned, opened, transactions).then(() => false),
        startOver: () => transactions.startOver(),
        recordsDone: () => recordsDone,
      }
      return await runAssignments(member, work, PATIENCE, log)
    } catch (error) {
      const end = endOf(error)
      // Whatever it is: the source is asked for as long as it takes.
      return end.kind === 'broken' ? { ...end, isPassing: true } : end
    } finally {
      await member.leave()
      await Promise.race([source?.close().catch(() => {}), sleep(CLOSE_MS, undefined, { ref: false })])
      await connections.close().catch(() => {})
    }
  }

  return member.asTask(
    run(),
    () => ({ revision: running.revision, inFlight: 0, recordsDone, partitions: [] }),
    // A pipeline's source never changes: of a revision, the policy for lost positions alone matters here.
    (next) => {
      running = next
      onChange()
    },
  )
}

/** What a source throws is no fault of the service: it is away, or its driver surprised us, unless it refuses its config. */
function asAway(error: unknown): never {
  throw refusalIn(error) ?? new Interrupted('source_away', `the source: ${reasonOf(error)}`)
}

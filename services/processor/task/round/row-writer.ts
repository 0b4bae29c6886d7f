/**
 * Writes outcomes to an external system. Rows gather up to the sink's boundaries. Then the dead letters are written and acknowledged, the
 * sink writes the range, and the consumed offsets are committed. One transaction can't span two systems, so the sink makes it exact in one
 * of two ways. It keeps its own position; or the range is planned before any of it is written (committed as metadata, the offset still at
 * its start), and another try writes the same range under the same name. A sink that keeps its position may take a planned range in parts:
 * the plan goes on in the note of each but the last.
 */
import type { Delivery, OpenSink, Written } from '../../../../shared/connectors/sink.ts'
import type { Cluster } from '../../../../shared/kafka/cluster.ts'
import { withPlan } from '../../../../shared/model/commit-metadata.ts'
import { runIdOf } from '../../../../shared/model/definition.ts'
import { Interrupted } from '../../interruption.ts'
import type { ByteBudget } from '../byte-budget.ts'
import { leaderOf } from '../../transaction/layouts.ts'
import type { Transactions } from '../../transaction/transactions.ts'
import type { PlannedRange } from '../positions.ts'
import { ledgerOf } from '../ledger.ts'
import type { Targets } from '../targets.ts'
import { createHeldRows, outcomeOf, type Held } from './held-rows.ts'
import type { RoundSize } from './round-size.ts'
import type { RoundWriter } from './round-writer.ts'
import { writesOf } from './topic-writer.ts'
import type { Assignment } from '../../../../shared/kafka/membership.ts'
import type { Running } from '../running.ts'

export type RowWriterOptions = {
  sink: OpenSink
  topicId: string
  cluster: Cluster
  transactions: Transactions
  targets: Targets
  owned: Assignment
  positions: Map<number, bigint>
  /** Ranges planned earlier, by partition; they are written up to their ends. */
  planned: ReadonlyMap<number, PlannedRange>
  /** False once an earlier revision's own sink has been tried for long enough for its range: then its failure is reported. */
  isPatient(): boolean
  onCommit(records: number): void
  budget: ByteBudget
  /** What the task's rounds are cut by; adapted to how long a sink takes that keeps its position, since it writes each round at once. */
  size: RoundSize
  isAtWork(): boolean
  hasNext(): boolean
  /** Called with the reason while the sink is unavailable, with null once it has answered. */
  onWaiting(reason: string | null): void
  now: () => number
  signal: AbortSignal
}

const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5000
/** A try that fails after so long may be too large for the sink's own limit. */
const LONG_TRY_MS = 30_000
/** How often a backoff checks for a pause, a stop or another revision. */
const LOOK_MS = 100

type Plan = Pick<PlannedRange, 'to' | 'deadLettersFrom'>

export function openRowWriter(options: RowWriterOptions): RoundWriter {
  const { sink, planned, positions, transactions, now } = options
  /** By partition, the plan that is committed for the range under way. */
  const plans = new Map<number, Plan>(planned)
  const comesWhole = planned.size > 0 && !sink.position
  const held = createHeldRows({ ...options, planned: comesWhole ? planned : new Map() })

  async function commit(running: Running, offsets: { partition: number; offset: bigint; metadata: string }[]): Promise<void> {
    const { group_id, source } = running.definition
    const target = { groupId: group_id, topic: source.topic, assignment: options.owned }
    await transactions.commit(target, offsets)
  }

  /**
   * D5: dead letters always come with the plan of their range, though it may be the same plan again. Only a commit of offsets shows the
   * broker member and generation: alone, the dead letters of a task that no longer owns the partition would be accepted.
   */
  function needsPlan(partition: number, { count, deadLetters }: Held): boolean {
    return deadLetters.length > 0 || (!plans.has(partition) && sink.boundaries !== undefined && count > 0)
  }

  /**
   * Writes dead letters, ledger entries and the plans of the ranges, in a transaction that moves no offset. A range with dead letters is
   * planned for every kind of sink: its dead letters must still be right when it is written again.
   */
  async function prepare(running: Running, parts: [number, Held][]): Promise<void> {
    const withDeadLetters = parts.map(([partition, each]) => outcomeOf(partition, each)).filter(({ deadLetters }) => deadLetters.length > 0)
    const toPlan = parts.filter(([partition, each]) => needsPlan(partition, each))
    const deadLettersFrom =
      withDeadLetters.length > 0
        ? await deadLetterEnds(
            options,
            withDeadLetters.map(({ partition }) => partition),
          )
        : undefined
    const next = new Map(
      toPlan.map(([partition, { to }]): [number, Plan] => {
        const known = plans.get(partition)
        return [partition, { to: known?.to ?? to, deadLettersFrom: minOffset(known?.deadLettersFrom, deadLettersFrom?.get(partition)) }]
      }),
    )
    const planning = [...next].map(([partition, plan]) => ({
      partition,
      offset: positions.get(partition) ?? 0n,
      metadata: withPlan(running.accounting.metadataWith(partition), plan.to, plan.deadLettersFrom),
    }))
    // The ledger entry goes first too: rows in the sink must not lack it, and writing it twice yields the same entry.
    const ledger = ledgerOf(
      running,
      parts.map(([partition]) => partition),
      positions,
      now(),
    )
    if (withDeadLetters.length === 0 && planning.length === 0 && !ledger) return
    await transactions.deliver(writesOf(withDeadLetters, options.targets, ledger))
    if (planning.length > 0) await commit(running, planning)
    else await transactions.commitWithoutOffsets()
    for (const [partition, each] of parts) {
      if (each.deadLetterOffsets.length > 0) running.chain.addDeadLettered(partition, each.deadLetterOffsets)
      each.deadLetters = []
      each.deadLetterOffsets = []
    }
    for (const [partition, plan] of next) plans.set(partition, plan)
  }

  /** Commits what the sink has written and moves the positions past it. */
  async function settle(running: Running, done: { partition: number; each: Held; delivery: Delivery }[]): Promise<void> {
    await commit(
      running,
      done.map(({ partition, delivery: { to, note } }) => ({ partition, offset: to, metadata: note })),
    )
    let records = 0
    for (const { partition, each } of done) {
      running.accounting.add(partition, each.counts)
      positions.set(partition, each.to)
      if (each.to >= (plans.get(partition)?.to ?? 0n)) plans.delete(partition)
      held.release(partition)
      running.chain.recycle([outcomeOf(partition, each)])
      records += each.records
    }
    options.onCommit(records)
  }

  async function flush(running: Running, isAll: boolean): Promise<void> {
    const parts = held.parts(isAll)
    if (parts.length === 0) return
    await prepare(running, parts)
    const startedAt = performance.now()
    const written = await Promise.all(
      parts.map(async ([partition, each]) => {
        const plan = plans.get(partition)
        const delivery = deliveryOf(options, running, partition, each, plan)
        return { partition, each, delivery, result: await writeRange(options, delivery, each, plan !== undefined) }
      }),
    )
    if (sink.position) options.size.took(performance.now() - startedAt)
    options.onWaiting(null)
    // Remember the refused records of every partition before giving up the round.
    for (const { partition, result } of written) if (result.kind === 'at_fault') running.chain.refuse(partition, result.records)
    const done = written.filter(({ result }) => result.kind === 'delivered')
    if (done.length > 0) await settle(running, done)
    written
      .map(({ result }) => result)
      .toSorted((x, y) => SEVERITY[y.kind] - SEVERITY[x.kind])
      .forEach(assertDelivered)
  }

  return {
    async take(running, outcomes, _inputBytes, release) {
      held.add(outcomes)
      release()
      if (!comesWhole && held.isDue()) await flush(running, false)
    },
    isDue: held.isDue,
    flush,
    waitMs: () => 0,
    drop: held.drop,
  }
}

/** A range may have dead letters from before: what it gets now comes after them, unless their topic was recreated. */
const minOffset = (known: bigint | undefined, next: bigint | undefined): bigint | undefined =>
  known === undefined || (next !== undefined && next < known) ? next : known

/** By partition, an offset at or before that of its next dead letter. */
async function deadLetterEnds({ cluster, targets }: RowWriterOptions, partitions: number[]): Promise<Map<number, bigint>> {
  const { deadLetter } = targets
  const deadLetterPartitionOf = (partition: number) => partition % deadLetter.leaders.length
  for (const partition of partitions) leaderOf(deadLetter, deadLetterPartitionOf(partition))
  const ends = await cluster.offsets(deadLetter, [...new Set(partitions.map(deadLetterPartitionOf))], 'latest')
  return new Map(partitions.map((partition) => [partition, ends.get(deadLetterPartitionOf(partition)) ?? 0n]))
}

/** Writes one range. While the sink is unavailable, retries with the same rows for as long as the task is to run. */
async function writeRange(options: RowWriterOptions, delivery: Delivery, { rows }: Held, isPlanned: boolean): Promise<Written> {
  const { sink } = options
  // A sink that keeps the position must also move past ranges without rows; for other sinks there is nothing to write.
  if (rows.length === 0 && !sink.position) return { kind: 'delivered' }
  for (let backoffMs = RETRY_MIN_MS; ; backoffMs = Math.min(backoffMs * 2, RETRY_MAX_MS)) {
    const startedAt = performance.now()
    const written = await sink.write(delivery, rows, options.signal)
    if (written.kind !== 'retry' || !options.isPatient()) return written
    // The next rounds are smaller. The sink's position says what it has of this one; without one, a range must come again as it is.
    if (sink.position && !written.hasProgressed && performance.now() - startedAt >= LONG_TRY_MS) return written
    if (written.hasProgressed) backoffMs = RETRY_MIN_MS
    options.onWaiting(written.reason)
    // The task's own backoff applies unless the sink asks for a longer one.
    for (const until = performance.now() + Math.max(backoffMs, written.afterMs); performance.now() < until;) {
      // A pause or a stop ends the retries; so does a new revision while the range is not planned, which can then run it instead.
      if (!options.isAtWork() || (!isPlanned && options.hasNext())) return written
      await new Promise((resolve) => setTimeout(resolve, Math.min(LOOK_MS, until - performance.now())))
    }
  }
}

function deliveryOf(
  { topicId, positions }: RowWriterOptions,
  running: Running,
  partition: number,
  { to, counts }: Held,
  plan: Plan | undefined,
): Delivery {
  const from = positions.get(partition) ?? 0n
  const note = running.accounting.metadataWith(partition, counts)
  return {
    runId: runIdOf(running.definition),
    topicId,
    partition,
    from,
    to,
    revision: running.definition.revision,
    resetAt: running.definition.reset_revision,
    note: plan && plan.to > to ? withPlan(note, plan.to, plan.deadLettersFrom) : note,
    deadLettered: running.chain.failedIn(partition, from, to),
  }
}

const SEVERITY = { delivered: 0, at_fault: 1, retry: 2, moved: 3, changed: 4, permanent: 5 }

function assertDelivered(written: Written): void {
  switch (written.kind) {
    case 'delivered':
      return
    case 'retry':
      throw new Interrupted({ kind: 'sink_away', afterMs: written.afterMs }, written.reason)
    case 'moved':
      throw new Interrupted('sink_moved', written.reason)
    case 'changed':
      throw new Interrupted('sink_changed', written.reason)
    case 'permanent':
      throw new Interrupted('sink_refused', written.reason)
    case 'at_fault':
      throw new Interrupted('round_lost', `the sink refused ${written.records.length} records`)
  }
}

/** One assignment of a task: where its partitions go on, ranges that were planned before, and then rounds until it is void. */
import type { OpenSink } from '../../../shared/connectors/sink.ts'
import type { Cluster, Connections } from '../../../shared/kafka/cluster.ts'
import type { Assignment } from '../../../shared/kafka/membership.ts'
import type { FetchBatches } from '../../../shared/kafka/wire/fetch.ts'
import { Interrupted, interruptionOf, isInDoubt } from '../interruption.ts'
import { isAtWorkOn, type Member } from '../member/member.ts'
import type { Phases } from '../phases.ts'
import { findLayout } from '../transaction/layouts.ts'
import type { Transactions } from '../transaction/transactions.ts'
import type { ByteBudget } from './byte-budget.ts'
import { markDeadLettered, type Planners } from './planners.ts'
import type { PlannedRange } from './positions.ts'
import type { Progress } from './progress.ts'
import type { Revisions } from './revisions.ts'
import type { RoundSize } from './round/round-size.ts'
import { runRounds, type RoundsOptions } from './round/rounds.ts'
import type { Running } from './running.ts'
import { findAside, type AwayDeadLetters, type Targets } from './targets.ts'

export type AssignmentOptions = {
  cluster: Cluster
  phases: Phases
  member: Member
  transactions: Transactions
  targets: Targets
  revisions: Revisions
  planners: Planners
  progress: Progress
  sink: OpenSink | undefined
  size: RoundSize
  awayDeadLetters: AwayDeadLetters
  budget: ByteBudget
  fetch: FetchBatches
  fetchConnections: Connections
  roundBytesMax: number
  /** Aborted when a stop has waited long enough for an external sink. */
  writesOver: AbortSignal
  now: () => number
  log: (level: 'info' | 'warn', message: string) => void
}

/** A revision at work, and where it writes to; `planned`: it finishes these ranges and nothing else. */
type Writing = { running(): Running; sink: OpenSink | undefined; planned: readonly [number, PlannedRange][] }

/** True when a job is done; false when the assignment is void, or the task pauses or stops. */
export async function runAssignment(options: AssignmentOptions, owned: Assignment): Promise<boolean> {
  const { cluster, member, transactions, targets, revisions, planners, progress, sink } = options
  const { definition, accounting, isByKey } = revisions.current()
  const layout = await findLayout(cluster, definition.source.topic)
  if (revisions.begin(layout.topicId)) await planners.close()
  const loaded = await options.phases.loadPositions(cluster, definition, layout, owned, accounting, sink)
  progress.setPositions(loaded.positions)
  const { positions } = loaded
  const target = { groupId: definition.group_id, topic: definition.source.topic, assignment: owned }
  if (loaded.unmirrored.length > 0) await transactions.commit(target, loaded.unmirrored)
  const aside = await findAside(owned.partitions, targets, !sink && !isByKey, options.awayDeadLetters)
  if (aside.length > 0) member.become('running', `waiting: the targets of partitions ${aside.join(', ')} have no leader; the others go on`)
  const isAtWork = () => isAtWorkOn(member, owned)

  function rounds({ running, sink: to, planned }: Writing): Promise<boolean> {
    const rows: RoundsOptions['rows'] = to && {
      sink: to,
      planned: new Map(planned),
      isPatient: () => planners.isPatient(running()),
    }
    return runRounds({
      ...options,
      layout,
      owned,
      positions,
      aside,
      rows,
      running,
      // Positions set by the user must be reloaded: a switch between two rounds would keep the old ones.
      isAtWork: () => isAtWork() && !revisions.isReset(),
      isOwner: () => member.assignment === owned,
      onWaiting: (why) => member.become('running', why === null ? null : `retrying: ${why}`),
      onSkipped: (partition, from, until) =>
        options.log('warn', `partition ${partition}: ${from} to ${until} had expired and were skipped`),
    })
  }

  // Ranges that were planned, and may have been written, go first and exactly as planned.
  const reachable = [...loaded.planned].filter(([partition]) => layout.leaders[partition]! >= 0 && !aside.includes(partition))
  for (const [revision, planned] of Map.groupBy(reachable, ([, range]) => range.revision)) {
    const planner = await planners.open(revision, revisions.current(), (found, to) => revisions.open(found, to))
    await markDeadLettered(cluster, transactions.connections, planner, { layout, targets, positions }, planned)
    await rounds({ running: () => planner, sink: planner.sink, planned }).catch((error: unknown) => {
      if (!planners.mayGoOn(planner, error)) throw error
      // What fails in an earlier revision says nothing about the current one.
      revisions.resetThreshold()
      // Start over: then the current revision writes the range.
      const kind = isInDoubt(interruptionOf(error)) ? 'transaction_broken' : 'sink_moved'
      throw new Interrupted(kind, 'the current revision writes the planned range')
    })
    await planners.close()
    if (!isAtWork()) return false
  }
  await planners.close()
  return rounds({ running: revisions.current, sink, planned: [] })
}

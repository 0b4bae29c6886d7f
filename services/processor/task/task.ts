/** One task: a member of its pipeline's consumer group that runs rounds (fetch → chain → deliver → commit) over the partitions it owns. */
import type { ConnectorContext } from '../../../shared/connectors/connector.ts'
import type { OpenSink } from '../../../shared/connectors/sink.ts'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import type { FetchBatches } from '../../../shared/kafka/wire/fetch.ts'
import { runIdOf, sinkFieldsOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { Interrupted } from '../interruption.ts'
import type { Lanes } from '../lane/lanes.ts'
import type { LaneChain } from '../lane/messages.ts'
import { createMember } from '../member/member.ts'
import { endOf, runAssignments } from '../member/run-assignments.ts'
import type { Task, TaskEnd } from '../member/task-view.ts'
import type { Phases } from '../phases.ts'
import { findLayout } from '../transaction/layouts.ts'
import { openTransactions } from '../transaction/transactions.ts'
import { runAssignment } from './assignment.ts'
import type { ByteBudget } from './byte-budget.ts'
import { openSink } from './open-sink.ts'
import { createPlanners, type Earlier } from './planners.ts'
import { createProgress } from './progress.ts'
import { openRevisions, type Revisions } from './revisions.ts'
import type { Revision } from './running.ts'
import { createRoundSize } from './round/round-size.ts'
import { openTargets, type AwayDeadLetters } from './targets.ts'
import { watchPartitions } from './watch-partitions.ts'

export type TaskOptions = {
  definition: PipelineDefinition
  /** Its number within its role. */
  task: number
  transactionalId: string
  ledgerTopic: string
  brokers: string[]
  clientId: string
  cluster: Cluster
  phases: Phases
  lanes: Lanes
  chain: LaneChain
  /** Finds an earlier revision, to finish the ranges it planned; undefined when it is no longer known. */
  earlier: Earlier
  connectors: ConnectorContext
  budget: ByteBudget
  fetch: FetchBatches
  roundBytesMax: number
  sessionTimeoutMs: number
  now: () => number
  log: (level: 'info' | 'warn', message: string) => void
  onChange: () => void
}

/** A round of a slow SmartModule may take minutes: each of its calls may take up to the step's timeout. */
const STOP_ROUND_MAX_MS = 3000
/** An external sink may not answer. What it has perhaps not taken comes again. Less time than a runner gets that is drained. */
const STOP_WRITE_MAX_MS = 7000
const PATIENCE = { minMs: 100, maxMs: 5000, failuresMax: 20 }

export function startTask(options: TaskOptions): Task {
  const { cluster, definition, phases, log, onChange } = options
  const name = `${runIdOf(definition)}-${options.task}`
  const connections = cluster.openConnections(name)
  // A long-polling fetch would delay every later request on the same connection.
  const fetchConnections = cluster.openConnections(`${name}-fetch`)
  const member = createMember({ isPaused: definition.desired === 'paused', mask: options.connectors.mask, onChange, log })
  /** Aborted by a stop; then, when that has waited long enough for the round under way, of which nothing is written, and for a write. */
  const [stopping, roundsOver, writesOver] = [new AbortController(), new AbortController(), new AbortController()]
  const timers: NodeJS.Timeout[] = []
  const progress = createProgress(onChange)
  const planners = createPlanners(
    options.earlier,
    (planned) => openSink(planned, { ...options.connectors, fields: sinkFieldsOf(planned) }, stopping.signal),
    (message) => log('warn', message),
  )
  const awayDeadLetters: AwayDeadLetters = new Set()
  const size = createRoundSize(options.roundBytesMax)
  let revisions: Revisions | undefined
  /** A revision that came before the first one was open. */
  let early: Revision | undefined
  let havePartitionsChanged = false
  member.onInterrupt = () => {
    progress.fetcher()?.close()
    if (!member.isStopping || stopping.signal.aborted) return
    stopping.abort()
    timers.push(
      setTimeout(() => roundsOver.abort(), STOP_ROUND_MAX_MS),
      setTimeout(() => writesOver.abort(), STOP_WRITE_MAX_MS),
    )
  }

  async function run(): Promise<TaskEnd> {
    let poll: NodeJS.Timeout | undefined
    let sink: OpenSink | undefined
    try {
      const targets = await openTargets(cluster, definition, options.ledgerTopic)
      const partitions = (await findLayout(cluster, definition.source.topic)).leaders.length
      sink = await openSink(definition, options.connectors, stopping.signal)
      const around = { lanes: options.lanes, signal: roundsOver.signal, phases, targets, partitions, sink, log, onChange }
      const opened = (revisions = await openRevisions(around, { definition, chain: options.chain }))
      if (early) opened.offer(early)
      await member.join({
        brokers: options.brokers,
        clientId: options.clientId,
        groupId: definition.group_id,
        topic: definition.source.topic,
        connection: cluster.connectionOptions,
        sessionTimeoutMs: options.sessionTimeoutMs,
      })
      const transactions = openTransactions({ ...options, connections, layouts: targets })
      await transactions.takeOver()
      member.started()
      poll = watchPartitions(cluster, definition, partitions, targets.sink?.leaders.length, () => {
        havePartitionsChanged = true
        member.interrupt()
      })
      const assignment = {
        ...options,
        fetchConnections,
        member,
        transactions,
        targets,
        revisions: opened,
        planners,
        progress,
        sink,
        size,
        awayDeadLetters,
        writesOver: writesOver.signal,
      }
      const work = {
        isPreparing: () => havePartitionsChanged || opened.hasNext(),
        async prepare() {
          if (havePartitionsChanged)
            throw new Interrupted('partitions_changed', 'the number of partitions of the source or the sink has changed')
          await opened.swap()
        },
        run: (owned: Parameters<typeof runAssignment>[1]) => runAssignment(assignment, owned),
        startOver: () => transactions.startOver(),
        recordsDone: () => progress.recordsDone(),
        onTargetAway(topic: string, partition: number) {
          if (topic === definition.dead_letter_topic) awayDeadLetters.add(partition)
        },
      }
      return await runAssignments(member, work, PATIENCE, log)
    } catch (error) {
      const end = endOf(error)
      // What a stop cuts short is no failure.
      return end.kind === 'broken' && member.isStopping ? { kind: 'stopped' } : end
    } finally {
      clearInterval(poll)
      timers.forEach(clearTimeout)
      revisions?.close()
      await planners.close()
      await member.leave()
      await sink?.close().catch(() => {})
      await Promise.allSettled([connections.close(), fetchConnections.close()])
    }
  }

  return member.asTask(
    run(),
    () => ({
      revision: revisions?.current().definition.revision ?? definition.revision,
      ...progress.view(revisions?.current().accounting),
    }),
    (next, chain) => {
      const revision = { definition: next, chain }
      if (!revisions && next.revision > (early?.definition.revision ?? 0)) early = revision
      if (!revisions?.offer(revision)) return
      progress.fetcher()?.interrupt()
      member.wake()
    },
    () => revisions?.resetThreshold(),
  )
}

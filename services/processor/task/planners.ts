/**
 * Ranges that were planned but perhaps not written: the revision that planned them finishes them, even after later revisions (decisions
 * 013, 018).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Cluster, Connections, TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { OpenSink } from '../../../shared/connectors/sink.ts'
import type { PipelineDefinition, SinkDefinition } from '../../../shared/model/definition.ts'
import { readDeadLettered } from './dead-lettered.ts'
import type { PlannedRange } from './positions.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { interruptionOf, type Interruption } from '../interruption.ts'
import { leaderOf } from '../transaction/layouts.ts'
import type { Targets } from './targets.ts'
import type { Revision, Running } from './running.ts'

/** Finds an earlier revision; undefined when it is no longer known. */
export type Earlier = (revision: number) => Promise<Revision | undefined>

/** How long an earlier revision's own sink is tried: it may no longer exist. */
const PATIENCE_MS = 20_000

export type Planners = ReturnType<typeof createPlanners>

/** `openSink`: what a revision writes to where that is an external system. */
export function createPlanners(
  earlier: Earlier,
  openSink: (definition: PipelineDefinition) => Promise<OpenSink | undefined>,
  warn: (message: string) => void,
) {
  let planner: Running | undefined
  let ownSink: OpenSink | undefined
  /** Revisions that can't finish the ranges they planned: the current revision writes them. */
  const refused = new Set<number>()
  /** By revision, since when its own sink has been tried. */
  const tried = new Map<number, number>()
  const isOver = (revision: number) => performance.now() - (tried.get(revision) ?? performance.now()) > PATIENCE_MS

  async function close(): Promise<void> {
    planner?.chain.close()
    planner = undefined
    const sink = ownSink
    ownSink = undefined
    await sink?.close().catch(() => {})
  }

  /** True when no further try of the revision helps: its chain or policies fail the range, or its own sink does not take it. */
  function isEnd(revision: number, { kind }: Interruption): boolean {
    if (kind === 'failed' || kind === 'threshold_passed') return true
    return tried.has(revision) && (kind === 'sink_refused' || (kind === 'sink_away' && isOver(revision)))
  }

  /** Waiting for that revision would block the pipeline forever, whatever its user changes. */
  function giveUp(revision: number, error: unknown): void {
    refused.add(revision)
    warn(`revision ${revision} can't finish a range that it has planned (${reasonOf(error)}): the revision at work writes it`)
  }

  return {
    /** The current revision if it planned the range; otherwise the revision that did, kept open beside it until `close`. */
    async open(
      revision: number,
      current: Running,
      openRunning: (found: Revision, sink: OpenSink | undefined) => Promise<Running>,
    ): Promise<Running> {
      if (revision === current.definition.revision || refused.has(revision)) return current
      // Reused, because its knowledge of records that the sink refused must outlive one attempt.
      if (planner?.definition.revision === revision) return planner
      await close()
      const found = await earlier(revision)
      if (found) {
        try {
          if (!isDeepStrictEqual(placeOf(found.definition.sink), placeOf(current.definition.sink))) {
            if (!tried.has(revision)) tried.set(revision, performance.now())
            ownSink = await openSink(found.definition)
          }
          return (planner = await openRunning(found, ownSink ?? current.sink))
        } catch (error) {
          if (!isEnd(revision, interruptionOf(error))) throw error
          giveUp(revision, error)
          await close()
          return current
        }
      }
      warn(`revision ${revision}, which planned a range, is no longer known: revision ${current.definition.revision} writes it`)
      return current
    },
    /** False once an earlier revision's own sink has been tried for long enough. */
    isPatient: (at: Running): boolean => at !== planner || !ownSink || !isOver(at.definition.revision),
    /** True when that earlier revision can't finish its ranges; from then on the current revision writes them. */
    mayGoOn(at: Running, error: unknown): boolean {
      const { revision } = at.definition
      if (at !== planner || !isEnd(revision, interruptionOf(error))) return false
      giveUp(revision, error)
      return true
    },
    close,
  }
}

/** What says where a sink writes to; its policy and the records' fields also change where the place stays the same. */
const placeOf = (sink: SinkDefinition) =>
  sink.kind === 'connector' ? { connectorId: sink.connector_id, config: sink.config } : { topic: sink.topic }

/** Tells the chain which records of the ranges already have dead letters. */
export async function markDeadLettered(
  cluster: Cluster,
  connections: Connections,
  { chain, definition }: Running,
  { layout, targets, positions }: { layout: TopicLayout; targets: Targets; positions: ReadonlyMap<number, bigint> },
  ranges: readonly [number, PlannedRange][],
): Promise<void> {
  for (const [partition, { to, deadLettersFrom }] of ranges) {
    if (deadLettersFrom === undefined) continue
    const redrive = definition.job?.kind === 'redrive' ? definition.job.job_id : undefined
    const range = { topic: layout.topic, topicId: layout.topicId, partition, from: positions.get(partition)!, to, redrive }
    const letterPartition = partition % targets.deadLetter.leaders.length
    leaderOf(targets.deadLetter, letterPartition)
    chain.addDeadLettered(
      partition,
      await readDeadLettered(cluster, connections, targets.deadLetter, letterPartition, deadLettersFrom, range),
    )
  }
}

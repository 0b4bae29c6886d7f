/** A revision at work: its chain in the lanes, its counters, and where its records go. */
import type { OpenSink } from '../../../shared/connectors/sink.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { LaneChain } from '../lane/messages.ts'
import type { Lanes, OpenChain } from '../lane/lanes.ts'
import type { Phases } from '../phases.ts'
import type { Accounting } from './accounting.ts'
import type { Targets } from './targets.ts'

/** What a task runs: a definition, and its chain as lanes open it. */
export type Revision = { definition: PipelineDefinition; chain: LaneChain }

/** One revision at work; replaced as a whole between two rounds. */
export type Running = {
  definition: PipelineDefinition
  chain: OpenChain
  accounting: Accounting
  /** What it writes to where that is an external system. */
  sink: OpenSink | undefined
  /** Records go to sink partitions by key: those of one source partition may go to any of them. */
  isByKey: boolean
}

type Around = {
  lanes: Lanes
  /** The task no longer waits for its rounds. */
  signal: AbortSignal
  phases: Pick<Phases, 'createAccounting'>
  /** Its totals carry over. */
  before: Accounting | undefined
}

/** Throws `failed` when the chain does not start. `partitions`: how many the source has. */
export async function openRevision(
  { lanes, signal, phases, before }: Around,
  { definition, chain }: Revision,
  sink: OpenSink | undefined,
  targets: Targets,
  partitions: number,
): Promise<Running> {
  // If each source partition has its own sink partition, order holds by itself; otherwise records go to partitions by key.
  const sinkPartitions = targets.sink?.leaders.length
  const isByKey =
    sinkPartitions !== undefined && (sinkPartitions !== partitions || definition.steps.some(({ changes_keys }) => changes_keys))
  const opened = await lanes.open(
    {
      ...chain,
      ...(isByKey ? { partitions: sinkPartitions } : {}),
      ...(sink ? { rows: sink.rows } : {}),
    },
    signal,
  )
  const { revision, steps } = definition
  const accounting = before?.forRevision(revision, steps.length) ?? phases.createAccounting(revision, steps.length)
  return { definition, chain: opened, accounting, sink, isByKey }
}

/** Ranges that were planned and perhaps not written: the revision that planned them finishes them, whatever came after it. */
import type { Cluster, Connections, TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { OpenSink } from '../../../shared/connectors/sink.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { readLettered } from './lettered.ts'
import type { Planned } from './places.ts'
import type { Targets } from './round/deliver.ts'
import type { Revision, Running } from './running.ts'

/** An earlier revision; undefined where it is not known any more. */
export type Earlier = (revision: number) => Promise<Revision | undefined>

/** `openSink`: what a revision writes to where that is no topic. */
export function createPlanners(
  earlier: Earlier,
  openSink: (definition: PipelineDefinition) => Promise<OpenSink | undefined>,
  warn: (message: string) => void,
) {
  let planner: Running | undefined
  let ownSink: OpenSink | undefined

  async function close(): Promise<void> {
    planner?.chain.close()
    planner = undefined
    const sink = ownSink
    ownSink = undefined
    await sink?.close().catch(() => {})
  }

  return {
    /** The revision at work where it is the one; else that one, opened beside it until `close`. */
    async open(
      revision: number,
      current: Running,
      openRunning: (found: Revision, sink: OpenSink | undefined) => Promise<Running>,
    ): Promise<Running> {
      if (revision === current.definition.revision) return current
      // What it knows of records that the sink has refused must outlive an attempt.
      if (planner?.definition.revision === revision) return planner
      await close()
      const found = await earlier(revision)
      if (found) {
        const isSameSink = JSON.stringify(found.definition.sink) === JSON.stringify(current.definition.sink)
        if (!isSameSink) ownSink = await openSink(found.definition)
        return (planner = await openRunning(found, ownSink ?? current.sink))
      }
      warn(`revision ${revision}, which has planned a range, is not known any more: revision ${current.definition.revision} writes it`)
      return current
    },
    close,
  }
}

/** Lets the chain know which records of the ranges have dead letters already. */
export async function tellLettered(
  cluster: Cluster,
  connections: Connections,
  { chain }: Running,
  { layout, targets, positions }: { layout: TopicLayout; targets: Targets; positions: ReadonlyMap<number, bigint> },
  ranges: readonly [number, Planned][],
): Promise<void> {
  for (const [partition, { to, lettersFrom }] of ranges) {
    if (lettersFrom === undefined) continue
    const range = { topic: layout.topic, partition, from: positions.get(partition)!, to }
    const place = partition % targets.deadLetter.leaders.length
    chain.addLettered(partition, await readLettered(cluster, connections, targets.deadLetter, place, lettersFrom, range))
  }
}

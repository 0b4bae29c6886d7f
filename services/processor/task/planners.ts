/** Ranges that were planned and perhaps not written: the revision that planned them finishes them, whatever came after it. */
import type { Cluster, Connections, TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { LaneChain } from '../lane/messages.ts'
import { readLettered } from './lettered.ts'
import type { Planned } from './places.ts'
import type { Targets } from './round/deliver.ts'
import type { Running } from './round/rounds.ts'

/** An earlier revision; undefined where it is not known any more. */
export type Earlier = (revision: number) => Promise<{ definition: PipelineDefinition; chain: LaneChain } | undefined>

export function createPlanners(earlier: Earlier, warn: (message: string) => void) {
  let planner: Running | undefined

  function close(): void {
    planner?.chain.close()
    planner = undefined
  }

  return {
    /** The revision at work where it is the one; else that one, opened beside it until `close`. */
    async open(
      revision: number,
      current: Running,
      openRunning: (found: { definition: PipelineDefinition; chain: LaneChain }) => Promise<Running>,
    ): Promise<Running> {
      if (revision === current.definition.revision) return current
      // What it knows of records that the sink has refused must outlive an attempt.
      if (planner?.definition.revision === revision) return planner
      close()
      const found = await earlier(revision)
      if (found) return (planner = await openRunning(found))
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

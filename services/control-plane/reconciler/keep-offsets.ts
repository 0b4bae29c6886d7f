/**
 * Keeps the positions of pipelines that are not running: a group without members loses its offsets after the broker's
 * `offsets.retention.minutes` (seven days), and a pipeline without a position fails. So they are committed again, unchanged, twice a day.
 */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { listSuspendedJobs } from '../store/jobs.ts'
import { listIdlePipelines, lockPipeline } from '../store/pipelines.ts'
import type { Deps } from '../deps.ts'
import { oncePerInterval } from './once-per-interval.ts'

const EVERY_MS = 12 * 3_600_000

export async function keepOffset(cluster: Cluster, definition: { group_id: string; source_topic: string }): Promise<void> {
  const layout = await cluster.describeTopic(definition.source_topic)
  if (!layout) return
  const committed = await cluster.committedOffsets(definition.group_id, definition.source_topic, [...layout.leaders.keys()])
  // Refused while the group has members, but then nothing can expire either.
  if (committed.size > 0) await cluster.commitFromOutside(definition.group_id, definition.source_topic, committed)
}

/** What the reconciler calls on every pass; it does its work twice a day. */
export const createOffsetKeeper = ({ db, cluster, names, log }: Pick<Deps, 'db' | 'cluster' | 'names' | 'log'>) =>
  oncePerInterval(
    EVERY_MS,
    async () => [...(await listIdlePipelines(db)), ...(await listSuspendedJobs(db))],
    ({ id, definition }) =>
      db
        .transaction(async (trx) => {
          // The lock keeps `POST …/offsets` out between the read and the commit.
          await lockPipeline(trx, definition.pipeline_id)
          await keepOffset(cluster, definition)
          if (definition.source && !definition.job)
            await keepOffset(cluster, { group_id: names.intakeGroup(id), source_topic: definition.source_topic })
        })
        .catch((error: unknown) => log.debug({ id, reason: String(error) }, 'offsets were not committed again')),
  )

/**
 * Keeps the positions of pipelines that are not running: a group without members loses its offsets after the broker's
 * `offsets.retention.minutes` (seven days), and a pipeline without a position fails. So they are committed again, unchanged, twice a day.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { hasMembers } from '../../../shared/kafka/admin/admin.ts'
import { listSuspendedJobs, lockJob } from '../store/jobs.ts'
import { listIdlePipelines, lockPipeline } from '../store/pipelines.ts'
import type { Deps } from '../deps.ts'
import { oncePerInterval } from './once-per-interval.ts'

const EVERY_MS = 12 * 3_600_000

/** A pipeline, or a job of one. Definitions are read one at a time: those of all accounts together may be gigabytes. */
type Run = { id: string; pipeline_id: string }

export async function keepOffset(
  { cluster, withAdmin }: Pick<Deps, 'cluster' | 'withAdmin'>,
  groupId: string,
  topic: string,
): Promise<void> {
  // D2: a member that commits and leaves between the read and the commit would be moved back. While there is one, nothing expires.
  if (await withAdmin((admin) => hasMembers(admin, groupId))) return
  const layout = await cluster.describeTopic(topic)
  if (!layout) return
  const committed = await cluster.committedOffsets(groupId, topic, [...layout.leaders.keys()])
  // Refused where a member has joined meanwhile.
  if (committed.size > 0) await cluster.commitFromOutside(groupId, topic, committed)
}

/** What the reconciler calls on every pass; it does its work twice a day. */
export const createOffsetKeeper = ({ db, cluster, withAdmin, names, log }: Pick<Deps, 'db' | 'cluster' | 'withAdmin' | 'names' | 'log'>) =>
  oncePerInterval(
    EVERY_MS,
    async (): Promise<Run[]> => [...(await listIdlePipelines(db)).map((id) => ({ id, pipeline_id: id })), ...(await listSuspendedJobs(db))],
    ({ id, pipeline_id }) =>
      db
        .transaction(async (trx) => {
          // The lock keeps `POST …/offsets` out between the read and the commit.
          const pipeline = await lockPipeline(trx, pipeline_id)
          const run = id === pipeline_id ? pipeline : await lockJob(trx, id)
          if (!run) return
          const { definition } = run
          const kept = { cluster, withAdmin }
          await keepOffset(kept, definition.group_id, definition.source.topic)
          if (definition.source.kind === 'connector') await keepOffset(kept, names.intakeGroup(id), definition.source.topic)
        })
        .catch((error: unknown) => log.debug({ id, reason: reasonOf(error) }, 'offsets were not committed again')),
  )

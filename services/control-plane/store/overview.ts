/** All pipelines of an account at a glance: what they should do, what their tasks report, and what waits in their dead letters. */
import type { ObservedTask } from '../../../shared/model/observed.ts'
import type { Queryable } from './database.ts'
import type { PipelineRow } from './pipelines.ts'

export type OverviewRow = Pick<PipelineRow, 'id' | 'name' | 'status' | 'status_reason' | 'desired' | 'revision' | 'updated_at'> & {
  /** The members of the tasks' reports that a glance needs. */
  tasks: Pick<ObservedTask, 'status' | 'reason' | 'records_per_second' | 'role' | 'task'>[]
  lag: number
  dead_letters: number
}

/** Pipelines that are being deleted are left out. */
export async function listOverview(db: Queryable, accountId: string): Promise<OverviewRow[]> {
  const { rows } = (await db.raw(
    `WITH own AS (SELECT id, name, status, status_reason, desired, revision, updated_at FROM pipelines WHERE account_id = ? AND status <> 'deleting'),
     observed AS (
       SELECT o.pipeline_id,
         json_agg(json_build_object('role', o.role, 'task', o.task, 'status', o.body ->> 'status', 'reason', o.body ->> 'reason',
           'records_per_second', (o.body ->> 'records_per_second')::float8) ORDER BY o.role, o.task) AS tasks,
         -- Intake tasks report positions of the outside, whose records the chain's tasks count again.
         coalesce(sum((SELECT sum((p ->> 'lag')::numeric) FROM json_array_elements(o.body -> 'partitions') p)) FILTER (WHERE o.role = 'chain'), 0)
           AS lag
       FROM observed_tasks o JOIN own ON own.id = o.pipeline_id GROUP BY o.pipeline_id
     ),
     pending AS (
       SELECT d.pipeline_id, count(*) AS count FROM dead_letters d JOIN own ON own.id = d.pipeline_id
       WHERE d.status = 'pending' GROUP BY d.pipeline_id
     )
     SELECT own.*, coalesce(observed.tasks, '[]') AS tasks, coalesce(observed.lag, 0)::float8 AS lag, coalesce(pending.count, 0)::float8 AS dead_letters
     FROM own LEFT JOIN observed ON observed.pipeline_id = own.id LEFT JOIN pending ON pending.pipeline_id = own.id
     ORDER BY own.name`,
    [accountId],
  )) as { rows: OverviewRow[] }
  return rows
}

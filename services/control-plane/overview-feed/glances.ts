/** Pipelines at a glance, those that need attention first. */
import type { PipelineGlance } from '../../../shared/api/overview.ts'
import { READ_TO_END } from '../../../shared/model/pipeline-status.ts'
import { chainRate } from '../../../shared/model/observed.ts'
import { listOverview, type OverviewRow } from '../store/overview.ts'
import type { Queryable } from '../store/database.ts'

/** What is wrong with the pipeline, the worst first; null where nothing is. An idle pipeline is not a stalled one. */
function attentionOf({ status, status_reason, desired, tasks, dead_letters }: OverviewRow): { rank: number; text: string } | undefined {
  if (status === 'failed') return { rank: 0, text: status_reason ?? 'it has failed' }
  // It has paused itself.
  if (status === 'paused' && status_reason !== null) return { rank: 1, text: status_reason }
  const troubled = tasks.find(({ reason }) => reason !== null && reason !== READ_TO_END)
  if (desired === 'running' && troubled) return { rank: 2, text: troubled.reason ?? '' }
  if (desired === 'running' && tasks.length === 0) return { rank: 3, text: 'no task has reported yet' }
  return dead_letters > 0 ? { rank: 4, text: dead_letters === 1 ? 'a dead letter waits' : `${dead_letters} dead letters wait` } : undefined
}

/** All pipelines of the account. */
export async function glancesOf(db: Queryable, accountId: string): Promise<PipelineGlance[]> {
  const glances = (await listOverview(db, accountId)).map((row): PipelineGlance => {
    const attention = attentionOf(row)
    return {
      id: row.id,
      name: row.name,
      status: row.status,
      status_reason: row.status_reason,
      desired: row.desired,
      attention: attention?.text ?? null,
      attention_rank: attention?.rank ?? null,
      revision: row.revision,
      records_per_second: chainRate(row.tasks),
      lag: row.lag,
      dead_letters: row.dead_letters,
      changed_at: row.updated_at.toISOString(),
    }
  })
  const rankOf = ({ attention_rank }: PipelineGlance): number => attention_rank ?? Number.MAX_SAFE_INTEGER
  return glances.toSorted((a, b) => rankOf(a) - rankOf(b))
}

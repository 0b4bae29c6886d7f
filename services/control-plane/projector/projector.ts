/** `dps.observed` → Postgres: what tasks report, and the pipelines' statuses that follow; rows and position in one database transaction. */
import { openTail, type Tail, type TailRecord } from '../../../shared/kafka/tail.ts'
import { ObservedTask } from '../../../shared/model/definition.ts'
import { statusFrom } from '../../../shared/model/pipeline-status.ts'
import type { Queryable } from '../../../shared/store/database.ts'
import {
  deleteObserved,
  getProjectorPosition,
  listObserved,
  lockPipeline,
  saveObserved,
  setProjectorPosition,
  updatePipeline,
} from '../../../shared/store/pipelines.ts'
import type { Deps } from '../deps.ts'

const NAME = 'observed'

function parse({ value }: TailRecord): ObservedTask[] {
  if (value === null) return []
  try {
    const parsed = ObservedTask.safeParse(JSON.parse(value.toString('utf8')))
    return parsed.success ? [parsed.data] : []
  } catch {
    return []
  }
}

async function projectPipeline(trx: Queryable, pipelineId: string): Promise<void> {
  const row = await lockPipeline(trx, pipelineId)
  if (!row) {
    // A last word about a pipeline that is gone.
    await deleteObserved(trx, pipelineId)
    return
  }
  // `created` ends with the first word of a task: from then on the tasks tell.
  const current = row.status === 'created' && row.desired === 'running' ? 'starting' : row.status
  const next = statusFrom(row.desired, row.definition.tasks, current, await listObserved(trx, pipelineId), row.revision, row.attempt)
  if (next && (next.status !== row.status || next.reason !== row.status_reason))
    await updatePipeline(trx, pipelineId, { status: next.status, status_reason: next.reason })
}

export async function startProjector(
  deps: Pick<Deps, 'db' | 'cluster' | 'log'>,
  topic: string,
  onProgress: (pipelineIds: string[]) => void,
): Promise<Tail> {
  const { db, cluster, log } = deps
  return openTail({
    cluster,
    topic,
    purpose: 'projector',
    from: await getProjectorPosition(db, NAME),
    async onRecords(records, nextOffset) {
      const tasks = records.flatMap(parse)
      const changed = [...new Set(tasks.map(({ pipeline_id }) => pipeline_id))].sort()
      await db.transaction(async (trx) => {
        for (const task of tasks) await saveObserved(trx, task)
        for (const pipelineId of changed) await projectPipeline(trx, pipelineId)
        await setProjectorPosition(trx, NAME, nextOffset)
      })
      onProgress(changed)
    },
    onError: (error) => log.warn({ reason: error.message }, 'projector: will try again'),
  })
}

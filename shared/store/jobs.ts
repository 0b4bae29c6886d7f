/** Jobs as rows. */
import type { JobStatus } from '../api/jobs.ts'
import type { Counters, PipelineDefinition } from '../model/definition.ts'
import type { Queryable } from './database.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

export type JobRow = {
  id: string
  account_id: string
  pipeline_id: string
  name: string
  kind: 'redrive' | 'replay'
  status: JobStatus
  status_reason: string | null
  revision: number
  /** Records of a redrive, offsets of a replay. bigint: text in the driver. */
  total: string
  definition: PipelineDefinition
  records: Counters
  progress: number
  created_at: Date
  updated_at: Date
}

export const NO_RECORDS: Counters = { in: 0, out: 0, filtered: 0, skipped: 0, failed: 0, absorbed: 0, emitted: 0 }

export async function insertJob(
  db: Queryable,
  job: Pick<JobRow, 'id' | 'account_id' | 'pipeline_id' | 'kind' | 'revision' | 'definition'> & { total: number },
): Promise<JobRow> {
  const [row] = await db('jobs')
    .insert({ ...job, name: job.kind, status: 'starting', definition: JSON.stringify(job.definition), records: JSON.stringify(NO_RECORDS) })
    .returning('*')
  return row
}

export async function findJob(db: Queryable, accountId: string, id: string): Promise<JobRow | undefined> {
  return db('jobs').where({ account_id: accountId, id }).first()
}

export async function lockJob(db: Queryable, id: string): Promise<JobRow | undefined> {
  return db('jobs').where({ id }).forUpdate().first()
}

export async function listJobs(db: Queryable, accountId: string, page: PageRequest & { pipeline_id?: string }): Promise<Page<JobRow>> {
  const query = db('jobs').where({ account_id: accountId }).select('*')
  if (page.pipeline_id !== undefined) void query.where({ pipeline_id: page.pipeline_id })
  return findPage(query, page)
}

export async function listJobsOf(db: Queryable, pipelineId: string): Promise<JobRow[]> {
  return db('jobs').where({ pipeline_id: pipelineId })
}

const UNFINISHED = ['starting', 'running', 'cancelling']

export async function listUnfinishedJobsOf(db: Queryable, pipelineId: string): Promise<JobRow[]> {
  return db('jobs').where({ pipeline_id: pipelineId }).whereIn('status', UNFINISHED)
}

/** Jobs that were not brought to their end. At most 50: the next pass takes the rest. */
export async function listUnfinishedJobs(db: Queryable): Promise<JobRow[]> {
  return db('jobs').whereIn('status', UNFINISHED).orderBy('updated_at').limit(50)
}

export async function updateJob(
  db: Queryable,
  id: string,
  change: Partial<Pick<JobRow, 'status' | 'status_reason' | 'records' | 'progress'>>,
): Promise<JobRow> {
  const { records, ...rest } = change
  const [row] = await db('jobs')
    .where({ id })
    .update({ ...rest, ...(records ? { records: JSON.stringify(records) } : {}), updated_at: db.fn.now() })
    .returning('*')
  return row
}

/** Jobs as rows. */
import type { JobStatus } from '../../../shared/api/jobs.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Counters } from '../../../shared/model/observed.ts'
import type { Queryable } from './database.ts'
import { definitionText, withDefaults } from './pipelines.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

/** A row of `jobs`. */
export type JobRow = {
  id: string
  account_id: string
  pipeline_id: string
  name: string
  kind: 'redrive' | 'replay'
  status: JobStatus
  status_reason: string | null
  revision: number
  /** Number of dead letters of a redrive, or of offsets of a replay. The driver returns bigint as text. */
  total: string
  definition: PipelineDefinition
  records: Counters
  progress: number
  created_at: Date
  updated_at: Date
}

const LISTED = [
  'id',
  'account_id',
  'pipeline_id',
  'name',
  'kind',
  'status',
  'status_reason',
  'revision',
  'total',
  'records',
  'progress',
  'created_at',
  'updated_at',
] as const
/** A job as it is shown, without what it runs, which may be large. */
export type ListedJob = Pick<JobRow, (typeof LISTED)[number]>

/** Counters of a job that has not processed any records. */
export const NO_RECORDS: Counters = { in: 0, out: 0, filtered: 0, skipped: 0, failed: 0, absorbed: 0, emitted: 0 }

/** The stored job, with the status `starting`. */
export async function insertJob(
  db: Queryable,
  job: Pick<JobRow, 'id' | 'account_id' | 'pipeline_id' | 'kind' | 'revision' | 'definition'> & { total: number },
): Promise<ListedJob> {
  const [row] = await db('jobs')
    .insert({ ...job, name: job.kind, status: 'starting', definition: definitionText(job.definition), records: JSON.stringify(NO_RECORDS) })
    .returning([...LISTED])
  return row
}

/** The revisions that these jobs ran, in the order in which they were made. */
export async function listJobRevisions(db: Queryable, ids: readonly string[]): Promise<Pick<JobRow, 'id' | 'revision' | 'created_at'>[]> {
  return ids.length === 0 ? [] : db('jobs').select('id', 'revision', 'created_at').whereIn('id', ids).orderBy('created_at')
}

/** The account's job; undefined if there is none with this id. */
export async function findJob(db: Queryable, accountId: string, id: string): Promise<ListedJob | undefined> {
  return db('jobs')
    .where({ account_id: accountId, id })
    .first(...LISTED)
}

/** The job, locked until the transaction ends; undefined if there is none with this id. */
export async function lockJob(db: Queryable, id: string): Promise<JobRow | undefined> {
  return withDefaults(await db('jobs').where({ id }).forUpdate().first())
}

/** A page of the account's jobs, of one pipeline if `pipeline_id` is given. */
export async function listJobs(db: Queryable, accountId: string, page: PageRequest & { pipeline_id?: string }): Promise<Page<ListedJob>> {
  const query = db('jobs')
    .where({ account_id: accountId })
    .select(...LISTED)
  if (page.pipeline_id !== undefined) void query.where({ pipeline_id: page.pipeline_id })
  return findPage(query, page)
}

/** Ids of all jobs of a pipeline. */
export async function listJobsOf(db: Queryable, pipelineId: string): Promise<string[]> {
  return db('jobs').where({ pipeline_id: pipelineId }).pluck('id')
}

/** Statuses of jobs that have not ended. */
export const UNFINISHED: readonly JobStatus[] = ['starting', 'running', 'cancelling']
export const isJobOver = ({ status }: { status: JobStatus }): boolean => !UNFINISHED.includes(status)

/** Ids of the jobs of a pipeline that have not ended. */
export async function listUnfinishedJobsOf(db: Queryable, pipelineId: string): Promise<string[]> {
  return db('jobs').where({ pipeline_id: pipelineId }).whereIn('status', UNFINISHED).pluck('id')
}

/** Ids of the account's jobs that have not ended and name the topic, at most ten. */
export async function listJobsInto(db: Queryable, accountId: string, topic: string): Promise<string[]> {
  // No closer, because Postgres refuses to read inside of a definition that contains \\u0000.
  return db('jobs')
    .where({ account_id: accountId })
    .whereIn('status', UNFINISHED)
    .whereRaw('strpos(definition::text, ?) > 0', [JSON.stringify(topic)])
    .limit(10)
    .pluck('id')
}

/** The account's jobs that have not ended, have changed since, or are among `known`; these and then the newest first, at most 200. */
export async function listMovingJobs(db: Queryable, accountId: string, known: readonly string[], since: Date): Promise<ListedJob[]> {
  return db('jobs')
    .where({ account_id: accountId })
    .andWhere((which) =>
      which
        .whereIn('status', UNFINISHED)
        .orWhereIn('id', [...known])
        .orWhere('updated_at', '>', since),
    )
    .orderByRaw('id = ANY (?) DESC, created_at DESC', [[...known]])
    .limit(200)
    .select(...LISTED)
}

/** Jobs that have not ended, at most 50: the next pass takes the rest. Those of suspended accounts stand still and are left out. */
export async function listUnfinishedJobs(db: Queryable): Promise<ListedJob[]> {
  return db('jobs')
    .whereIn('status', UNFINISHED)
    .whereNotIn('account_id', db('accounts').whereNotNull('suspended_for').select('id'))
    .orderBy('updated_at')
    .limit(50)
    .select(...LISTED)
}

/** The ids of all jobs that have not ended. */
export async function listUnfinishedJobIds(db: Queryable): Promise<string[]> {
  const rows: { id: string }[] = await db('jobs').whereIn('status', UNFINISHED).select('id').orderBy('id')
  return rows.map(({ id }) => id)
}

/** Jobs of suspended accounts, which go on when the suspension ends. */
export async function listSuspendedJobs(db: Queryable): Promise<Pick<JobRow, 'id' | 'pipeline_id'>[]> {
  return db('jobs')
    .whereIn('status', UNFINISHED)
    .whereIn('account_id', db('accounts').whereNotNull('suspended_for').select('id'))
    .select('id', 'pipeline_id')
}

/** The changed job. */
export async function updateJob(
  db: Queryable,
  id: string,
  change: Partial<Pick<JobRow, 'status' | 'status_reason' | 'records' | 'progress'>>,
): Promise<ListedJob> {
  const { records, ...rest } = change
  const [row] = await db('jobs')
    .where({ id })
    .update({ ...rest, ...(records ? { records: JSON.stringify(records) } : {}), updated_at: db.fn.now() })
    .returning([...LISTED])
  return row
}

/** Those of the ids that are a pipeline's, or an unfinished job's. */
export async function listLiveRuns(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const jobs = db('jobs').whereIn('id', ids).whereIn('status', UNFINISHED).select('id')
  const rows: { id: string }[] = await db('pipelines').whereIn('id', ids).select('id').union(jobs)
  return new Set(rows.map(({ id }) => id))
}

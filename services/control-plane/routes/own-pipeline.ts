/** The caller's pipeline, for everything below `/pipelines/{id}`. */
import { transition } from '../../../shared/model/pipeline-status.ts'
import { notFound, ServiceError } from '../service-error.ts'
import type { Queryable } from '../store/database.ts'
import { findPipeline, lockPipeline, type PipelineRow } from '../store/pipelines.ts'
import type { Caller, Deps } from '../deps.ts'
import { assertIfMatch, pipelineEtag } from './etags.ts'

/** Throws 404 for a pipeline that does not exist or belongs to another account. */
export async function getPipeline({ db }: Pick<Deps, 'db'>, caller: Caller, id: string): Promise<PipelineRow> {
  const row = await findPipeline(db, caller.accountId, id)
  if (!row) throw notFound('the pipeline')
  return row
}

/** Locks the row until the transaction ends. Throws 404 where the caller has no such pipeline, 412 where If-Match does not match. */
export async function lockOwnPipeline(trx: Queryable, caller: Caller, id: string): Promise<PipelineRow> {
  const row = await lockPipeline(trx, id)
  if (!row || row.account_id !== caller.accountId || row.status === 'deleting') throw notFound('the pipeline')
  assertIfMatch(caller, pipelineEtag(row))
  return row
}

/** The same, for a change of what the pipeline runs. Throws also 409 where its status allows none. */
export async function lockForRevision(trx: Queryable, caller: Caller, id: string): Promise<PipelineRow> {
  const row = await lockOwnPipeline(trx, caller, id)
  if (transition(row.status, 'update') === 'refused')
    throw new ServiceError('conflict', `a pipeline that is ${row.status} can't be changed`)
  return row
}

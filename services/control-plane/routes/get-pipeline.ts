/** The caller's pipeline, for everything below `/pipelines/{id}`. */
import { notFound } from '../service-error.ts'
import { findPipeline, type PipelineRow } from '../store/pipelines.ts'
import type { Caller, Deps } from '../deps.ts'

/** Throws 404 for a pipeline that does not exist or belongs to another account. */
export async function getPipeline({ db }: Pick<Deps, 'db'>, caller: Caller, id: string): Promise<PipelineRow> {
  const row = await findPipeline(db, caller.accountId, id)
  if (!row) throw notFound('the pipeline')
  return row
}

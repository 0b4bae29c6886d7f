/** What goes into the outbox when a definition changes. */
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Queryable } from '../../../shared/store/database.ts'
import {
  enqueueBinary,
  enqueueDefinition,
  enqueueRevision,
  insertRevision,
  updatePipeline,
  type PipelineRow,
} from '../../../shared/store/pipelines.ts'
import { claimUnpublished } from '../../../shared/store/smartmodules.ts'

/** Puts the binaries that no processor has yet into the outbox of the caller's transaction. */
export async function publishBinaries(trx: Queryable, { steps }: PipelineDefinition): Promise<void> {
  const wanted = steps.map((step) => step.sha256)
  for (const { sha256, content } of await claimUnpublished(trx, wanted)) await enqueueBinary(trx, sha256, content)
}

/** Puts the definition, and before it the binaries, into the outbox of the caller's transaction. */
export async function publishDefinition(trx: Queryable, row: PipelineRow): Promise<void> {
  await publishBinaries(trx, row.definition)
  await enqueueRevision(trx, { ...row.definition, revision: row.revision })
  await enqueueDefinition(trx, row.id, { ...row.definition, desired: row.desired, attempt: row.attempt, revision: row.revision })
}

/** The pipeline's next revision, stored and, unless the pipeline was never started, handed over. Answers the row as it is then. */
export async function publishRevision(
  trx: Queryable,
  row: PipelineRow,
  definition: PipelineDefinition,
  change: Parameters<typeof updatePipeline>[2] = {},
): Promise<PipelineRow> {
  await insertRevision(trx, definition)
  const updated = await updatePipeline(trx, row.id, { ...change, revision: definition.revision, definition })
  if (row.status !== 'created' || row.desired === 'running') await publishDefinition(trx, updated)
  return updated
}

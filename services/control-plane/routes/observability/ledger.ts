/** From which offset each revision of a pipeline handled a partition. */
import { getPipelineLedgerContract } from '../../../../shared/api/observability.ts'
import { listLedger } from '../../store/observed.ts'
import { listRevisions } from '../../store/pipelines.ts'
import { getPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

export const getPipelineLedgerOperation = operation(getPipelineLedgerContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const [entries, revisions] = await Promise.all([listLedger(deps.db, pipeline.id), listRevisions(deps.db, pipeline.id)])
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      entries: entries.map((entry) => ({ ...entry, from_offset: Number(entry.from_offset) })),
      revisions: revisions.map(({ revision, created_at, definition }) => ({
        revision,
        created_at,
        processors: definition.steps.map(({ module_id, name, version, config }) => ({ module_id, name, version, config })),
      })),
    },
  }
})

/** Runs one record through the revision that handled it, and says what became of it. Writes and commits nothing. */
import { explainRecordContract } from '../../../../shared/api/observability.ts'
import { layoutOf } from '../../layout-of.ts'
import { invalidRequest, notFound, ServiceError } from '../../service-error.ts'
import { deadLetterId } from '../../store/dead-letter-id.ts'
import { listFailuresOf } from '../../store/dead-letters.ts'
import { findCanary } from '../../store/canaries.ts'
import { listJobRevisions } from '../../store/jobs.ts'
import { listLedger, listObserved } from '../../store/observed.ts'
import { findRevision, listRevisions, type PipelineRow, type RevisionRow } from '../../store/pipelines.ts'
import { endedAfter, traceAsHandled } from '../../trace/as-handled.ts'
import { canaryStepOf, refusal, type SourceRecord } from '../../trace/trace.ts'
import type { Deps } from '../../deps.ts'
import { handledBy } from '../../definitions/canary-counts.ts'
import { getPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

/** Whether the canary that has the record's key in this revision was ended, or a task has taken it off. */
async function isCanaryOff({ db }: Pick<Deps, 'db'>, pipeline: PipelineRow, own: RevisionRow, record: SourceRecord): Promise<boolean> {
  const at = canaryStepOf(own.definition, record)
  if (at < 0) return false
  const hasEnded = endedAfter(await listRevisions(db, pipeline.id), own.revision, at)
  if (hasEnded !== undefined) return hasEnded
  const row = await findCanary(db, pipeline.id)
  return row !== undefined && handledBy(row, pipeline, await listObserved(db, pipeline.id)).isOff
}

export const explainRecordOperation = operation(explainRecordContract, async (deps, caller, { params, query }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const { definition } = pipeline
  const layout = await layoutOf(deps.cluster, definition.source.topic, 'the source’s topic', query.partition)
  if (query.partition >= layout.leaders.length)
    throw invalidRequest([{ path: '/query/partition', message: `must be below ${layout.leaders.length}, the source’s partition count` }])
  const offset = BigInt(query.offset)
  const record = await deps.readPacer.during(caller.accountId, (pace) => deps.sourceReader.at(layout, query.partition, offset, pace))
  if (!record) throw notFound('a record at this offset')
  const committed = await deps.cluster.committedOffsets(definition.group_id, definition.source.topic, [query.partition])
  await deps.catchUpLedger()
  const entries = (await listLedger(deps.db, pipeline.id)).filter(
    ({ partition, from_offset }) => partition === query.partition && from_offset <= offset,
  )
  // Records before the pipeline's start were never handled by it: the ledger has no entry for them.
  const isHandled = offset < (committed.get(query.partition)?.offset ?? 0n) && entries.length > 0
  const own = (isHandled ? entries.at(-1)?.revision : undefined) ?? pipeline.revision
  const revisionNumber = query.revision ?? own
  const handled = isHandled && revisionNumber === own
  const revision = await findRevision(deps.db, pipeline.id, revisionNumber)
  if (!revision && query.revision !== undefined)
    throw invalidRequest([{ path: '/query/revision', message: `is not a revision of the pipeline, whose latest is ${pipeline.revision}` }])
  if (!revision) throw new ServiceError('conflict', `revision ${revisionNumber}, which handled the record, is no longer known`)
  await deps.deadLetters.catchUp(pipeline)
  const failures = await listFailuresOf(deps.db, pipeline.id, layout.topicId, query.partition, query.offset)
  const deadLetters = failures.filter(({ status }) => status !== 'copy')
  const { trace, uncertain } = await traceAsHandled(deps, revision.definition, record, {
    letters: failures,
    isHandled: handled,
    mayBeOff: await isCanaryOff(deps, pipeline, revision, record),
  })
  // What an external system refuses is known from its dead letters alone.
  const refused = failures.findLast(
    ({ step, revision: failedIn }) =>
      failedIn === revisionNumber && step > revision.definition.steps.length && trace.outcome === 'delivered',
  )
  const redrives = failures.filter(({ status }) => status === 'redriven' || status === 'copy')
  const jobs = await listJobRevisions(
    deps.db,
    redrives.flatMap(({ job_id }) => job_id ?? []),
  )
  const failedAgain = new Set(redrives.flatMap(({ status, job_id }) => (status === 'copy' ? [job_id] : [])))
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      revision: revisionNumber,
      handled,
      ...trace,
      ...(uncertain === undefined ? {} : { uncertain }),
      ...(refused ? { outcome: 'dead_letter' as const, reason: refusal(refused.error_code, refused.error_message) } : {}),
      dead_letter_ids: deadLetters.map(deadLetterId),
      redriven: deadLetters.length > 0 && deadLetters.every(({ status }) => status === 'redriven'),
      redrives: jobs.map(({ id, revision: ran, created_at }) => ({
        job_id: id,
        revision: ran,
        at: created_at.toISOString(),
        outcome: failedAgain.has(id) ? ('dead_letter' as const) : ('redriven' as const),
      })),
    },
  }
})

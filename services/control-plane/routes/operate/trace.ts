/** Explain runs one record through the revision that handled it; preview runs real records through a chain. Neither writes or commits. */
import { explainContract, previewContract } from '../../../../shared/api/operate.ts'
import { invalidRequest, notFound, ServiceError, unavailable, type Detail } from '../../service-error.ts'
import { deadLetterId, listDeadLettersOf } from '../../store/dead-letters.ts'
import { findRevision, listLedger } from '../../store/pipelines.ts'
import { chooseRecords, partitionsAsked } from '../../trace/choose-records.ts'
import { traceThrough, versionsFor } from '../../trace/trace.ts'
import { getPipeline } from '../get-pipeline.ts'
import { operation } from '../operation.ts'
import { assertChainStarts, resolveSteps } from '../../definitions/resolve-steps.ts'

export const explain = operation(explainContract, async (deps, caller, { params, query }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const { definition } = pipeline
  const layout = await deps.cluster.describeTopic(definition.source.topic)
  if (!layout) throw unavailable('the source’s topic')
  if (query.partition >= layout.leaders.length)
    throw invalidRequest([{ path: '/query/partition', message: `must be below ${layout.leaders.length}, the source’s partition count` }])
  const offset = BigInt(query.offset)
  const record = await deps.sourceReader.at(layout, query.partition, offset)
  if (!record) throw notFound('a record at this offset')
  const committed = await deps.cluster.committedOffsets(definition.group_id, definition.source.topic, [query.partition])
  await deps.catchUpLedger()
  const entries = (await listLedger(deps.db, pipeline.id)).filter(
    ({ partition, from_offset }) => partition === query.partition && from_offset <= offset,
  )
  // Records before the pipeline's start were never handled by it: the ledger has no entry for them.
  const handled = offset < (committed.get(query.partition)?.offset ?? 0n) && entries.length > 0
  const revisionNumber = (handled ? entries.at(-1)?.revision : undefined) ?? pipeline.revision
  const revision = await findRevision(deps.db, pipeline.id, revisionNumber)
  if (!revision) throw new ServiceError('conflict', `revision ${revisionNumber}, which handled the record, is no longer known`)
  const [trace] = await traceThrough(deps, versionsFor(revision.definition, record), [record])
  await deps.deadLetters.catchUp(pipeline)
  const deadLetters = await listDeadLettersOf(deps.db, pipeline.id, query.partition, query.offset)
  // The chain delivered the record, but the sink refused it.
  const refused = deadLetters.find(({ step }) => step > revision.definition.steps.length && trace!.outcome === 'delivered')
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      revision: revisionNumber,
      handled,
      ...trace!,
      ...(refused
        ? { outcome: 'dead_letter' as const, reason: `the sink refused the record (${refused.error_code}): ${refused.error_message}` }
        : {}),
      dead_letter_ids: deadLetters.map(deadLetterId),
      redriven: deadLetters.length > 0 && deadLetters.every(({ status }) => status === 'redriven'),
    },
  }
})

export const preview = operation(previewContract, async (deps, caller, { params, body }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const { from, limit, partition, processors } = body ?? { from: 'latest' as const, limit: 10 }
  const layout = await deps.cluster.describeTopic(pipeline.definition.source.topic)
  if (!layout) throw unavailable('the source’s topic')
  const partitions = partitionsAsked(layout, from, partition, 'source')
  const steps =
    processors === undefined
      ? pipeline.definition.steps
      : await (async () => {
          const details: Detail[] = []
          const resolved = await resolveSteps(deps.db, caller.accountId, processors, details)
          await assertChainStarts(deps, pipeline, resolved, details)
          return resolved.map((step) => step.definition)
        })()
  const { records, isCut } = await chooseRecords(deps, layout, partitions, from, limit, steps.length)
  const traces = await traceThrough(deps, { ...pipeline.definition, steps }, records)
  return { status: 200, body: { pipeline_id: pipeline.id, records: traces, ...(isCut ? { truncated: true as const } : {}) } }
})

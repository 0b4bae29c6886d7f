/** Changes a pipeline's sink with its next revision: another config of the same connector that keeps the position in the same location. */
import type { PipelineRequest } from '../../../../shared/api/pipeline-requests.ts'
import { invalidRequest, type Detail } from '../../service-error.ts'
import type { SinkDefinition } from '../../../../shared/model/definition.ts'
import type { Queryable } from '../../store/database.ts'
import type { PipelineRow } from '../../store/pipelines.ts'
import { addUses, replaceUses } from '../../store/uses.ts'
import { checkEndpoint, type CheckDeps } from '../../definitions/check-endpoint.ts'
import type { Caller } from '../../deps.ts'
import { getPipeline } from '../own-pipeline.ts'
import {
  connectorIdOf,
  lockStreamsOf,
  movedMembers,
  needsOtherOrder,
  resolveConfig,
  resolveEndpoint,
  sinkDefinitionOf,
  usesOf,
} from '../../definitions/resolve-endpoint.ts'

type Endpoint = PipelineRequest['sink']

/** Checks that nothing changes that can't; returns the new config as parsed. Throws invalidRequest. */
function assertSamePlace(before: Endpoint, after: Endpoint): Record<string, unknown> {
  const connectorId = connectorIdOf(before)
  if (connectorIdOf(after) !== connectorId)
    throw invalidRequest([{ path: '/sink/connector_id', message: `can't be changed: the pipeline's sink is ${connectorId}` }])
  const details: Detail[] = []
  const config = resolveConfig('sink', after, details)
  if (!config) throw invalidRequest(details)
  const known = resolveConfig('sink', before, []) ?? before.config
  for (const member of movedMembers(connectorId, known, config))
    details.push({ path: `/sink/config/${member}`, message: "can't be changed: the sink keeps the pipeline's position there" })
  if (details.length > 0) throw invalidRequest(details)
  return config
}

const sinkOfRequest = ({ request }: PipelineRow): Endpoint => (request as PipelineRequest).sink

/** Connects to the new sink to check it, outside of any transaction. Throws invalidRequest. */
export async function assertSinkReachable(deps: CheckDeps, caller: Caller, id: string, sink: Endpoint): Promise<void> {
  const row = await getPipeline(deps, caller, id)
  const config = assertSamePlace(sinkOfRequest(row), sink)
  const faults = await checkEndpoint(deps, caller.accountId, 'sink', { connector_id: connectorIdOf(sink), config }, '/sink/config')
  if (faults.length > 0) throw invalidRequest(faults)
}

/**
 * The next revision's sink. `fields`: the names and types of the records, where the change may affect them. Throws invalidRequest if the
 * requested sink is not possible.
 */
export async function sinkOf(
  trx: Queryable,
  row: PipelineRow,
  request: PipelineRequest,
  asked: Partial<Pick<PipelineRequest, 'sink' | 'processors'>>,
  fields: Record<string, string> | undefined,
): Promise<SinkDefinition> {
  const { definition, account_id } = row
  const own = definition.sink
  const details: Detail[] = []
  const resolveSource = () => resolveEndpoint(trx, account_id, 'source', request.source, details)
  if (!asked.sink) {
    if (own.kind === 'topic') return { ...own, on_error: request.on_error }
    const source = asked.processors ? await resolveSource() : undefined
    return { ...own, on_error: request.on_error, fields: source ? fields : own.fields }
  }
  await lockStreamsOf(trx, account_id, [request.source, asked.sink])
  const source = await resolveSource()
  const before = sinkOfRequest(row)
  assertSamePlace(before, asked.sink)
  const sink = await resolveEndpoint(trx, account_id, 'sink', asked.sink, details)
  if (sink?.kind === 'stream' && sink.stream.topic === definition.source.topic)
    details.push({ path: '/sink/config/stream_id', message: 'must not be the source: the pipeline would read its own output forever' })
  if (source && sink && needsOtherOrder(definition, source, sink))
    details.push({
      path: '/sink/config/mode',
      message: 'needs records in the order of their keys, which this pipeline’s source does not keep',
    })
  if (details.length > 0 || !source || !sink) throw invalidRequest(details)
  // Planned ranges and running jobs continue with the earlier sink, so its secrets stay in use as long as the pipeline exists. A stream
  // that a job still writes to is kept by the job (`listJobsInto`).
  await addUses(trx, row.id, usesOf([sink]))
  if (sink.kind === 'stream')
    await replaceUses(
      trx,
      row.id,
      ['stream'],
      usesOf([source, sink]).filter(({ kind }) => kind === 'stream'),
    )
  return sinkDefinitionOf(sink, asked.sink.config, {
    fields,
    ...(own.kind === 'connector' && own.origin !== undefined ? { origin: own.origin } : {}),
    on_error: request.on_error,
  })
}

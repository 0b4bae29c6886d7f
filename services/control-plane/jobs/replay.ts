/** Replay: a bounded part of the pipeline's source becomes the input of a job. */
import { inTransaction } from '../store/database.ts'
import type { ReplayRequest } from '../../../shared/api/jobs.ts'
import { layoutOf } from '../layout-of.ts'
import { invalidRequest, type Detail } from '../service-error.ts'
import { newId } from '../../../shared/model/ids.ts'
import type { ListedJob } from '../store/jobs.ts'
import type { PipelineRow } from '../store/pipelines.ts'
import { findStream } from '../store/streams.ts'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { assertMade, jobDefinition, startJob, storeJob, type OnStored, type Ranges } from './jobs.ts'
import { topicSinkOf } from '../definitions/resolve-endpoint.ts'
import { resolvePlace } from '../definitions/stream-places.ts'

export async function replay(
  deps: Pick<Deps, 'cluster' | 'db' | 'names' | 'notifyPublisher' | 'withAdmin'>,
  pipeline: PipelineRow,
  body: z.output<typeof ReplayRequest>,
  onStored: OnStored,
): Promise<ListedJob> {
  assertMade(pipeline)
  const { cluster, db } = deps
  const { topic } = pipeline.definition.source
  const layout = await layoutOf(cluster, topic, 'the source’s topic')
  const sink = body.sink && (await findStream(db, pipeline.account_id, body.sink.stream_id))
  if (body.sink && sink?.status !== 'active')
    throw invalidRequest([{ path: '/sink/stream_id', message: 'is not the id of an active stream' }])
  if (sink?.topic === topic)
    throw invalidRequest([{ path: '/sink/stream_id', message: 'must not be the source: the pipeline would read what the replay writes' }])
  const from = await resolvePlace(cluster, layout, body.from, '/from')
  const to = await resolvePlace(cluster, layout, body.to, '/to')
  const ranges: Ranges = {}
  let total = 0
  const backwards: Detail[] = []
  // If offsets are given, only the partitions that they name are replayed.
  const named =
    typeof body.from === 'object' && 'offsets' in body.from ? Object.keys(body.from.offsets).map(Number) : [...layout.leaders.keys()]
  for (const partition of named) {
    const [first, until] = [from.get(partition) ?? 0n, to.get(partition) ?? 0n]
    if (until < first) backwards.push({ path: '/to', message: `is before "from" in partition ${partition}` })
    if (until <= first) continue
    ranges[String(partition)] = [[String(first), String(until)]]
    total += Number(until - first)
  }
  if (backwards.length > 0 && (total === 0 || typeof body.to === 'object')) throw invalidRequest(backwards)
  const input = { job_id: newId('job'), kind: 'replay' as const, ranges, records_per_second_max: body.records_per_second ?? null }
  const own = pipeline.definition.sink
  const other = sink && topicSinkOf(sink, { compression: own.kind === 'topic' ? own.compression : 'none', on_error: own.on_error })
  const definition = jobDefinition(deps.names, pipeline, input, layout, other)
  const first = new Map([...from].filter(([partition]) => ranges[String(partition)]))
  const store = () => inTransaction(db, async (trx) => ({ job: await storeJob(trx, definition, total, onStored) }))
  return (await startJob(deps, input.job_id, layout, first, store)).job
}

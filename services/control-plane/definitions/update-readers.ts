/** Gives the pipelines that use a stream a next revision that knows what has changed of it: its schemas, or its topic's settings. */
import { isDeepStrictEqual } from 'node:util'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Queryable } from '../store/database.ts'
import { lockPipeline, type PipelineRow } from '../store/pipelines.ts'
import { listPipelineIdsUsing } from '../store/uses.ts'
import type { StreamRow } from '../store/streams.ts'
import { anew, storeRevision } from '../publisher/enqueue.ts'
import { bytesMaxOf, letterBytesMaxOf, streamCodecOf } from './resolve-endpoint.ts'

/** Publishes what `next` makes of the definitions of the stream's pipelines, where that differs. Answers whether any did. */
async function reviseUsers(
  trx: Queryable,
  stream: StreamRow,
  next: (definition: PipelineDefinition) => PipelineDefinition,
  changeOf: (row: PipelineRow) => Parameters<typeof storeRevision>[3] = () => ({}),
): Promise<boolean> {
  let hasAny = false
  for (const id of await listPipelineIdsUsing(trx, 'stream', stream.id)) {
    const row = await lockPipeline(trx, id)
    if (!row || row.status === 'deleting') continue
    const definition = next(row.definition)
    if (isDeepStrictEqual(definition, row.definition)) continue
    await storeRevision(trx, row, { ...definition, revision: row.revision + 1 }, changeOf(row))
    hasAny = true
  }
  return hasAny
}

/** Lets the pipelines that read the stream read values of its new schema. */
export async function updateReaders(trx: Queryable, stream: StreamRow): Promise<void> {
  const codec = await streamCodecOf(trx, stream)
  if (!codec) return
  await reviseUsers(trx, stream, (definition) => {
    const { source } = definition
    return source.kind === 'topic' && source.topic === stream.topic ? { ...definition, source: { ...source, codec } } : definition
  })
}

/** How large a dead letter of the pipeline may have to be, with the stream's present limit: its topic never gets a smaller limit. */
export const letterBytesMaxBy = (stream: StreamRow, { source, dead_letter_bytes_max }: PipelineDefinition): number =>
  source.topic === stream.topic ? Math.max(dead_letter_bytes_max, letterBytesMaxOf(stream)) : dead_letter_bytes_max

/**
 * Lets the pipelines that use an adopted stream know its topic's limit for a batch, and whether it is compacted. Their tasks start anew,
 * because one that is writing a batch beyond the limit fails. `roomy`: the pipelines whose topic of dead letters has room. Throws where one
 * was made meanwhile. Answers whether any was revised.
 */
export async function updateLimits(trx: Queryable, stream: StreamRow, roomy: ReadonlySet<string>): Promise<boolean> {
  const next = (definition: PipelineDefinition): PipelineDefinition => {
    const { sink, pipeline_id } = definition
    const dead_letter_bytes_max = letterBytesMaxBy(stream, definition)
    if (dead_letter_bytes_max > definition.dead_letter_bytes_max && !roomy.has(pipeline_id))
      throw new Error(`the pipeline ${pipeline_id} was made meanwhile`)
    const isSink = sink.kind === 'topic' && sink.topic === stream.topic
    return {
      ...definition,
      dead_letter_bytes_max,
      sink: isSink ? { ...sink, bytes_max: bytesMaxOf(stream), is_compacted: stream.is_compacted } : sink,
    }
  }
  return reviseUsers(trx, stream, next, anew)
}

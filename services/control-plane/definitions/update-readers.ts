/** Gives the pipelines that read a stream a next revision that can also read values of the stream's new schema. */
import type { Queryable } from '../store/database.ts'
import { listPipelinesReading, lockPipeline } from '../store/pipelines.ts'
import { schemasOf, type StreamRow } from '../store/streams.ts'
import { publishRevision } from '../publisher/enqueue.ts'
import { sourceCodecOf } from './resolve-endpoint.ts'

export async function updateReaders(trx: Queryable, stream: StreamRow): Promise<void> {
  const codec = sourceCodecOf(stream, await schemasOf(trx, stream.id))
  if (!codec.source_codec) return
  for (const id of await listPipelinesReading(trx, stream.id)) {
    const row = await lockPipeline(trx, id)
    if (!row || row.status === 'deleting' || row.definition.source_topic !== stream.topic) continue
    await publishRevision(trx, row, { ...row.definition, ...codec, revision: row.revision + 1 })
  }
}

/** Gives the pipelines that read a stream a next revision that can also read values of the stream's new schema. */
import type { Queryable } from '../store/database.ts'
import { listPipelinesReading, lockPipeline } from '../store/pipelines.ts'
import { schemasOf, type StreamRow } from '../store/streams.ts'
import { publishRevision } from '../publisher/enqueue.ts'
import { streamCodecOf } from './resolve-endpoint.ts'

export async function updateReaders(trx: Queryable, stream: StreamRow): Promise<void> {
  const codec = streamCodecOf(stream, await schemasOf(trx, stream.id))
  if (!codec) return
  for (const id of await listPipelinesReading(trx, stream.id)) {
    const row = await lockPipeline(trx, id)
    if (!row || row.status === 'deleting') continue
    const { source } = row.definition
    if (source.kind !== 'topic' || source.topic !== stream.topic) continue
    await publishRevision(trx, row, { ...row.definition, source: { ...source, codec }, revision: row.revision + 1 })
  }
}

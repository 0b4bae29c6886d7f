/** A stream's records over HTTP: pages by number or by cursor, and writes. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { KafkaError } from '../../../shared/kafka/kafka-error.ts'
import { hasMoved } from '../../../shared/kafka/wire/error-codes.ts'
import { MemberRefused } from '../../../shared/codecs/member-refused.ts'
import { pointer } from '../../../shared/model/json-pointer.ts'
import { invalidRequest, type Detail } from '../service-error.ts'
import type { Database } from '../store/database.ts'
import type { StreamRow } from '../store/streams.ts'
import type { KeyedWrite } from '../deps.ts'
import type { Pace } from '../concurrency/pacing.ts'
import { turns } from '../../../shared/model/turns.ts'
import { createBatchCache } from './batch-cache.ts'
import { decodeCursor } from './cursor.ts'
import { createLayouts } from './layouts.ts'
import { createPageReader, type PageQuery } from './read-pages.ts'
import { bytesOf, type PushedRecords, type RawRecords } from '../http/raw-records.ts'
import { keyIn, keyReader } from './record-keys.ts'
import { createRecordIndex } from './record-index.ts'
import { createRecordValidator } from './validate-records.ts'
import { createStreamCodec } from './stream-codec.ts'
import { createRecordWriter, type Target, type Values, type Written } from './write-records.ts'

export type StreamData = {
  /** The page as the bytes of its JSON. */
  readPage(stream: StreamRow, query: PageQuery, pace: Pace): Promise<Buffer>
  /** Writes all records or none. */
  write(stream: StreamRow, records: RawRecords, keyed?: KeyedWrite): Promise<Written>
  /** Writes to a topic that is not a stream, without validating the records. Every record gets `headers`, which are already encoded. */
  writeUnchecked(target: Target, records: PushedRecords, keyed?: KeyedWrite, headers?: Uint8Array): Promise<Written>
  notifyIndex(stream: { id: string; topic: string }): void
  close(): Promise<void>
}

/** The most that a record takes in a batch besides its key and value. */
const AROUND_BYTES = 61 + 40

export function createStreamData(db: Database, cluster: Cluster, now: () => number): StreamData {
  const connections = cluster.openConnections('stream-data')
  const index = createRecordIndex(db, cluster, connections, now)
  const validate = createRecordValidator()
  const layouts = createLayouts(cluster)
  const writer = createRecordWriter(cluster, layouts, now)
  const codec = createStreamCodec(db)
  const pages = createPageReader(createBatchCache(connections), index, codec)

  /** Runs `work` with the topic's layout, and once more with a fresh one if the topic was recreated or its leaders have moved. */
  async function withLayout<T>(stream: { topic: string }, work: (layout: TopicLayout) => Promise<T>): Promise<T> {
    try {
      return await work(await layouts.of(stream.topic))
    } catch (error) {
      if (!(error instanceof KafkaError) || !hasMoved(error.code)) throw error
      layouts.forget(stream.topic)
      return work(await layouts.of(stream.topic))
    }
  }

  return {
    readPage: (stream, query, pace) =>
      withLayout(stream, async (layout) => {
        const offsets = query.cursor === undefined ? undefined : decodeCursor(query.cursor, stream.id, layout.leaders.length)
        const counts = await index.count(stream, layout)
        const asked = { stream, layout, query, pace }
        return offsets ? pages.byCursor(asked, counts, offsets) : pages.byNumber(asked, counts)
      }),
    async write(stream, raw, keyed) {
      await validate(stream, raw.values)
      const { key_field, schema_id } = stream
      const bytesMax = stream.batch_bytes_max ?? LIMITS.topic_batch_bytes_max
      const details: Detail[] = []
      const coded: Uint8Array[] | undefined = stream.format === 'json' ? undefined : []
      await turns(raw.values.length, (at) => {
        try {
          coded?.push(codec.encode(stream, bytesOf(raw, at)))
          const key = keyIn(raw, at, key_field)
          const size =
            (coded ? coded[at]!.length : raw.spans[2 * at + 1]! - raw.spans[2 * at]!) + (key === null ? 0 : Buffer.byteLength(key))
          if (size + AROUND_BYTES > bytesMax)
            details.push({ path: `/records/${at}`, message: `is larger than the ${bytesMax - AROUND_BYTES} bytes that the topic accepts` })
        } catch (error) {
          details.push({ path: pointer(error instanceof MemberRefused ? error.path : [], `/records/${at}`), message: reasonOf(error) })
        }
        return details.length < LIMITS.details_max
      })
      if (details.length > 0) throw invalidRequest(details)
      const keyOf = (at: number) => keyIn(raw, at, key_field)
      return writer.write(stream, valuesOf(raw, schema_id ?? 0, keyOf, coded), bytesMax, keyed)
    },
    writeUnchecked: (target, raw, keyed, headers) =>
      writer.write(target, valuesOf(raw, 0, keyReader(raw, target.key_field), undefined, headers), LIMITS.topic_batch_bytes_max, keyed),
    notifyIndex: (stream) => index.notify(stream),
    async close() {
      await writer.close()
      await connections.close().catch(() => {})
    },
  }
}

/** The records' original bytes, or their encoded form (`coded`) if the stream is not JSON. */
function valuesOf(
  raw: PushedRecords,
  schemaId: number,
  keyOf: (at: number) => string | null,
  coded?: Uint8Array[],
  headers?: Uint8Array,
): Values {
  return {
    schemaId,
    count: raw.spans.length / 2,
    add(into, at) {
      const key = keyOf(at)
      if (key === null && !coded && !headers) into.addValue(raw.bytes, raw.spans[2 * at]!, raw.spans[2 * at + 1]!)
      else into.add(key === null ? null : Buffer.from(key), coded ? coded[at]! : bytesOf(raw, at), headers)
    },
  }
}

/**
 * Reads back from the dead-letter topic which records of a planned range already have dead letters. A range that is written again must
 * neither write a second dead letter for a record nor deliver it. Cold path: after a crash, or when another task takes over.
 */
import type { Cluster, Connections, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { KafkaError } from '../../../shared/kafka/kafka-error.ts'
import { batchesIn, sectionOf } from '../../../shared/kafka/protocol/batches-in.ts'
import { decodeRecords } from '../../../shared/kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS } from '../../../shared/kafka/wire/error-codes.ts'
import { fetchBatches } from '../../../shared/kafka/wire/fetch.ts'
import { splitDeadLetterHeaders, TOPIC_ID_HEADER, type AddedHeaders } from '../../../shared/model/dead-letter-headers.ts'

const FETCH_BYTES = 8 << 20
const WAIT_MS = 100
/** Longer than any transaction stays open. */
const OPEN_MS = 20_000

/** `redrive`: the id of the redrive job, when the range is one of dead letters. */
export type Range = { topic: string; topicId: string; partition: number; from: bigint; to: bigint; redrive: string | undefined }

/** The offset, in the range's partition, of the record that the dead letter stands for; undefined when it stands for another record. */
function offsetIn({ topic, topicId, partition, redrive }: Range, added: AddedHeaders): bigint | undefined {
  if (redrive !== undefined) return added['dps.job'] === redrive ? BigInt(added['dps.job_offset'] ?? -1) : undefined
  const isOfTopic = added['__connect.errors.topic'] === topic && (added[TOPIC_ID_HEADER] ?? topicId) === topicId
  const isOfRange = isOfTopic && Number(added['__connect.errors.partition']) === partition
  return isOfRange ? BigInt(added['__connect.errors.offset'] ?? -1) : undefined
}

/** Offsets of the range's records that have dead letters in `deadLetterPartition`, at `deadLettersFrom` or later. */
export async function readDeadLettered(
  cluster: Cluster,
  connections: Connections,
  letters: TopicLayout,
  deadLetterPartition: number,
  deadLettersFrom: bigint,
  range: Range,
): Promise<bigint[]> {
  const offsetAt = async (which: 'earliest' | 'written') =>
    (await cluster.offsets(letters, [deadLetterPartition], which)).get(deadLetterPartition) ?? 0n
  const end = await offsetAt('written')
  /** Dead letters beyond the account's quotas are deleted, also those that a plan names: their records' failures are written again. */
  const startAt = async (from: bigint): Promise<bigint> => {
    const earliest = await offsetAt('earliest')
    return earliest > from ? earliest : from
  }
  const deadline = performance.now() + OPEN_MS
  const found: bigint[] = []
  for (let position = await startAt(deadLettersFrom); position < end;) {
    const answer = await fetchBatches(await connections.leader(letters.leaders[deadLetterPartition]!), {
      topicId: letters.topicId,
      partitions: [{ partition: deadLetterPartition, offset: position, bytesMax: FETCH_BYTES }],
      waitMs: WAIT_MS,
      bytesMin: 1,
      bytesMax: FETCH_BYTES,
    })
    const [part] = answer.partitions
    if (part?.errorCode === KAFKA_ERRORS.offsetOutOfRange) {
      const start = await startAt(position)
      // Trimmed while it was being read.
      if (start > position) {
        position = start
        continue
      }
    }
    if (answer.errorCode !== 0 || !part || part.errorCode !== 0) throw new KafkaError(part?.errorCode ?? answer.errorCode)
    const before = position
    for (const batch of part.bytes ? batchesIn(part.bytes, part.aborted) : []) {
      position = batch.nextOffset
      for (const { headers } of batch.isData ? decodeRecords(sectionOf(batch), batch.header.recordCount) : []) {
        const offset = offsetIn(range, splitDeadLetterHeaders(headers).added)
        if (offset !== undefined && offset >= range.from && offset < range.to) found.push(offset)
      }
    }
    if (position > before) continue
    // Another task's open transaction blocks reading; it ends within its timeout (`transaction.timeout.ms`).
    if (performance.now() > deadline) throw new KafkaError(KAFKA_ERRORS.unstableOffsetCommit)
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
  }
  return found
}

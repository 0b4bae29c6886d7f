/**
 * Selects a job's part of a batch: only records inside its ranges. For a redrive, restores each record as it was before it became a dead
 * letter, and reads its origin from the dead-letter headers. Cold path.
 */
import { decodeRecords, encodeRecords, type BatchHeader, type KafkaRecord } from '../../../shared/kafka/protocol/record-batch.ts'
import {
  ownTimestamp,
  splitDeadLetterHeaders,
  TOPIC_ID_HEADER,
  type AddedHeaders,
  type DeadLetterHeader,
} from '../../../shared/model/dead-letter-headers.ts'
import type { JobInput } from '../../../shared/model/definition.ts'

/** Where a record was first read, and its attempts and redrives so far. */
export type Origin = {
  topic: string
  /** Undefined for a redrive of a dead letter that does not say it. */
  topicId: string | undefined
  partition: number
  offset: bigint
  attempts: number
  redrives: number
  /** The record's own, in milliseconds. */
  timestamp: bigint
  /** For a redrive: the job, and the offset of the dead letter it reads. */
  job?: { id: string; offset: bigint }
}

export type Selected = { section: Buffer; count: number; records: KafkaRecord[]; originOf(delta: number): Origin | undefined }

export function selectRecords(section: Buffer, header: BatchHeader, partition: number, job: JobInput): Selected {
  const ranges = (job.ranges[String(partition)] ?? []).map(([from, until]) => [BigInt(from), BigInt(until)] as const)
  const origins = new Map<number, Origin>()
  const kept: KafkaRecord[] = []
  for (const record of decodeRecords(section, header.recordCount)) {
    const offset = header.baseOffset + BigInt(record.offsetDelta)
    if (!ranges.some(([from, until]) => offset >= from && offset < until)) continue
    if (job.kind === 'redrive') {
      const { own, added } = splitDeadLetterHeaders(record.headers)
      const origin = { ...originOf(added, header.baseTimestamp + record.timestampDelta), job: { id: job.job_id, offset } }
      origins.set(record.offsetDelta, origin)
      kept.push({ ...record, headers: own, timestampDelta: origin.timestamp - header.baseTimestamp })
    } else kept.push(record)
  }
  return { section: encodeRecords(kept), count: kept.length, records: kept, originOf: (delta) => origins.get(delta) }
}

function originOf(added: AddedHeaders, fallbackTimestamp: bigint): Origin {
  const number = (name: DeadLetterHeader, fallback: number) => Number(added[name] ?? fallback) || fallback
  return {
    topic: added['__connect.errors.topic'] ?? '',
    topicId: added[TOPIC_ID_HEADER],
    partition: number('__connect.errors.partition', 0),
    offset: BigInt(added['__connect.errors.offset'] ?? 0),
    attempts: number('dps.attempt', 1),
    redrives: number('dps.redrives', 0) + 1,
    timestamp: ownTimestamp(added, fallbackTimestamp),
  }
}

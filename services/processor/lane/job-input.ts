/**
 * A job's part of a batch: only records inside its ranges, and for a redrive the record as it was before it became a dead letter, with
 * what its headers tell of where it came from. Cold path.
 */
import { decodeRecords, encodeRecords, type BatchHeader, type KafkaRecord } from '../../../shared/kafka/protocol/record-batch.ts'
import type { JobInput } from '../../../shared/model/definition.ts'

/** Where a record was read first, and what it has been through. */
export type Origin = { topic: string; partition: number; offset: bigint; attempts: number; redrives: number }

export type Selected = { section: Buffer; count: number; records: KafkaRecord[]; originOf(delta: number): Origin | undefined }

const OWN_HEADER = /^(__connect\.errors\.|dps\.)/

export function selectRecords(section: Buffer, header: BatchHeader, partition: number, job: JobInput): Selected {
  const ranges = (job.ranges[String(partition)] ?? []).map(([from, until]) => [BigInt(from), BigInt(until)] as const)
  const origins = new Map<number, Origin>()
  const kept: KafkaRecord[] = []
  for (const record of decodeRecords(section, header.recordCount)) {
    const offset = header.baseOffset + BigInt(record.offsetDelta)
    if (!ranges.some(([from, until]) => offset >= from && offset < until)) continue
    if (job.kind === 'redrive') {
      origins.set(record.offsetDelta, originOf(record))
      kept.push({ ...record, headers: record.headers.filter(([name]) => !OWN_HEADER.test(name)) })
    } else kept.push(record)
  }
  return { section: encodeRecords(kept), count: kept.length, records: kept, originOf: (delta) => origins.get(delta) }
}

/** The last header of a name counts: a record may have brought one of the same name. */
function originOf({ headers }: KafkaRecord): Origin {
  const last = (name: string) => headers.findLast(([each]) => each === name)?.[1]?.toString('utf8')
  return {
    topic: last('__connect.errors.topic') ?? '',
    partition: Number(last('__connect.errors.partition') ?? 0),
    offset: BigInt(last('__connect.errors.offset') ?? 0),
    attempts: Number(last('dps.attempt') ?? 1),
    redrives: Number(last('dps.redrives') ?? 0) + 1,
  }
}

/** Builds a failed record's dead letter: key, value and headers byte for byte, plus headers that say what failed where. Cold path. */
import { TRANSACTIONAL, compressBatch, encodeBatch, type KafkaRecord } from '../../../shared/kafka/protocol/record-batch.ts'
import {
  JOB_HEADERS,
  DEAD_LETTER_HEADERS,
  TOPIC_ID_HEADER,
  refusalOfHeaders,
  type JobHeader,
  type DeadLetterHeader,
} from '../../../shared/model/dead-letter-headers.ts'
import { cutText, FAILURE_CHARACTERS_MAX } from '../../../shared/model/text.ts'
import type { RecordFailure } from '../../../shared/smartmodule/host/spec.ts'
import type { Origin } from './job-input.ts'
import type { LaneChain, OutputBatch } from './messages.ts'

/** Codes are short; one that came with a record's headers may be anything. */
const CODE_CHARACTERS_MAX = 200

export type DeadLetter = { record: KafkaRecord; bytes: number }

/** Adds its headers after the record's own, in the order of `DEAD_LETTER_HEADERS`. */
export function deadLetterRecord(record: KafkaRecord, failure: RecordFailure, spec: LaneChain, origin: Origin, nowMs: number): DeadLetter {
  const step = spec.steps[failure.step]
  const { code, message } = refusalOfHeaders(record.headers) ?? failure
  const values: Record<DeadLetterHeader, string> = {
    '__connect.errors.topic': origin.topic,
    '__connect.errors.partition': String(origin.partition),
    '__connect.errors.offset': String(origin.offset),
    '__connect.errors.stage': step || spec.rows === undefined ? 'TRANSFORMATION' : 'TASK_PUT',
    '__connect.errors.exception.class.name': cutText(code, CODE_CHARACTERS_MAX),
    // Within `dead_letter_headers_bytes`, whether the source, a codec, a step or the sink says it.
    '__connect.errors.exception.message': cutText(message, FAILURE_CHARACTERS_MAX),
    'dps.pipeline': spec.pipelineId,
    'dps.revision': String(spec.revision),
    'dps.step': String(failure.step + 1),
    'dps.module': step?.name ?? '',
    'dps.module_version': ((failure.isCanarys && step?.canary) || step)?.version ?? '',
    'dps.attempt': String(origin.attempts + failure.attempts),
    'dps.redrives': String(origin.redrives),
    'dps.timestamp': String(origin.timestamp),
    'dps.failed_at': new Date(nowMs).toISOString(),
  }
  const job: Record<JobHeader, string> | undefined = origin.job && { 'dps.job': origin.job.id, 'dps.job_offset': String(origin.job.offset) }
  const headers: KafkaRecord['headers'] = [
    ...record.headers,
    ...(origin.topicId === undefined ? [] : [[TOPIC_ID_HEADER, Buffer.from(origin.topicId)] satisfies [string, Buffer]]),
    ...(job ? JOB_HEADERS.map((name): [string, Buffer] => [name, Buffer.from(job[name], 'utf8')]) : []),
    ...DEAD_LETTER_HEADERS.map((name): [string, Buffer] => [name, Buffer.from(values[name], 'utf8')]),
  ]
  const bytes = headers.reduce(
    (sum, [name, value]) => sum + name.length * 3 + (value?.length ?? 0) + 10,
    (record.key?.length ?? 0) + (record.value?.length ?? 0) + 40,
  )
  return { record: { ...record, headers }, bytes }
}

/** Groups dead letters into batches of about `bytesMax`; a batch too large for its topic (the source was compressed) is compressed. */
export function deadLetterBatches(
  letters: DeadLetter[],
  partition: number,
  nowMs: number,
  bytesMax: number,
  topicBytesMax: number,
): OutputBatch[] {
  const batches: OutputBatch[] = []
  let from = 0
  let bytes = 0
  const close = (to: number) => {
    if (to === from) return
    const records = letters.slice(from, to).map(({ record }, index) => ({ ...record, offsetDelta: index, timestampDelta: 0n }))
    const plain = encodeBatch(records, BigInt(nowMs), TRANSACTIONAL)
    const batch = plain.length > topicBytesMax ? compressBatch(plain, 'zstd') : plain
    batches.push({ partition, bytes: batch.buffer as ArrayBuffer, length: batch.length, records: records.length })
    from = to
    bytes = 0
  }
  for (const [index, letter] of letters.entries()) {
    if (index > from && bytes + letter.bytes > bytesMax) close(index)
    bytes += letter.bytes
  }
  close(letters.length)
  return batches
}

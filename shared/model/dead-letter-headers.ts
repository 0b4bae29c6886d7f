/**
 * The headers that a dead letter adds after its record's own: always all of these, in this order, at the end, so that a record which
 * already has some of these names (a dead letter of Kafka Connect, for example) keeps its own. `__connect.errors.*` are Kafka Connect's
 * names (KIP-298).
 */
export const DEAD_LETTER_HEADERS = [
  '__connect.errors.topic',
  '__connect.errors.partition',
  '__connect.errors.offset',
  '__connect.errors.stage',
  '__connect.errors.exception.class.name',
  '__connect.errors.exception.message',
  'dps.pipeline',
  'dps.revision',
  'dps.step',
  'dps.module',
  'dps.module_version',
  'dps.attempt',
  'dps.redrives',
  'dps.timestamp',
  'dps.failed_at',
] as const
/** The name of a header that every dead letter has. */
export type DeadLetterHeader = (typeof DEAD_LETTER_HEADERS)[number]

type Header = [key: string, value: Buffer | null]

/** Headers before DEAD_LETTER_HEADERS where a redrive wrote the dead letter: the job, and the offset of the dead letter that it read. */
export const JOB_HEADERS = ['dps.job', 'dps.job_offset'] as const
/** The name of a header that only dead letters of a redrive have. */
export type JobHeader = (typeof JOB_HEADERS)[number]

/**
 * The header before those: the id of the topic that the record is in, since a recreated topic has other records at the same offsets. Dead
 * letters of earlier versions lack it, and those versions take it for the record's own.
 */
export const TOPIC_ID_HEADER = 'dps.topic_id'

/** The values of a dead letter's headers by name. */
export type AddedHeaders = Partial<Record<DeadLetterHeader | JobHeader | typeof TOPIC_ID_HEADER, string>>

/** The record's own headers, and the values of the dead letter's headers by name; no values if the record is not a dead letter. */
export function splitDeadLetterHeaders(headers: Header[]): { own: Header[]; added: AddedHeaders } {
  const from = headers.length - DEAD_LETTER_HEADERS.length
  const isAt = (at: number, names: readonly string[]) => at >= 0 && names.every((name, index) => headers[at + index]![0] === name)
  if (!isAt(from, DEAD_LETTER_HEADERS)) return { own: headers, added: {} }
  const job = isAt(from - JOB_HEADERS.length, JOB_HEADERS) ? from - JOB_HEADERS.length : from
  const before = isAt(job - 1, [TOPIC_ID_HEADER]) ? job - 1 : job
  const added = headers.slice(before).map(([name, value]) => [name, value?.toString('utf8') ?? ''])
  return { own: headers.slice(0, before), added: Object.fromEntries(added) }
}

/** The record's own timestamp, in milliseconds; that of the dead letter, `fallback`, in those of versions that did not keep it. */
export const ownTimestamp = (added: AddedHeaders, fallback: bigint): bigint =>
  added['dps.timestamp'] === undefined ? fallback : BigInt(added['dps.timestamp'])

/**
 * Headers of a record that its source could not read (a malformed row, a corrupt object, a record too large for a topic). Its value has
 * no frame, so the first step or the sink fails it; its dead letter then reports these headers instead of that failure.
 */
const REFUSED_CODE = 'dps.refused.code'
const REFUSED_MESSAGE = 'dps.refused.message'

/** Headers that record why a source could not read a record. */
export function refusalHeaders(code: string, message: string): Header[] {
  return [
    [REFUSED_CODE, Buffer.from(code)],
    [REFUSED_MESSAGE, Buffer.from(message)],
  ]
}

/** Why the source could not read the record; undefined if it could. */
export function refusalOfHeaders(headers: Header[]): { code: string; message: string } | undefined {
  const valueOf = (name: string) => headers.find(([key]) => key === name)?.[1]?.toString('utf8')
  const code = valueOf(REFUSED_CODE)
  return code === undefined ? undefined : { code, message: valueOf(REFUSED_MESSAGE) ?? '' }
}

/**
 * Records of a request with their original bytes: parsed only for validation, written unchanged. So what JSON allows but JavaScript values
 * can't hold (digits beyond 2^53, a member given twice) reaches the topic as it was sent.
 */
import { isUtf8 } from 'node:buffer'
import { createMemberScanner, NESTED } from '../../../shared/model/json-members.ts'
import { jsonDepth } from '../../../shared/model/json-text.ts'
import { assertBounded, parseJsonBody } from './json-body.ts'
import { invalidRequest } from '../service-error.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { turns } from '../../../shared/model/turns.ts'

/** Record `i` is at the bytes from `spans[2 * i]` to `spans[2 * i + 1]`. */
export type RawRecords = PushedRecords & { values: unknown[] }
/** The same, not parsed into values. */
export type PushedRecords = { bytes: Buffer; spans: Int32Array }

const RECORDS_MAX = LIMITS.write_records_max

const LINE_FEED = 0x0a
const OPEN_ARRAY = 0x5b
const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d

export const bytesOf = ({ bytes, spans }: PushedRecords, index: number): Buffer => bytes.subarray(spans[2 * index], spans[2 * index + 1])

/** Throws 400 when the body is not UTF-8. */
export function assertUtf8(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw invalidRequest([{ path: '', message: 'the body is not UTF-8' }])
}

/** Where the lines are that are not blank. Throws 400 where they are too many records. */
export function lineSpans(bytes: Buffer, root: string): Int32Array {
  const places: number[] = []
  for (let at = 0; at < bytes.length;) {
    const found = bytes.indexOf(LINE_FEED, at)
    const next = found < 0 ? bytes.length : found
    let [from, to] = [at, next]
    while (from < to && isBlank(bytes[from]!)) from++
    while (to > from && isBlank(bytes[to - 1]!)) to--
    if (to > from) places.push(from, to)
    at = next + 1
  }
  if (places.length / 2 > RECORDS_MAX) throw invalidRequest([{ path: root, message: `must hold at most ${RECORDS_MAX} records` }])
  return Int32Array.from(places)
}

/** Each line that is not blank is a record. Throws 400 naming the first record that is not JSON by its index. */
export async function parseLines(bytes: Buffer): Promise<RawRecords> {
  const root = '/records'
  assertUtf8(bytes)
  const spans = lineSpans(bytes, root)
  const values: unknown[] = []
  await turns(spans.length / 2, (index) => {
    try {
      values.push(JSON.parse(bytes.toString('utf8', spans[2 * index], spans[2 * index + 1])))
    } catch {
      throw invalidRequest([{ path: `${root}/${index}`, message: 'is not valid JSON' }])
    }
  })
  return { bytes, spans, values }
}

/** What is in such a document beside its records is read at once. */
const BESIDE_RECORDS_MAX = 16 << 10

function parseBesideRecords(text: string): unknown {
  if (text.length > BESIDE_RECORDS_MAX)
    throw invalidRequest([{ path: '', message: `the body has more than ${BESIDE_RECORDS_MAX} characters beside an array "records"` }])
  assertBounded(text)
  return parseJsonBody(text)
}

const RECORDS = createMemberScanner(['records'], true)

/**
 * The records of a document with a member `records`, parsed one by one; `rest` is the document with none of them. No `raw` where it has no
 * such array. Throws 400.
 */
export async function parseElements(bytes: Buffer): Promise<{ rest: unknown; raw?: RawRecords; depth: number }> {
  assertUtf8(bytes)
  const depth = jsonDepth(bytes)
  if (depth < 0) throw invalidRequest([{ path: '', message: 'the body is not valid JSON' }])
  const isFound = RECORDS.scan(bytes, 0, bytes.length) === undefined && RECORDS.sorts[0] === NESTED
  const [from, to] = isFound ? [RECORDS.starts[0]!, RECORDS.ends[0]!] : [0, 0]
  if (!isFound || bytes[from] !== OPEN_ARRAY) return { rest: parseBesideRecords(bytes.toString()), depth }
  const places: number[] = []
  jsonDepth(bytes, from, to, places)
  if (places.length / 2 > RECORDS_MAX) throw invalidRequest([{ path: '/records', message: `must hold at most ${RECORDS_MAX} records` }])
  const rest = parseBesideRecords(`${bytes.toString('utf8', 0, from)}[]${bytes.toString('utf8', to)}`)
  const spans = Int32Array.from(places)
  const values: unknown[] = []
  await turns(spans.length / 2, (index) => void values.push(JSON.parse(bytes.toString('utf8', spans[2 * index], spans[2 * index + 1]))))
  return { rest, raw: { bytes, spans, values }, depth }
}

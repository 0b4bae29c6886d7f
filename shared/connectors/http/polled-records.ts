/** The records in the answer of a web service. They are counted before they are taken apart: 32 MiB may hold 16 million of them. */
import { parseExactly } from '../../model/exact-json.ts'
import { ConfigRefused } from '../connector.ts'
import { createBlockBuilder, type RecordBlock } from '../record-block.ts'

/** Records in one answer. */
export const RECORDS_MAX = 1 << 20
/** JSON values of an answer, of which records are made; each costs about 100 bytes of memory. */
export const VALUES_MAX = 4 << 20

/** What an answer holds. */
export type Polled = {
  records: string[]
  /** The parsed answer; undefined for lines. */
  document: unknown
}

/**
 * The records of `text`: its lines, or the items at the JSON pointer (RFC 6901) of a JSON document. Throws ConfigRefused for an answer of
 * more than `RECORDS_MAX` records or `VALUES_MAX` values.
 */
export function polledRecords(text: string, contentType: string, pointer: string): Polled {
  if (/ndjson|jsonl/.test(contentType)) {
    refuseMore(text, '\n', RECORDS_MAX, 'lines')
    return { records: text.split('\n').filter((line) => line.trim() !== ''), document: undefined }
  }
  refuseMore(text, ',', VALUES_MAX, 'values')
  const document = parseExactly(text)
  const found = valueAt(document, pointer)
  const list = Array.isArray(found) ? found : found === undefined || found === null ? [] : [found]
  if (list.length > RECORDS_MAX) throw tooMany(RECORDS_MAX, 'records')
  return { records: list.map((record) => JSON.stringify(record)), document }
}

/** An answer and where its records are. `behind`: how many of them were read before. `next`: JSON pointer to the next page's cursor. */
export type Answered = { body: Uint8Array; contentType: string; pointer: string; behind: number; next: string | undefined }

/** The records that are new, how many there are in all, and the cursor of the next page. */
export type PolledBlock = { block: RecordBlock; count: number; cursor: string | undefined }

/** The block's first size in bytes: a buffer of its own. */
const BLOCK_BYTES = 64 << 10

/** What an answer holds, as a block. Throws as `polledRecords` does. */
export function polledBlock({ body, contentType, pointer, behind, next }: Answered): PolledBlock {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  const { records, document } = polledRecords(text, contentType, pointer)
  const builder = createBlockBuilder(BLOCK_BYTES)
  for (let index = behind; index < records.length; index++) builder.add(null, Buffer.from(records[index]!))
  const cursor = next === undefined ? undefined : valueAt(document, next)
  const isCursor = typeof cursor === 'string' || typeof cursor === 'number'
  return { block: builder.take(), count: records.length, cursor: isCursor ? String(cursor) : undefined }
}

/** Resolves a JSON pointer (RFC 6901); undefined if nothing is there. */
export function valueAt(document: unknown, pointer: string): unknown {
  let value = document
  for (const part of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return value
}

function refuseMore(text: string, separator: string, max: number, what: string): void {
  let count = 0
  for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1)) if (++count > max) throw tooMany(max, what)
}

const tooMany = (max: number, what: string) =>
  new ConfigRefused(`the web service's answer has more than ${max} ${what}; use paging, or a smaller page`)

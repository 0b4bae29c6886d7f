/** Builds a page as the bytes of the response: JSON values are copied from the topic as stored, validated but not re-encoded. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { isUtf8 } from 'node:buffer'
import { FRAMING_BYTES, schemaIdOf } from '../../../shared/model/framing.ts'
import { jsonDepth } from '../../../shared/model/json-text.ts'
import type { Pace } from '../concurrency/pacing.ts'
import type { ReadRecord } from './walk.ts'

export type Undecodable = { index: number; partition: number; offset: string; reason: string }
export type Pagination = {
  total: number
  page: number
  limit: number
  has_more?: true
  next_cursor?: string
  approximate?: true
  undecodable?: Undecodable[]
}

/** The JSON text of a value, as bytes. Throws an Error that says why it can't be decoded. */
export type ReadValue = (value: Buffer | null) => Uint8Array

/** For JSON streams: the bytes after the framing prefix. Throws if they are not valid JSON. */
export const readJson: ReadValue = (value) => {
  schemaIdOf(value)
  const json = value!.subarray(FRAMING_BYTES)
  if (!isUtf8(json) || jsonDepth(json) < 0) throw new Error('the value is not valid JSON')
  return json
}

const NULL = Buffer.from('null')
const COMMA = Buffer.from(',')

/** A page ends once the JSON of its values has this many bytes: values of other formats may become many times as long. */
const PAGE_JSON_BYTES_MAX = 16 << 20

/**
 * `{"data":[…],"pagination":{…}}`; a value that can't be decoded is null there, and listed in `undecodable`. A page of large values takes
 * several turns. It may have fewer than the given records, of which it always has the first: `paginate` is told how many.
 */
export async function pageBytes(
  records: readonly ReadRecord[],
  read: ReadValue,
  paginate: (shown: number) => Pagination,
  pace: Pace,
): Promise<Buffer> {
  const undecodable: Undecodable[] = []
  const parts: Uint8Array[] = [Buffer.from('{"data":[')]
  let bytes = 0
  let shown = 0
  await pace.turns(records.length, (index) => {
    // What follows is less than a turn's work.
    if (bytes >= PAGE_JSON_BYTES_MAX) return 0
    const { value, partition, offset } = records[index]!
    if (index > 0) parts.push(COMMA)
    let json: Uint8Array = NULL
    try {
      json = read(value)
    } catch (error) {
      undecodable.push({ index, partition, offset: String(offset), reason: reasonOf(error) })
    }
    parts.push(json)
    bytes += json.length
    shown = index + 1
    return Math.max(value?.length ?? 0, json.length)
  })
  const pagination = paginate(shown)
  parts.push(Buffer.from(`],"pagination":${JSON.stringify(undecodable.length > 0 ? { ...pagination, undecodable } : pagination)}}`))
  return Buffer.concat(parts)
}

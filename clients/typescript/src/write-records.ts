/** Writes records of any source to a stream: in requests of a good size, one after the other, so that a slow service slows the source. */
import { writeJson } from './core/exact-json.ts'
import type { Transport } from './core/transport.ts'
import type { WriteStreamDataResponse } from './generated/types.ts'

export type WriteOptions = {
  /** Records of one request (default: 5,000). */
  recordsMax?: number
  signal?: AbortSignal | undefined
  /** Called after each request, with the number of records that are written so far. */
  onProgress?: (written: number) => void
}
export type Written = { records: number; requests: number }

const RECORDS_MAX = 5000
const BYTES_MAX = 4 << 20

/** Each request is written whole or not at all, also when it had to be sent twice. Returns how much was written. */
export async function writeRecords(
  { call }: Transport,
  streamId: string,
  records: Iterable<unknown> | AsyncIterable<unknown>,
  { recordsMax = RECORDS_MAX, signal, onProgress }: WriteOptions = {},
): Promise<Written> {
  const written: Written = { records: 0, requests: 0 }
  let lines: string[] = []
  let bytes = 0

  async function flush(): Promise<void> {
    if (lines.length === 0) return
    const path = `/streams/${encodeURIComponent(streamId)}/data`
    const answer = await call<WriteStreamDataResponse>('POST', path, { lines: lines.join('\n'), isIdempotent: true, signal })
    written.records += answer.records
    written.requests++
    ;[lines, bytes] = [[], 0]
    onProgress?.(written.records)
  }

  for await (const record of records) {
    const line = writeJson(record)
    if (line === undefined) throw new TypeError('a record must be a JSON value')
    lines.push(line)
    bytes += line.length
    if (lines.length >= recordsMax || bytes >= BYTES_MAX) await flush()
  }
  await flush()
  return written
}

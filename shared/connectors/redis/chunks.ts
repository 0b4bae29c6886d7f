/** Cuts a delivery's rows into chunks, one per script: Redis does nothing else while a script runs, and holds its arguments in memory. */
import type { Rows } from '../sink.ts'
import type { Appended } from './positions.ts'

const ROWS_MAX = 2000
const BYTES_MAX = 1 << 20

/** `appended` is the delivery's progress once this chunk is in the stream. */
export type Chunk = { lines: Buffer; appended: Appended | undefined; isLast: boolean }

/** The rows not appended yet, in order. There is always a last chunk, which may be empty. A row larger than a chunk gets its own. */
export function* chunksOf(rows: readonly Rows[], appended: Appended | undefined): Generator<Chunk> {
  let parts: Uint8Array[] = []
  let bytes = 0
  let last = appended
  let offset = -1
  // A record may become several rows, which are identified by their index within the record.
  let place = 0
  for (const part of rows) {
    for (let row = 0; row < part.count; row++) {
      const start = row === 0 ? 0 : part.ends[row - 1]!
      const end = part.ends[row]!
      place = part.offsets[row] === offset ? place + 1 : 0
      offset = part.offsets[row]!
      if (appended && (offset < appended.offset || (offset === appended.offset && place < appended.rows))) continue
      if (parts.length === ROWS_MAX || (parts.length > 0 && bytes + end - start > BYTES_MAX)) {
        yield { lines: Buffer.concat(parts), appended: last, isLast: false }
        parts = []
        bytes = 0
      }
      parts.push(part.bytes.subarray(start, end))
      bytes += end - start
      last = { offset, rows: place + 1 }
    }
  }
  yield { lines: Buffer.concat(parts), appended: last, isLast: true }
}

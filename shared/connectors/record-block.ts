/**
 * Records of a source as bytes: one buffer, and the location of each record's key, value and headers in it. Sources fill blocks; the intake
 * turns them into record batches. HOT: allocates nothing per record.
 */
import { encodeHeaders } from '../kafka/protocol/record-batch.ts'
import { refusalHeaders } from '../model/dead-letter-headers.ts'
import { cutText, FAILURE_CHARACTERS_MAX } from '../model/text.ts'

/**
 * `spans` holds six numbers per record: start and end of key, value and headers (encoded as in a Kafka record, count first). A start of -1
 * means null, or no headers. A null key with the end `REFUSED` marks a record that the source could not read; its value gets no frame.
 */
export type RecordBlock = { bytes: Buffer; spans: Int32Array; count: number }

/** Numbers per record in `RecordBlock.spans`. */
export const SPAN = 6
/** End of the null key that marks a refused record in `RecordBlock.spans`. */
export const REFUSED = -2

/** Bytes kept of a value that can't be read, for its dead letter to show. */
export const REFUSED_VALUE_BYTES = 64 << 10

/** Collects records into a block. */
export type BlockBuilder = {
  readonly count: number
  readonly bytes: number
  /** Adds a record without a key, whose value is `[start, end)` of `from`. */
  addValue(from: Uint8Array, start: number, end: number): void
  add(key: Uint8Array | null, value: Uint8Array | null, headers?: Uint8Array | null): void
  /** Adds a record that can't be read. It becomes a dead letter with the first `REFUSED_VALUE_BYTES` of its value. */
  refuse(code: string, message: string, value: Uint8Array): void
  /** Adds a record that was refused before, with its refusal headers. */
  addRefused(value: Uint8Array | null, headers: Uint8Array | null): void
  /** Returns the records added so far. The builder starts over, empty. */
  take(): RecordBlock
}

/** Returns an empty builder with room for `bytesExpected` bytes (1 MiB by default); it grows as needed. */
export function createBlockBuilder(bytesExpected = 1 << 20): BlockBuilder {
  let bytes = Buffer.allocUnsafe(bytesExpected)
  let used = 0
  let spans = new Int32Array(SPAN * 4096)
  let count = 0

  function room(length: number): void {
    if (used + length > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes.length * 2, used + length))
      bytes.copy(larger, 0, 0, used)
      bytes = larger
    }
    if ((count + 1) * SPAN > spans.length) {
      const larger = new Int32Array(spans.length * 2)
      larger.set(spans)
      spans = larger
    }
  }

  function put(part: Uint8Array | null): number {
    if (part === null) return -1
    const at = used
    bytes.set(part, used)
    used += part.length
    return at
  }

  return {
    get count() {
      return count
    },
    get bytes() {
      return used
    },
    addValue(from, start, end) {
      room(end - start)
      const at = count++ * SPAN
      spans[at] = -1
      spans[at + 2] = used
      bytes.set(from.subarray(start, end), used)
      used += end - start
      spans[at + 3] = used
      spans[at + 4] = -1
    },
    add(key, value, headers = null) {
      room((key?.length ?? 0) + (value?.length ?? 0) + (headers?.length ?? 0))
      const at = count++ * SPAN
      spans[at] = put(key)
      spans[at + 1] = used
      spans[at + 2] = put(value)
      spans[at + 3] = used
      spans[at + 4] = put(headers)
      spans[at + 5] = used
    },
    refuse(code, message, value) {
      const shown = value.subarray(0, REFUSED_VALUE_BYTES)
      this.addRefused(
        shown.length > 0 ? shown : Buffer.from('\0'),
        encodeHeaders(refusalHeaders(code, cutText(message, FAILURE_CHARACTERS_MAX))),
      )
    },
    addRefused(value, headers) {
      this.add(null, value, headers)
      spans[(count - 1) * SPAN + 1] = REFUSED
    },
    take() {
      const block = { bytes: bytes.subarray(0, used), spans: spans.subarray(0, count * SPAN), count }
      bytes = Buffer.allocUnsafe(Math.max(bytesExpected, used))
      spans = new Int32Array(Math.max(SPAN * 4096, count * SPAN))
      used = 0
      count = 0
      return block
    },
  }
}

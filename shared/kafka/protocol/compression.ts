/** Inflates the records section of a compressed batch, never beyond a cap. Codes: https://kafka.apache.org/documentation/#recordbatch */
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { compressionsAlgorithms } from '@platformatic/kafka'

/** Largest section a compressed batch may inflate to. */
export const INFLATED_BYTES_MAX = 128 << 20

/**
 * The uncompressed section. Throws on damaged data, an unknown codec, or more than `INFLATED_BYTES_MAX`.
 * @param codec bits 0–2 of the batch's attributes: 0 none, 1 gzip, 2 snappy, 3 lz4 (frame), 4 zstd
 */
export function inflate(codec: number, section: Buffer): Buffer {
  switch (codec) {
    case 0:
      return section
    case 1:
      return gunzipSync(section, { maxOutputLength: INFLATED_BYTES_MAX })
    case 2:
      return capped(compressionsAlgorithms.snappy.decompressSync(section))
    case 3:
      return capped(compressionsAlgorithms.lz4.decompressSync(section))
    case 4:
      return zstdDecompressSync(section, { maxOutputLength: INFLATED_BYTES_MAX })
    default:
      throw new RangeError(`compression codec ${codec} is unknown`)
  }
}

function capped(bytes: Buffer): Buffer {
  if (bytes.length > INFLATED_BYTES_MAX) throw new RangeError(`a batch inflates to more than ${INFLATED_BYTES_MAX} bytes`)
  return bytes
}

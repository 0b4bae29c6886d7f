/**
 * Inflates the records section of a compressed batch, up to a cap, and compresses sections. Codec numbers:
 * https://kafka.apache.org/documentation/#recordbatch
 */
import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { createRequire } from 'node:module'
import type { Compression } from '../../model/definition.ts'
import { inflateZstd } from './zstd-frames.ts'

type ClientLibrary = typeof import('../client-library.ts')

/** Loaded for the first batch that needs it: importing the client library would slow a lane's start by a fifth of a second. */
let codecs: ClientLibrary['compressionsAlgorithms'] | undefined
function codecOf(name: 'snappy' | 'lz4') {
  codecs ??= (createRequire(import.meta.url)('../client-library.ts') as ClientLibrary).compressionsAlgorithms
  return codecs[name]
}

/** Largest size in bytes to which a compressed section may inflate. */
const INFLATED_BYTES_MAX = 128 << 20

/** Codec numbers, as in bits 0–2 of a batch's attributes. */
export const CODECS = { gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const

/** The section, compressed with the given codec. */
export function deflate(compression: Exclude<Compression, 'none'>, section: Buffer): Buffer {
  switch (compression) {
    case 'gzip':
      return gzipSync(section, { level: 3 })
    case 'zstd':
      return zstdCompressSync(section)
    default:
      return codecOf(compression).compressSync(section)
  }
}

/**
 * The uncompressed section. Throws on damaged data, an unknown codec, or more than `INFLATED_BYTES_MAX` bytes.
 * @param codec bits 0–2 of the batch's attributes: 0 none, 1 gzip, 2 snappy, 3 lz4 (frame), 4 zstd
 */
export function inflate(codec: number, section: Buffer): Buffer {
  switch (codec) {
    case 0:
      return section
    case CODECS.gzip:
      return gunzipSync(section, { maxOutputLength: INFLATED_BYTES_MAX })
    case CODECS.snappy:
      assertCap(snappySize(section))
      return codecOf('snappy').decompressSync(section)
    case CODECS.lz4:
      assertCap(lz4Size(section))
      return codecOf('lz4').decompressSync(section)
    case CODECS.zstd:
      return inflateZstd(section, INFLATED_BYTES_MAX)
    default:
      throw new RangeError(`compression codec ${codec} is unknown`)
  }
}

function assertCap(bytes: number): void {
  if (bytes > INFLATED_BYTES_MAX) throw new RangeError(`a batch inflates to more than ${INFLATED_BYTES_MAX} bytes`)
}

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const XERIAL_HEADER_BYTES = 16

/** The sum of the sizes that the blocks declare at their starts (https://github.com/google/snappy/blob/main/format_description.txt, §1). */
function snappySize(section: Buffer): number {
  if (!section.subarray(0, XERIAL.length).equals(XERIAL)) return declaredSize(section, 0)
  let total = 0
  for (let at = XERIAL_HEADER_BYTES; at + 4 <= section.length; at += 4 + section.readUInt32BE(at)) total += declaredSize(section, at + 4)
  return total
}

function declaredSize(section: Buffer, from: number): number {
  let size = 0
  for (let i = 0; i < 5; i++) {
    const byte = section[from + i]
    if (byte === undefined) throw new RangeError('a snappy block ends within its length field')
    size += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 128) break
  }
  return size
}

/** The inflated size, summed from the tokens of every block (lz4_Block_format.md, lz4_Frame_format.md); stops once past the cap. */
function lz4Size(section: Buffer): number {
  const flags = section[4] ?? 0
  const hasBlockChecksum = (flags & 0x10) !== 0
  let at = 7 + ((flags & 0x08) !== 0 ? 8 : 0) + ((flags & 0x01) !== 0 ? 4 : 0)
  let total = 0
  while (at + 4 <= section.length && total <= INFLATED_BYTES_MAX) {
    const word = section.readUInt32LE(at)
    at += 4
    if (word === 0) break
    const size = word & 0x7fffffff
    total += (word & 0x80000000) !== 0 ? size : lz4BlockSize(section, at, Math.min(at + size, section.length))
    at += size + (hasBlockChecksum ? 4 : 0)
  }
  return total
}

function lz4BlockSize(section: Buffer, from: number, end: number): number {
  let total = 0
  let at = from
  const extended = (nibble: number): number => {
    let length = nibble
    if (nibble < 15) return length
    for (let byte = 255; byte === 255 && at < end;) {
      byte = section[at++]!
      length += byte
    }
    return length
  }
  while (at < end) {
    const token = section[at++]!
    const literals = extended(token >> 4)
    total += literals
    at += literals + 2
    // The last sequence has only literals.
    if (at > end) break
    total += extended(token & 15) + 4
  }
  return total
}

/**
 * Inflates the records section of a compressed batch, up to a cap, and compresses sections. Codec numbers:
 * https://kafka.apache.org/documentation/#recordbatch
 */
import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
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

/** What is larger is inflated into a buffer of its own, whose memory `freeInflated` gives back. */
const LARGE_BYTES = 4 << 20

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
      return inflateSnappy(section)
    case CODECS.lz4:
      return inflateLz4(section)
    case CODECS.zstd:
      return inflateZstd(section, INFLATED_BYTES_MAX)
    default:
      throw new RangeError(`compression codec ${codec} is unknown`)
  }
}

/**
 * The same, for a section that is dropped soon: pass it to `freeInflated` then. Of a large one, gzip and zstd use the memory once, where
 * Node otherwise collects small pieces and copies them together.
 */
export function inflateToFree(codec: number, section: Buffer): Buffer {
  if (codec === CODECS.gzip) return inOnePiece(gunzipSync, section, INFLATED_BYTES_MAX)
  if (codec !== CODECS.zstd) return inflate(codec, section)
  return inflateZstd(section, INFLATED_BYTES_MAX, (data, { maxOutputLength }) => inOnePiece(zstdDecompressSync, data, maxOutputLength))
}

/** Gives the memory of a large section back at once; garbage collection would let several of them gather. Nothing may read it any more. */
export function freeInflated(codec: number, section: Buffer): void {
  if (codec !== 0 && section.length > LARGE_BYTES) (section.buffer as ArrayBuffer).transfer(0)
}

/** The buffer has room for `bytesMax` bytes. Its memory becomes resident as far as it is written, but V8 counts all of it. */
function inOnePiece(decompress: typeof gunzipSync | typeof zstdDecompressSync, data: Buffer, bytesMax: number): Buffer {
  if (bytesMax <= LARGE_BYTES) return decompress(data, { maxOutputLength: bytesMax })
  try {
    return decompress(data, { maxOutputLength: LARGE_BYTES })
  } catch (error) {
    if (!(error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')) throw error
    return decompress(data, { maxOutputLength: bytesMax, chunkSize: bytesMax + 1 })
  }
}

function assertCap(bytes: number): void {
  if (bytes > INFLATED_BYTES_MAX) throw new RangeError(`a batch inflates to more than ${INFLATED_BYTES_MAX} bytes`)
}

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const XERIAL_HEADER_BYTES = 16

/**
 * A large section block by block, where it has blocks: the codecs run in a WebAssembly memory, which would keep the size of the whole.
 */
function inflateSnappy(section: Buffer): Buffer {
  const size = snappySize(section)
  assertCap(size)
  const codec = codecOf('snappy')
  if (size <= LARGE_BYTES || !isXerial(section)) return codec.decompressSync(section)
  const target = Buffer.allocUnsafeSlow(size)
  let filled = 0
  for (let at = XERIAL_HEADER_BYTES; at < section.length;) {
    const from = at + 4
    at = from + section.readUInt32BE(at)
    if (at > section.length) throw new RangeError('a snappy block runs past the end of its section')
    filled += moveTo(target, filled, codec.decompressSync(section.subarray(from, at)))
  }
  return target.subarray(0, filled)
}

/** Copies a block to its place, and gives its memory back: as garbage, the blocks would be as large as the whole. Returns its size. */
function moveTo(target: Buffer, at: number, block: Buffer): number {
  const copied = block.copy(target, at)
  // Small ones share their memory with others.
  if (block.buffer.byteLength === block.length) (block.buffer as ArrayBuffer).transfer(0)
  return copied
}

const isXerial = (section: Buffer): boolean => section.subarray(0, XERIAL.length).equals(XERIAL)

/** The header of a frame of independent blocks of up to 4 MiB, without sizes or checksums, with its own checksum (lz4_Frame_format.md). */
const LZ4_HEADER = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73])
const LZ4_END = Buffer.alloc(4)
/** Of the flags, those for independent blocks and for their checksums; Kafka's own clients write the first and not the second. */
const LZ4_BLOCK_FLAGS = 0x30
const LZ4_PLAIN_BLOCKS = 0x20
/** Small blocks are inflated together, since each call costs. */
const LZ4_CALL_BYTES = 1 << 20

/** As `inflateSnappy` does: some blocks at a time become a frame. Blocks that refer to those before stay together. */
function inflateLz4(section: Buffer): Buffer {
  const size = lz4Size(section)
  assertCap(size)
  const codec = codecOf('lz4')
  if (size <= LARGE_BYTES || (section[4]! & LZ4_BLOCK_FLAGS) !== LZ4_PLAIN_BLOCKS) return codec.decompressSync(section)
  const target = Buffer.allocUnsafeSlow(size)
  let filled = 0
  let [start, end, pending] = [0, 0, 0]
  function inflatePending(): void {
    const frame = Buffer.concat([LZ4_HEADER, section.subarray(start, end), LZ4_END])
    filled += moveTo(target, filled, codec.decompressSync(frame))
    pending = 0
  }
  for (const { from, to, inflatedBytes } of lz4Blocks(section)) {
    if (to > section.length) throw new RangeError('an lz4 block runs past the end of its section')
    if (pending === 0) start = from - 4
    end = to
    pending += inflatedBytes
    if (pending >= LZ4_CALL_BYTES) inflatePending()
  }
  if (pending > 0) inflatePending()
  return target.subarray(0, filled)
}

/** The sum of the sizes that the blocks declare at their starts (https://github.com/google/snappy/blob/main/format_description.txt, §1). */
function snappySize(section: Buffer): number {
  if (!isXerial(section)) return declaredSize(section, 0)
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

type Lz4Block = { from: number; to: number; inflatedBytes: number }

/**
 * Where the content of each block is, behind the four bytes of its size, and its inflated size, summed from its tokens
 * (lz4_Block_format.md, lz4_Frame_format.md).
 */
function* lz4Blocks(section: Buffer): Generator<Lz4Block> {
  const flags = section[4] ?? 0
  const checksumBytes = (flags & 0x10) !== 0 ? 4 : 0
  let from = 11 + ((flags & 0x08) !== 0 ? 8 : 0) + ((flags & 0x01) !== 0 ? 4 : 0)
  while (from <= section.length) {
    const word = section.readUInt32LE(from - 4)
    if (word === 0) break
    const to = from + (word & 0x7fffffff)
    const isStored = (word & 0x80000000) !== 0
    yield { from, to, inflatedBytes: isStored ? to - from : lz4BlockSize(section, from, Math.min(to, section.length)) }
    from = to + checksumBytes + 4
  }
}

/** The inflated size of all blocks; stops once past the cap. */
function lz4Size(section: Buffer): number {
  let total = 0
  for (const { inflatedBytes } of lz4Blocks(section)) {
    total += inflatedBytes
    if (total > INFLATED_BYTES_MAX) break
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

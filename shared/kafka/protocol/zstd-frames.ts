/**
 * Decompresses Zstandard data of any number of frames (RFC 8878 §3). Node's decompressor stops after the first frame and drops what follows
 * it in the same chunk, so frame ends are found here, from the block headers alone, and each frame gets its own decompressor.
 */
import { Transform, type TransformCallback } from 'node:stream'
import { callbackify } from 'node:util'
import { createZstdDecompress, zstdDecompressSync, type ZstdDecompress } from 'node:zlib'

const MAGIC = 0xfd2fb528
/** RFC 8878 §3.1.2: the last hex digit may have any value. */
const SKIPPABLE_MAGIC = 0x184d2a50
const BLOCK_HEADER_BYTES = 3
const RLE_BLOCK = 1
const RESERVED_BLOCK = 3
const DICTIONARY_ID_BYTES = [0, 1, 2, 4]
const CONTENT_SIZE_BYTES = [0, 2, 4, 8]

/** Length of a frame's header in bytes, magic included, from its descriptor byte (§3.1.1.1). */
function headerBytes(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeFlag = descriptor >> 6
  const contentSize = sizeFlag === 0 && isSingleSegment ? 1 : CONTENT_SIZE_BYTES[sizeFlag]!
  return 5 + (isSingleSegment ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 3]! + contentSize
}

type Piece = { bytes: Buffer; isSkippable: boolean; /** The frame ends with this piece. */ isLast: boolean }

/**
 * A cutter that splits a sequence of chunks at frame ends. `cut` throws RangeError for bytes that are not a frame, `end` when the last
 * frame is incomplete.
 */
function createFrameCutter(): { cut(chunk: Buffer): Piece[]; end(): void } {
  /** The start of a header whose rest has not arrived yet. */
  let pending: Buffer = Buffer.alloc(0)
  /** Bytes of the current part that have not arrived yet. */
  let left = 0
  let state: 'frame' | 'block' | 'checksum' | 'skippable' = 'frame'
  let hasChecksum = false
  let isLastBlock = false

  /** The length in bytes of the next part; undefined while its header is incomplete. */
  function nextPart(bytes: Buffer): number | undefined {
    if (state === 'frame') {
      if (bytes.length < 4) return undefined
      const magic = bytes.readUInt32LE(0)
      if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) {
        if (bytes.length < 8) return undefined
        state = 'skippable'
        return 8 + bytes.readUInt32LE(4)
      }
      if (magic !== MAGIC) throw new RangeError('the data contain bytes that are not a zstd frame')
      if (bytes.length < 5) return undefined
      hasChecksum = (bytes[4]! & 4) !== 0
      isLastBlock = false
      return headerBytes(bytes[4]!)
    }
    if (state === 'checksum') return 4
    if (bytes.length < BLOCK_HEADER_BYTES) return undefined
    const header = bytes.readUIntLE(0, BLOCK_HEADER_BYTES)
    const type = (header >> 1) & 3
    if (type === RESERVED_BLOCK) throw new RangeError('a zstd block has a type that does not exist')
    isLastBlock = (header & 1) !== 0
    return BLOCK_HEADER_BYTES + (type === RLE_BLOCK ? 1 : header >> 3)
  }

  /** Moves on from the part that has just ended; true when the frame ended with it. */
  function advance(): boolean {
    if (state === 'frame') state = 'block'
    else if (state === 'block' && isLastBlock && hasChecksum) state = 'checksum'
    else if (state !== 'block' || isLastBlock) {
      state = 'frame'
      return true
    }
    return false
  }

  return {
    cut(chunk) {
      const pieces: Piece[] = []
      let bytes = pending.length > 0 ? Buffer.concat([pending, chunk]) : chunk
      pending = Buffer.alloc(0)
      let from = 0
      let at = 0
      while (at < bytes.length) {
        if (left === 0) {
          const part = nextPart(bytes.subarray(at))
          if (part === undefined) break
          left = part
        }
        const taken = Math.min(left, bytes.length - at)
        left -= taken
        at += taken
        const isSkippable = state === 'skippable'
        if (left === 0 && advance()) {
          pieces.push({ bytes: bytes.subarray(from, at), isSkippable, isLast: true })
          from = at
        }
      }
      if (at > from) pieces.push({ bytes: bytes.subarray(from, at), isSkippable: state === 'skippable', isLast: false })
      pending = Buffer.from(bytes.subarray(at))
      bytes = pending
      return pieces
    },
    end() {
      if (state !== 'frame' || left > 0 || pending.length > 0) throw new RangeError('the zstd data end in the middle of a frame')
    },
  }
}

type Inflate = (data: Buffer, options: { maxOutputLength: number }) => Buffer

/**
 * The decompressed content of all frames. Throws for damaged or truncated data and for more than `bytesMax` bytes.
 * @param inflateFrame decompresses one frame
 */
export function inflateZstd(data: Buffer, bytesMax: number, inflateFrame: Inflate = zstdDecompressSync): Buffer {
  const cutter = createFrameCutter()
  const frames = cutter.cut(data)
  cutter.end()
  const inflated: Buffer[] = []
  let total = 0
  for (const { bytes, isSkippable } of frames) {
    if (isSkippable) continue
    const part = inflateFrame(bytes, { maxOutputLength: Math.max(1, bytesMax - total) })
    total += part.length
    if (total > bytesMax) throw new RangeError(`the data inflate to more than ${bytesMax} bytes`)
    inflated.push(part)
  }
  return inflated.length === 1 ? inflated[0]! : Buffer.concat(inflated)
}

/** A stream that decompresses all frames, for objects of any size. */
export function createZstdInflater(): Transform {
  const cutter = createFrameCutter()
  let frame: ZstdDecompress | undefined

  function open(out: Transform): ZstdDecompress {
    const opened = createZstdDecompress()
    // Backpressure: decompression pauses until the output is read.
    opened.on('data', (part: Buffer) => out.push(part) || opened.pause())
    opened.on('error', () => {})
    return opened
  }

  /** Damaged data end the frame's stream without calling the pending write's callback: the first signal decides the outcome. */
  async function add(out: Transform, { bytes, isSkippable, isLast }: Piece): Promise<void> {
    if (isSkippable) return
    const current = (frame ??= open(out))
    await new Promise<void>((resolve, reject) => {
      const settle = (outcome: () => void) => {
        current.off('error', failed)
        current.off('close', closed)
        outcome()
      }
      const failed = (error: Error) => settle(() => reject(error))
      const closed = () => settle(() => reject(new RangeError('the zstd stream closed in the middle of a frame')))
      current.once('error', failed)
      current.once('close', closed)
      if (!isLast) current.write(bytes, () => current.destroyed || settle(resolve))
      else {
        current.once('end', () => settle(resolve))
        current.end(bytes)
      }
    })
    if (isLast) frame = undefined
  }

  const addAll = callbackify(async (out: Transform, chunk: Buffer) => {
    for (const piece of cutter.cut(chunk)) await add(out, piece)
  })

  return new Transform({
    read(size) {
      frame?.resume()
      Transform.prototype._read.call(this, size)
    },
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      addAll(this, chunk, done)
    },
    flush(done) {
      try {
        cutter.end()
        done()
      } catch (error) {
        done(error as Error)
      }
    },
    destroy(error, done) {
      frame?.destroy()
      done(error)
    },
  })
}

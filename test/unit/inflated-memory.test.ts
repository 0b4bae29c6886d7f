/** Batches that inflate to a hundred megabytes: the same bytes as ever, and the memory of one batch in each lane at a time. */
import { execFile } from 'node:child_process'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { CODECS, deflate, freeInflated, inflate, inflateToFree } from '../../shared/kafka/protocol/compression.ts'
import { compressBatch, encodeBatch, stampProducer } from '../../shared/kafka/protocol/record-batch.ts'
import { frame } from '../../shared/model/framing.ts'
import { BARE_CHAIN } from '../harness/chains.ts'
import { limitMs } from '../harness/machine-speed.ts'

const MIB = 1 << 20
const LANES = 2
/** The largest batch, and what a lane takes for its work on it: less than `RUNNER_LANE_MIB` in `shared/config/config.ts`. */
const LANE_BYTES_MAX = (128 + 96) * MIB
const RECORDS = 150
const RECORD_BYTES = 800_000
const BATCHES = 2

function logOf(codec: 'gzip' | 'lz4' | 'zstd'): Buffer {
  const value = Buffer.from(frame(BARE_CHAIN.reframeSchemaId, 'x'.repeat(RECORD_BYTES)))
  const records = Array.from({ length: RECORDS }, (_, offsetDelta) => ({ offsetDelta, timestampDelta: 0n, key: null, value, headers: [] }))
  const batch = compressBatch(encodeBatch(records, 1n, 0), codec)
  stampProducer(batch, -1n, -1, -1)
  const batches = Array.from({ length: BATCHES }, (_, n) => {
    const own = Buffer.from(batch)
    own.writeBigInt64BE(BigInt(n * RECORDS), 0)
    return own
  })
  return Buffer.concat(batches)
}

/** Runs the log in lanes of a process of its own, whose memory nothing else takes. */
function runInLanes(log: Buffer): Promise<{ grownBytes: number; records: number }> {
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, ['test/harness/inflate-in-lanes.ts', String(LANES)], (error, stdout, stderr) =>
      error ? reject(new Error(stderr, { cause: error })) : resolve(JSON.parse(stdout) as { grownBytes: number; records: number }),
    )
    child.stdin?.end(log)
  })
}

describe('partitions with batches that inflate thousands of times', () => {
  it.each(['zstd', 'gzip', 'lz4'] as const)(
    'take no more memory than their lanes have for it (%s)',
    async (codec) => {
      const log = logOf(codec)
      if (codec === 'zstd') expect((BATCHES * RECORDS * RECORD_BYTES) / log.length).toBeGreaterThan(15_000)
      const { grownBytes, records } = await runInLanes(log)
      expect(records).toBe(LANES * 2 * BATCHES * RECORDS)
      expect(grownBytes / MIB).toBeLessThan((LANES * LANE_BYTES_MAX) / MIB)
    },
    limitMs(60_000),
  )
})

describe('a large section', () => {
  const section = Buffer.concat(Array.from({ length: 90 }, (_, n) => Buffer.alloc(100_000, `${n} of ninety,`)))
  /** As the Java clients write snappy: a header, then blocks with their sizes. */
  function xerialOf(content: Buffer): Buffer {
    const parts: Buffer[] = [Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1])]
    for (let at = 0; at < content.length; at += 32_768) {
      const block = deflate('snappy', content.subarray(at, at + 32_768))
      const size = Buffer.alloc(4)
      size.writeInt32BE(block.length)
      parts.push(size, block)
    }
    return Buffer.concat(parts)
  }
  /** Small blocks as they are, behind the header of a frame of 64 KiB blocks. */
  function storedOf(content: Buffer): Buffer {
    const parts: Buffer[] = [Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82])]
    for (let at = 0; at < content.length; at += 5000) {
      const block = content.subarray(at, at + 5000)
      const size = Buffer.alloc(4)
      size.writeUInt32LE((0x80000000 | block.length) >>> 0)
      parts.push(size, block)
    }
    return Buffer.concat([...parts, Buffer.alloc(4)])
  }
  const half = section.length / 2
  const compressed: [string, number, Buffer][] = [
    ['gzip', CODECS.gzip, deflate('gzip', section)],
    ['gzip of two members', CODECS.gzip, Buffer.concat([gzipSync(section.subarray(0, half)), gzipSync(section.subarray(half))])],
    ['snappy', CODECS.snappy, deflate('snappy', section)],
    ['snappy in blocks', CODECS.snappy, xerialOf(section)],
    ['lz4', CODECS.lz4, deflate('lz4', section)],
    ['lz4 in small blocks', CODECS.lz4, storedOf(section)],
    ['zstd', CODECS.zstd, deflate('zstd', section)],
    [
      'zstd of two frames',
      CODECS.zstd,
      Buffer.concat([zstdCompressSync(section.subarray(0, half)), zstdCompressSync(section.subarray(half))]),
    ],
  ]
  it.each(compressed)('inflates to its bytes, and is gone once it is freed: %s', (_name, codec, bytes) => {
    expect(inflate(codec, bytes).equals(section)).toBe(true)
    const found = inflateToFree(codec, bytes)
    expect(found.equals(section)).toBe(true)
    freeInflated(codec, found)
    expect(found.length).toBe(0)
  })

  it.each(compressed)('is refused when it is cut off: %s', (_name, codec, bytes) => {
    expect(() => inflateToFree(codec, bytes.subarray(0, bytes.length - 10))).toThrow()
  })

  it('that is not compressed stays, as does a small one, whose memory others may share', () => {
    for (const [codec, bytes] of [
      [0, section],
      [CODECS.zstd, zstdCompressSync(Buffer.from('small'))],
    ] as const) {
      const found = inflateToFree(codec, bytes)
      freeInflated(codec, found)
      expect(found.length).toBeGreaterThan(0)
    }
  })
})

/** Zstandard data of several frames, with skippable ones between, cut into chunks anywhere: nothing is lost, truncation is reported. */
import { execFileSync } from 'node:child_process'
import { Readable } from 'node:stream'
import { zstdCompressSync, constants } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CODECS, inflate } from '../../shared/kafka/protocol/compression.ts'
import { createZstdInflater, inflateZstd } from '../../shared/kafka/protocol/zstd-frames.ts'

const CAP = 64 << 20
const skippable = (content: Uint8Array, nibble: number): Buffer => {
  const head = Buffer.alloc(8)
  head.writeUInt32LE(0x184d2a50 + nibble, 0)
  head.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, content])
}
const compressed = (content: Uint8Array, checksum: boolean): Buffer =>
  zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: checksum ? 1 : 0 } })

const frame = fc.record({
  content: fc.oneof(
    fc.uint8Array({ maxLength: 3000 }),
    fc.nat(200_000).map((length) => new Uint8Array(length).fill(7)),
  ),
  checksum: fc.boolean(),
  before: fc.option(fc.uint8Array({ maxLength: 50 }), { nil: undefined }),
})

async function streamed(data: Buffer, sizes: number[]): Promise<Buffer> {
  const chunks: Buffer[] = []
  for (let at = 0, turn = 0; at < data.length; turn++) {
    const size = sizes[turn % sizes.length]!
    chunks.push(data.subarray(at, at + size))
    at += size
  }
  const parts: Buffer[] = []
  for await (const part of Readable.from(chunks).pipe(createZstdInflater())) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

describe('zstd of several frames', () => {
  it('inflates to the contents of all frames, whole and chunk by chunk', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(frame, { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 4 }),
        async (frames, sizes) => {
          const data = Buffer.concat(
            frames.flatMap(({ content, checksum, before }, index) => [
              ...(before ? [skippable(before, index)] : []),
              compressed(content, checksum),
            ]),
          )
          const whole = Buffer.concat(frames.map(({ content }) => content))
          expect(inflateZstd(data, CAP).equals(whole)).toBe(true)
          // Small data may be cut byte by byte, large data only into larger pieces.
          expect((await streamed(data, data.length > 20_000 ? sizes.map((size) => size + 500) : sizes)).equals(whole)).toBe(true)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('is refused when it is truncated at any byte, or followed by something else', async () => {
    const data = Buffer.concat([compressed(Buffer.from('first'), true), compressed(Buffer.from('second '.repeat(100)), false)])
    const border = compressed(Buffer.from('first'), true).length
    for (let length = 1; length < data.length; length++) {
      if (length === border) continue
      expect(() => inflateZstd(data.subarray(0, length), CAP), `${length} bytes`).toThrow(/end in the middle|not a zstd frame/)
    }
    await expect(streamed(data.subarray(0, -1), [10])).rejects.toThrow('end in the middle')
    expect(() => inflateZstd(Buffer.concat([data, Buffer.from('rest')]), CAP)).toThrow('not a zstd frame')
  })

  it('ends with an error when it is damaged, and does not wait forever', async () => {
    const whole = compressed(Buffer.from(Array.from({ length: 20_000 }, (_, n) => `${n} `).join('')), true)
    for (const at of [whole.length - 3, whole.length >> 1, 12]) {
      const damaged = Buffer.from(whole)
      damaged.fill(0xff, at, at + 2)
      await expect(streamed(Buffer.concat([damaged, whole]), [1000]), `damaged at ${at}`).rejects.toThrow()
    }
  })

  it('inflates no faster than it is read', async () => {
    const bomb = compressed(new Uint8Array(200 << 20), false)
    const inflater = Readable.from([bomb]).pipe(createZstdInflater())
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(inflater.readableLength).toBeLessThan(4 << 20)
    let total = 0
    for await (const part of inflater) total += (part as Buffer).length
    expect(total).toBe(200 << 20)
  })

  it('is limited by the cap over all frames together', () => {
    const one = compressed(new Uint8Array(1 << 20), false)
    expect(() => inflateZstd(Buffer.concat([one, one, one]), (2 << 20) + 5)).toThrow()
    expect(inflateZstd(Buffer.concat([one, one]), 2 << 20).length).toBe(2 << 20)
  })

  it('inflates whole as the section of a record batch', () => {
    const section = Buffer.concat([compressed(Buffer.from('one'), false), compressed(Buffer.from('two'), false)])
    expect(inflate(CODECS.zstd, section).toString()).toBe('onetwo')
  })

  it.runIf(hasZstd())('inflates whole when it is concatenated output of the zstd program', () => {
    const parts = ['alpha\n', 'beta\n'.repeat(50_000)].map((text) => execFileSync('zstd', ['-q', '-c'], { input: text }))
    expect(inflateZstd(Buffer.concat(parts), CAP).toString()).toBe(`alpha\n${'beta\n'.repeat(50_000)}`)
  })
})

function hasZstd(): boolean {
  try {
    execFileSync('zstd', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** What a runner may send to its supervisor: values of the protocol, in lines of a bounded length, at a bounded rate. */
import { Duplex, PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openLines } from '../../shared/processes/lines.ts'

const open = (limits: { lineBytesMax?: number; bytesPerSecondMax?: number } = {}) => {
  const incoming = new PassThrough()
  const values: string[] = []
  const broken: string[] = []
  openLines<{ text: string }, never>({
    pipe: Duplex.from({ readable: incoming, writable: new PassThrough() }),
    schema: z.object({ text: z.string() }),
    lineBytesMax: 1000,
    bytesPerSecondMax: 1e9,
    ...limits,
    now: () => 1000,
    onValue: ({ text }) => values.push(text),
    onBroken: (reason) => broken.push(reason),
  })
  return { incoming, values, broken }
}
const settled = () => new Promise((resolve) => setTimeout(resolve, 20))

describe('lines', () => {
  it('arrive whole however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 50 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 17 }),
        async (texts, size) => {
          const { incoming, values, broken } = open()
          const bytes = Buffer.from(texts.map((text) => `${JSON.stringify({ text })}\n`).join(''))
          for (let at = 0; at < bytes.length; at += size) incoming.write(bytes.subarray(at, at + size))
          await settled()
          expect(broken).toEqual([])
          expect(values).toEqual(texts)
        },
      ),
      { numRuns: 20 },
    )
  })

  it.each([
    ['a line without an end', 'x'.repeat(2000), /more than 1000 bytes/],
    ['what is not JSON', '{"text":\n', /not JSON/],
    ['another value', '{"text":1}\n', /not of the protocol/],
  ])('refuse %s, and nothing after it is read', async (_, text, reason) => {
    const { incoming, values, broken } = open()
    incoming.write(text)
    incoming.write('\n{"text":"late"}\n')
    await settled()
    expect(broken).toHaveLength(1)
    expect(broken[0]).toMatch(reason)
    expect(values).toEqual([])
  })

  it('refuse a flood', async () => {
    const { incoming, broken } = open({ bytesPerSecondMax: 5000 })
    for (let n = 0; n < 1000; n++) incoming.write('{"text":"again"}\n')
    await settled()
    expect(broken).toEqual(['more than 5000 bytes within a second'])
  })
})

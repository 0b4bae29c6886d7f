/** What a runner may send to its supervisor: values of the protocol, in lines of a bounded length, at a bounded rate. */
import { Duplex, PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openLines } from '../../shared/processes/lines.ts'

type Options = Parameters<typeof openLines<{ text: string }, { text: string }>>[0]

const open = (limits: Partial<Options> = {}) => {
  const incoming = new PassThrough()
  const outgoing = new PassThrough()
  const values: string[] = []
  const broken: string[] = []
  const lines = openLines<{ text: string }, { text: string }>({
    pipe: Duplex.from({ readable: incoming, writable: outgoing }),
    schema: z.object({ text: z.string() }),
    lineBytesMax: 1000,
    bytesPerSecondMax: 1e9,
    now: () => 1000,
    onValue: ({ text }) => values.push(text),
    onBroken: (reason) => broken.push(reason),
    ...limits,
  })
  return { incoming, outgoing, values, broken, lines }
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

  it('and bytes arrive whole and in order, however they are cut', async () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(line, fc.uint8Array({ maxLength: 40 })), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 17 }),
        async (sent, size) => {
          const sender = open()
          for (const each of sent)
            if (typeof each === 'string') sender.lines.send({ text: each })
            else sender.lines.sendBytes(each)
          await sender.lines.flushed()
          await settled()
          const bytes = sender.outgoing.read() as Buffer
          const received: (string | Uint8Array)[] = []
          const { incoming, broken } = open({
            onValue: ({ text }) => received.push(text),
            onBytes: (each) => received.push(new Uint8Array(each)),
          })
          for (let at = 0; at < bytes.length; at += size) incoming.write(bytes.subarray(at, at + size))
          await settled()
          expect(broken).toEqual([])
          expect(received).toEqual(sent)
        },
      ),
      { numRuns: 20 },
    )
  })

  it('refuse bytes where none are expected, and too many of them', async () => {
    const none = open()
    none.incoming.write('#3\nabc{"text":"late"}\n')
    const few = open({ onBytes: () => expect.fail('bytes were accepted') })
    few.incoming.write('#1001\n')
    await settled()
    expect(none).toMatchObject({ broken: ['a line is not JSON'], values: [] })
    expect(few.broken).toEqual(['more than 1000 bytes at once'])
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

/** Records that `dps produce` reads: lines of JSON, whatever their texts hold and however the input is cut. */
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { csvLines, jsonLines, type InputLine } from '../../clients/cli/src/input-lines.ts'

async function read(input: string | Buffer, bytesAtOnce: number, linesOf = jsonLines): Promise<InputLine[]> {
  const bytes = Buffer.from(input as Buffer)
  const parts = Array.from({ length: Math.ceil(bytes.length / bytesAtOnce) }, (_, n) =>
    bytes.subarray(n * bytesAtOnce, (n + 1) * bytesAtOnce),
  )
  const found: InputLine[] = []
  for await (const line of linesOf(Readable.from(parts, { objectMode: false }))) found.push(line)
  return found
}

describe('lines of JSON', () => {
  const first = JSON.stringify({ text: 'a\u2028b\u2029c\u0085d 漢字 😀' })
  it.each([1, 2, 3, 7, 1000])('end at \\n alone, with or without \\r, read %i bytes at once', async (bytesAtOnce) => {
    expect(await read(`${first}\n\r\n{"n":1}\r\n{"n":2}`, bytesAtOnce)).toEqual([
      { json: first, line: 1 },
      { json: '{"n":1}', line: 3 },
      { json: '{"n":2}', line: 4 },
    ])
    expect(await read('', bytesAtOnce)).toEqual([])
  })

  it('may begin with a byte order mark, which is no part of them', async () => {
    for (const bytesAtOnce of [1, 100])
      expect(await read('\uFEFF{"n":1}\n{"n":2}', bytesAtOnce)).toEqual([
        { json: '{"n":1}', line: 1 },
        { json: '{"n":2}', line: 2 },
      ])
    await expect(read('{"n":1}\n\uFEFF{"n":2}', 100)).rejects.toThrow('line 2 is not JSON')
  })

  it('that are none are named', async () => {
    await expect(read('{"n":1}\n\n{"n":\n', 5)).rejects.toThrow('line 3 is not JSON')
  })
})

const csv = (input: NodeJS.ReadableStream) => csvLines(input, {})

describe('a CSV', () => {
  it.each([
    ['id,a\n"ok,1\nb,2\n', 'line 2 is not CSV: a quote of the row that begins there is not closed'],
    ['"i\nd",a\n1,2\n\n\n3,"four\n5,6\n', 'line 6 is not CSV: a quote of the row that begins there is not closed'],
    ['"id,a\n1,2\n', 'line 1 is not CSV: a quote of the row that begins there is not closed'],
    ['id,a\n1,"x\n2,"y"\n', 'in the row that begins at line 2'],
    ['id,a\n1,x"y\n', 'line 2 is not CSV: Invalid Opening Quote'],
  ])('names the line where the malformed row begins: %j', async (text, message) => {
    for (const bytesAtOnce of [1, 1000]) await expect(read(text, bytesAtOnce, csv)).rejects.toThrow(message)
  })
})

describe('input that is not UTF-8', () => {
  const text = '{"a":"x 漢"}\n{"a":"😀"}\n{"a":"Z?rich"}\n{"a":"y"}\n'
  const wrong = [
    Buffer.from([0xfc]),
    Buffer.from([0xf0, 0x9f, 0x98]),
    Buffer.from([0xed, 0xa0, 0xbd]),
    Buffer.from([0x80]),
    Buffer.from([0xc0, 0x8a]),
  ]
  const withBytes = (before: string, bytes: Buffer, after: string) => Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)])

  it.each([1, 2, 3, 7, 1000])('is refused with its line, read %i bytes at once', async (bytesAtOnce) => {
    const [before, after] = text.split('?') as [string, string]
    for (const bytes of wrong) {
      await expect(read(withBytes(before, bytes, after), bytesAtOnce)).rejects.toThrow('line 3 is not UTF-8')
      await expect(read(withBytes(before, bytes, ''), bytesAtOnce)).rejects.toThrow('line 3 is not UTF-8')
      await expect(read(withBytes('a,b\n1,"two\nl', bytes, 'nes"\n3,4\n'), bytesAtOnce, csv)).rejects.toThrow('line 3 is not UTF-8')
      await expect(read(withBytes('a,b\n1,', bytes, ''), bytesAtOnce, csv)).rejects.toThrow('line 2 is not UTF-8')
    }
  })

  it.each([1, 2, 3, 7, 1000])('is none where all characters are whole, read %i bytes at once', async (bytesAtOnce) => {
    expect((await read(text, bytesAtOnce)).length).toBe(4)
    expect(await read('\uFEFFn\u00e4me,b\r\n😀,"漢\n字"\r\n', bytesAtOnce, csv)).toEqual([
      { json: '{"n\u00e4me":"😀","b":"漢\\n字"}', line: 3 },
    ])
  })

  it.each([1, 2, 3, 7, 1000])('may be UTF-16 with its byte order mark, read %i bytes at once', async (bytesAtOnce) => {
    const utf16 = (given: string) => Buffer.from(`\uFEFF${given}`, 'utf16le')
    expect(await read(utf16('a,b\r\n😀,\u00fc\r\n'), bytesAtOnce, csv)).toEqual([{ json: '{"a":"😀","b":"\u00fc"}', line: 2 }])
    expect((await read(utf16(text), bytesAtOnce)).length).toBe(4)
    await expect(read(utf16('a,b\n\ud83d,2\n'), bytesAtOnce, csv)).rejects.toThrow('UTF-16')
    await expect(read(utf16(text).subarray(0, -1), bytesAtOnce)).rejects.toThrow('UTF-16')
  })
})

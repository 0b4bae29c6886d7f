/** Records that `dps produce` reads: lines of JSON, whatever their texts hold and however the input is cut. */
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { jsonLines, type InputLine } from '../../clients/cli/src/input-lines.ts'

async function read(text: string, bytesAtOnce: number): Promise<InputLine[]> {
  const bytes = Buffer.from(text)
  const parts = Array.from({ length: Math.ceil(bytes.length / bytesAtOnce) }, (_, n) =>
    bytes.subarray(n * bytesAtOnce, (n + 1) * bytesAtOnce),
  )
  const found: InputLine[] = []
  for await (const line of jsonLines(Readable.from(parts, { objectMode: false }))) found.push(line)
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

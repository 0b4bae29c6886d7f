/** The records of a body that is one document: as JSON.parse finds them, each at its own bytes, and in short turns. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesOf, parseElements } from '../../services/control-plane/http/raw-records.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { timesOf } from '../harness/times-of.ts'

const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
/** Beside the records, a member named `__proto__` is refused. */
const others = json.filter((value) => !JSON.stringify(value).includes('__proto__'))
const space = fc.constantFrom('', ' ', '\n\t')

describe('a body of records', () => {
  it('has the values that JSON.parse finds, and their bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(json, { maxLength: 5 }), others, space, fc.boolean(), async (values, other, gap, isFirst) => {
        const list = `[${gap}${values.map((value) => JSON.stringify(value)).join(`${gap},`)}${gap}]`
        const members = [`"records"${gap}:${list}`, `"other":${JSON.stringify(other)}`]
        const bytes = Buffer.from(`${gap}{${(isFirst ? members : members.toReversed()).join(gap + ',')}}${gap}`)
        const { rest, raw } = await parseElements(bytes)
        expect(rest).toEqual({ records: [], other: JSON.parse(JSON.stringify(other)) })
        expect(raw!.values).toEqual(values.map((value) => JSON.parse(JSON.stringify(value))))
        expect(values.map((_, index) => JSON.parse(bytesOf(raw!, index).toString()))).toEqual(raw!.values)
      }),
      { numRuns: 500 },
    )
  })

  it('has none where it is another document, and is refused where it is no JSON', async () => {
    for (const body of ['{}', '[1]', '1', '{"records":1}', '{"records":{}}']) {
      const { rest, raw } = await parseElements(Buffer.from(body))
      expect([rest, raw]).toEqual([JSON.parse(body), undefined])
    }
    for (const body of ['', '{', '{"records":[1}', '{"records":[1]} x'])
      await expect(parseElements(Buffer.from(body))).rejects.toMatchObject({ status: 400 })
    // The last one counts, as everywhere.
    expect((await parseElements(Buffer.from('{"records":[1],"records":[2,3]}'))).raw!.values).toEqual([2, 3])
  })

  it('of a hundred thousand names holds nothing up', async () => {
    const bytes = Buffer.from(`{"records":[${Array.from({ length: 90_000 }, (_, n) => `{"${n.toString(36)}":0}`).join()}]}`)
    const { held, all } = await timesOf(() => parseElements(bytes))
    expect(held).toBeLessThan(Math.max(limitMs(60), all / 4))
  })
})

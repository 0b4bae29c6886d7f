/** Malformed rows of CSV objects: each is refused by itself and named, and no other row is lost with it. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limitMs } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'
import { createBlockBuilder, REFUSED, SPAN, type RecordBlock } from '../../shared/connectors/record-block.ts'
import { columnNames, openCsv, type CsvOptions } from '../../shared/connectors/storage-bucket/format-csv.ts'

const bytesOf = ({ bytes, spans }: RecordBlock, i: number): Buffer => bytes.subarray(spans[i * SPAN + 2], spans[i * SPAN + 3])
const textOf = (block: RecordBlock, i: number): string => bytesOf(block, i).toString('utf8')
const headersOf = ({ bytes, spans }: RecordBlock, i: number): string => bytes.toString('utf8', spans[i * SPAN + 4], spans[i * SPAN + 5])
const isRefused = ({ spans }: RecordBlock, i: number): boolean => spans[i * SPAN + 1] === REFUSED

type Read = { rows: Record<string, string | null>[]; refused: string[]; refusedBytes: Buffer[]; reasons: string[]; order: string }

type How = Partial<Pick<CsvOptions, 'empty' | 'encoding'>>

async function read(text: string | Buffer, chunk = 1 << 16, { empty = 'text', encoding = 'utf-8' }: How = {}): Promise<Read> {
  const builder = createBlockBuilder()
  const reader = openCsv('o.csv', { delimiter: ',', header: true, quote: true, empty, encoding }, builder)
  reader.begin({ b: 0, n: 0 })
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += chunk) await reader.add(bytes.subarray(at, at + chunk))
  await reader.end()
  const block = builder.take()
  const places = Array.from({ length: block.count }, (_, i) => i)
  return {
    rows: places.filter((i) => !isRefused(block, i)).map((i) => JSON.parse(textOf(block, i)) as Record<string, string | null>),
    refused: places.filter((i) => isRefused(block, i)).map((i) => textOf(block, i)),
    refusedBytes: places.filter((i) => isRefused(block, i)).map((i) => bytesOf(block, i)),
    reasons: places.filter((i) => isRefused(block, i)).map((i) => headersOf(block, i)),
    order: places.map((i) => (isRefused(block, i) ? 'x' : '.')).join(''),
  }
}

describe('a CSV object', () => {
  it.each([
    ['a quote inside an unquoted field', ' , "sp" ,t'],
    ['text after a closing quote', '"x"y,"z"w,1'],
    ['an unclosed quote', '1,"open'],
    ['an inch sign', '5" pipe,2'],
  ])('refuses a row with %s, and keeps the rows around it', async (_, row) => {
    for (const chunk of [1, 7, 1 << 16]) {
      const { rows, refused, order } = await read(`a,b\n1,2\n${row}\n3,4\n5,6\n`, chunk)
      expect(rows).toEqual([
        { a: '1', b: '2' },
        { a: '3', b: '4' },
        { a: '5', b: '6' },
      ])
      expect(refused).toEqual([row])
      expect(order).toBe('.x..')
    }
  })

  it('names the row that is malformed, and no line of some part of the object beside it', async () => {
    const { reasons } = await read('a,b\n1,2\n3,4\n5" pipe,6\n')
    expect(reasons[0]).toContain('row 3 of the object o.csv: Invalid Opening Quote')
    expect(reasons[0]).not.toContain('line')
  })

  it('has null for an empty cell where that is asked for, and a text for one in quotes', async () => {
    expect((await read('a,b,c\n1,,""\n,,\n', 3, { empty: 'null' })).rows).toEqual([
      { a: '1', b: null, c: '' },
      { a: null, b: null, c: null },
    ])
    expect((await read('a,b,c\n1,,""\n')).rows).toEqual([{ a: '1', b: '', c: '' }])
    expect((await read('a,,b\n1,2,\n', 3, { empty: 'null' })).rows).toEqual([{ a: '1', column2: '2', b: null }])
  })

  it('refuses only the line of an unclosed quote, and keeps the megabytes after it', async () => {
    const line = 'some,more\n'
    const { rows, refused } = await read(`a,b\n1,"open\n${line.repeat(300_000)}end,1\n`, 1 << 16)
    expect(refused).toEqual(['1,"open'])
    expect(rows.length).toBe(300_001)
  })

  it.each([
    ['an open quote', 'x","y\n', ''],
    ['a quote that only its own next line closes', '"a"x,"y\n', ''],
    ['a malformed row that ends in the last line', '"a"x,"y\n', 'z"\n'],
    ['an open quote, and a carriage return alone behind it', 'x","y\r', ''],
  ])(
    'with %s in each line takes time for each line alone, and refuses each of them',
    { timeout: limitMs(60_000) },
    async (_, line, end) => {
      const timed = (lines: number) =>
        bestOf(async () => {
          const { refused, rows } = await read(`a,b\n1,2\n${line.repeat(lines)}${end}`, 1 << 16)
          expect(refused.length + rows.length).toBeGreaterThanOrEqual(lines)
          expect(rows[0]).toEqual({ a: '1', b: '2' })
        })
      await timed(1000)
      const [few, many] = [await timed(10_000), await timed(100_000)]
      // Ten times as many, and something for the garbage; a search through all that follows would take hundreds of times as long.
      expect(many / few).toBeLessThan(40)
    },
  )

  it('keeps the row behind a line of megabytes that ends with a chunk, and with a carriage return', async () => {
    const text = `a,b\r${'x'.repeat(1_100_000)}\r3,4\r5,6\r`
    const behind = text.indexOf('\r', 4) + 1
    for (const chunk of [behind, behind - 1, behind + 1]) {
      const { rows, refused } = await read(text, chunk)
      expect(rows).toEqual([
        { a: '3', b: '4' },
        { a: '5', b: '6' },
      ])
      expect(refused.length).toBe(1)
    }
  })

  it('refuses a line of megabytes once, however it is cut into chunks, and goes on after it', async () => {
    for (const chunk of [10_000, 1 << 16, 1 << 22]) {
      const { rows, refused } = await read(`a,b\n1,2\n${'x'.repeat(3_500_000)},y\n3,4\n`, chunk)
      expect(rows).toEqual([
        { a: '1', b: '2' },
        { a: '3', b: '4' },
      ])
      expect(refused.length).toBe(1)
    }
  })

  it('gives every good row and every bad row once and in order, however the object is cut into chunks', async () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r\n', 'é'), maxLength: 5 })
    const good = fc.tuple(cell, cell).map((cells) => ({ cells, text: cells.map((each) => `"${each.replaceAll('"', '""')}"`).join(',') }))
    const bad = fc.constantFrom(' , "x" ,t', '"x"y,1', 'a"b,2').map((text) => ({ cells: undefined, text }))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(good, good, bad), { maxLength: 12 }), fc.integer({ min: 1, max: 40 }), async (parts, chunk) => {
        const { rows, refused, order } = await read(['x,y', ...parts.map(({ text }) => text)].join('\n'), chunk)
        expect(rows).toEqual(parts.flatMap(({ cells }) => (cells ? [{ x: cells[0], y: cells[1] }] : [])))
        expect(refused).toEqual(parts.flatMap(({ cells, text }) => (cells ? [] : [text])))
        expect(order).toBe(parts.map(({ cells }) => (cells ? '.' : 'x')).join(''))
      }),
      { numRuns: 300 },
    )
  })

  it('refuses each row that is not UTF-8, in a file of megabytes too, and reads it in the encoding that it has', async () => {
    const mixed = Buffer.concat([Buffer.from('id,name\n1,Zoë\n2,'), Buffer.from('Zoë', 'latin1'), Buffer.from('\n3,"€ 5"\n')])
    const { rows, refused, reasons } = await read(mixed)
    expect(rows).toEqual([
      { id: '1', name: 'Zoë' },
      { id: '3', name: '€ 5' },
    ])
    expect(refused).toHaveLength(1)
    expect(reasons[0]).toContain('row 2 of the object o.csv: it is not UTF-8')
    const western = Buffer.from(`id,größe\n${'1,"Zo\u00eb \u0080"\n'.repeat(50_000)}`, 'latin1')
    const read1252 = await read(western, 1 << 16, { encoding: 'windows-1252' })
    expect(read1252.rows).toHaveLength(50_000)
    expect(read1252.rows.at(-1)).toEqual({ id: '1', größe: 'Zoë €' })
    // Its header names the columns: as something else it is no object at all.
    await expect(read(western)).rejects.toThrow('it is not UTF-8')
  })

  it('refuses a row that is not UTF-8 with all its bytes, and takes none of its lines for rows', async () => {
    const bad = Buffer.from('1,Jos\u00e9,"a\n2,phantom,""x""\r\nend"', 'latin1')
    for (const lineBreak of ['\n', '\r\n', '\r'])
      for (const chunk of [1, 7, 1 << 16]) {
        const bytes = Buffer.concat([Buffer.from('id,name,note\n'), bad, Buffer.from(`${lineBreak}3,ok,fine\n5" pipe,2,\n`)])
        const { rows, refusedBytes, reasons, order } = await read(bytes, chunk)
        expect(rows).toEqual([{ id: '3', name: 'ok', note: 'fine' }])
        expect(refusedBytes).toEqual([bad, Buffer.from('5" pipe,2,')])
        expect(reasons[0]).toContain('row 1 of the object o.csv: it is not UTF-8')
        expect(reasons[1]).toContain('row 3 of the object o.csv: Invalid Opening Quote')
        expect(order).toBe('x.x')
      }
  })

  it('says of a row what is wrong with its first line, where a later one is not UTF-8', async () => {
    const text = 'a,b\n5" pipe,2\n1,"open\n2,x\n3,Jos\u00e9\n4,"closed"\n'
    const { rows, reasons, order } = await read(Buffer.from(text, 'latin1'))
    expect(rows).toEqual([
      { a: '2', b: 'x' },
      { a: '4', b: 'closed' },
    ])
    expect(order).toBe('xx.x.')
    expect(reasons[1]).toContain('row 2 of the object o.csv: Invalid Closing Quote')
    expect(reasons[2]).toContain('row 4 of the object o.csv: it is not UTF-8')
  })

  it('names unnamed columns by their position, and numbers repeated names', () => {
    expect(columnNames(['a', 'a', '', 'b', ''])).toEqual(['a', 'a_2', 'column3', 'b', 'column5'])
    expect(columnNames(['a', 'a', 'a_2'])).toEqual(['a', 'a_3', 'a_2'])
    expect(columnNames(['column2', ''])).toEqual(['column2', 'column2_2'])
    expect(new Set(columnNames(Array.from({ length: 100_000 }, () => 'a'))).size).toBe(100_000)
  })

  it('keeps every column of a header with repeated and empty names', async () => {
    expect((await read('a,a,\n1,2,3\n')).rows).toEqual([{ a: '1', a_2: '2', column3: '3' }])
  })

  it('keeps cells beyond its header, also where a column has the name that such a one usually gets', async () => {
    expect((await read('a,column3\n1,2,3\n4,5\n6,7,8,9\n')).rows).toEqual([
      { a: '1', column3: '2', column3_2: '3' },
      { a: '4', column3: '5' },
      { a: '6', column3: '7', column3_2: '8', column4: '9' },
    ])
  })

  it('is refused as a whole when its header is malformed', async () => {
    await expect(read('a,"b\n1,2\n')).rejects.toThrow('which names the columns')
  })
})

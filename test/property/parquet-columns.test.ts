/** DuckDB reads from a Parquet file the values that were written: 64-bit integers, decimals, dates, microseconds, bytes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { createRowBuffer, endRow, takeRows } from '../../shared/connectors/encode/row-buffer.ts'
import { createRowEncoder } from '../../shared/connectors/encode/row-encoder.ts'
import type { Rows } from '../../shared/connectors/sink.ts'
import { openEncodeThread } from '../../shared/connectors/storage-bucket/encode-thread.ts'

const folder = mkdtempSync(join(tmpdir(), 'dps-parquet-'))
const thread = openEncodeThread()
afterAll(async () => {
  await thread.close()
  rmSync(folder, { recursive: true })
})

function rowsOf(texts: string[]): Rows[] {
  const buffer = createRowBuffer()
  const encode = createRowEncoder({ kind: 'json_lines' })
  for (const [index, text] of texts.entries()) {
    const source = Buffer.concat([Buffer.from(text), Buffer.from([0])])
    encode(source, 0, source.length - 1, buffer, -1, -1, source.length - 1, source.length, index, 0)
    endRow(buffer, index, 0)
  }
  return [takeRows(buffer)]
}

const encode = (rows: Rows[], fields: Record<string, string> | undefined) =>
  thread.encode(rows, { key: '', format: 'parquet', delimiter: ',', columns: [], isEncoded: false, fields: fields ?? {} })

let files = 0
async function readBack(texts: string[], fields: Record<string, string> | undefined, select: string): Promise<string[][]> {
  const encoded = await encode(rowsOf(texts), fields)
  if (!('files' in encoded))
    throw new Error(JSON.stringify(encoded.faults, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
  const path = join(folder, `${++files}.parquet`)
  writeFileSync(path, encoded.files[0]!.file)
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  await connection.run("SET TimeZone = 'UTC'")
  const reader = await connection.runAndReadAll(`SELECT ${select} FROM read_parquet('${path}')`)
  return reader.getRows().map((row) => row.map(String))
}

describe('a Parquet file', () => {
  it('keeps the sign of a zero, in a column with many equal values too', async () => {
    const texts = Array.from({ length: 300 }, (_, i) => `{"n":${['0', '-0', '-0.0', '1.5'][i % 4]}}`)
    const found = await readBack(texts, { n: 'number' }, 'n::VARCHAR')
    expect(found.flat()).toEqual(texts.map((_, i) => ['0.0', '-0.0', '-0.0', '1.5'][i % 4]))
  })

  it('holds every value of the given types exactly', async () => {
    const texts = [
      '{"i":9007199254740993,"d":"12345678901234567890.0123","on":"2024-02-29","at":"2026-11-22T01:02:03.123456+02:00","b":"AAH/","n":0.1,"t":"é"}',
      '{"i":-9223372036854775808,"d":"-0.5","on":"1900-01-01","at":"1969-12-31T23:59:59.999999Z","b":"","n":1e300,"t":""}',
      '{"i":null,"d":null,"on":null,"at":null,"b":null,"n":null,"t":null}',
    ]
    const fields = { i: 'integer?', d: 'decimal?', on: 'date?', at: 'datetime?', b: 'bytes?', n: 'number?', t: 'string?' }
    const select = `i::VARCHAR, d::VARCHAR, "on"::VARCHAR, epoch_us("at")::VARCHAR, hex(b), n::VARCHAR, t, typeof(i), typeof(d), typeof("on"), typeof("at"), typeof(b)`
    const types = ['BIGINT', 'DECIMAL(38,18)', 'DATE', 'TIMESTAMP WITH TIME ZONE', 'BLOB']
    expect(await readBack(texts, fields, select)).toEqual([
      ['9007199254740993', '12345678901234567890.012300000000000000', '2024-02-29', '1795302123123456', '0001FF', '0.1', 'é', ...types],
      ['-9223372036854775808', '-0.500000000000000000', '1900-01-01', '-1', '', '1e+300', '', ...types],
      ['null', 'null', 'null', 'null', 'null', 'null', 'null', ...types],
    ])
  })

  it('finds types that lose nothing when none are given', async () => {
    const texts = ['{"id":9007199254740993,"sum":12345678901234567.89,"x":1.5}', '{"id":1,"sum":0.01,"x":2}']
    expect(await readBack(texts, undefined, 'id::VARCHAR, sum::VARCHAR, x::VARCHAR, typeof(id), typeof(sum), typeof(x)')).toEqual([
      ['9007199254740993', '12345678901234567.890000000000000000', '1.5', 'BIGINT', 'DECIMAL(38,18)', 'DOUBLE'],
      ['1', '0.010000000000000000', '2.0', 'BIGINT', 'DECIMAL(38,18)', 'DOUBLE'],
    ])
  })

  it('rounds no number of many digits around its point, and none that is beyond a double', async () => {
    expect(await readBack(['{"n":123456789.123456789012}', '{"n":1}'], undefined, 'n::VARCHAR, typeof(n)')).toEqual([
      ['123456789.123456789012000000', 'DECIMAL(38,18)'],
      ['1.000000000000000000', 'DECIMAL(38,18)'],
    ])
    expect(await readBack(['{"n":1e400}', '{"n": 1 }'], undefined, 'n, typeof(n)')).toEqual([
      ['1e400', 'VARCHAR'],
      ['1', 'VARCHAR'],
    ])
    expect(await readBack(['{"n":1e300}', '{"n":0.30000000000000004}'], undefined, 'n::VARCHAR')).toEqual([
      ['1e+300'],
      ['0.30000000000000004'],
    ])
    expect(await encode(rowsOf(['{"n":1}', '{"n":-1e400}', '{"n":9007199254740993}', '{"n":1e22}']), { n: 'number' })).toMatchObject({
      faults: [
        { offset: 1n, code: 'wrong_type' },
        { offset: 2n, code: 'wrong_type' },
      ],
    })
  })

  it('has a row for each record without a member', async () => {
    expect(await readBack(['{}', '{}', '{}'], undefined, 'count(*)::VARCHAR')).toEqual([['3']])
  })

  it('holds every decimal that fits, and refuses the others', async () => {
    const scaled = fc.record({ digits: fc.bigInt({ min: -(10n ** 12n) + 1n, max: 10n ** 12n - 1n }), scale: fc.constant(4) })
    const textOf = (digits: bigint, scale: number) => {
      const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0')
      return `${digits < 0n ? '-' : ''}${text.slice(0, -scale)}.${text.slice(-scale)}`
    }
    await fc.assert(
      fc.asyncProperty(fc.array(scaled, { minLength: 1, maxLength: 20 }), async (values) => {
        const texts = values.map(({ digits, scale }) => textOf(digits, scale))
        const rows = await readBack(
          texts.map((text) => `{"d":"${text}"}`),
          { d: 'decimal(12,4)' },
          'd::VARCHAR',
        )
        expect(rows.map(([text]) => text)).toEqual(texts.map((text) => text.replace(/^-(0\.0+)$/, '$1')))
      }),
      { numRuns: 20 },
    )
    for (const text of ['"123456789"', '1.00001', '"1e3"', '"."', '"-"', '""', '"1."', '"٣"'])
      expect(await encode(rowsOf([`{"d":${text}}`]), { d: 'decimal(12,4)' })).toMatchObject({ faults: [{ code: 'wrong_type' }] })
    expect(await readBack(['{"d":"0012345678.10000"}', '{"d":-0}', '{"d":"0"}'], { d: 'decimal(12,4)' }, 'd::VARCHAR')).toEqual([
      ['12345678.1000'],
      ['0.0000'],
      ['0.0000'],
    ])
  })

  it('keeps numbers inside nested documents as they are written', async () => {
    expect(await readBack(['{"o":{"a":[9007199254740993,0.1]}}'], { o: 'object' }, 'o')).toEqual([['{"a":[9007199254740993,0.1]}']])
  })

  it('holds lists as lists: of given types, of types found in the rows, nested, empty, and with nulls', async () => {
    const fields = { tags: 'array<string>?', sums: 'array<decimal(9,2)>?', at: 'array<datetime>', deep: 'array<array<integer>>' }
    const texts = [
      '{"tags":["a",null,""],"sums":["1.5","-0.25"],"at":["2026-11-22T01:02:03.000004Z"],"deep":[[1,9007199254740993],[],[null]],"found":[1.5,2]}',
      '{"tags":[],"sums":null,"at":[],"deep":[],"found":null}',
      '{"tags":null,"at":[],"deep":[[]],"found":[]}',
    ]
    const select =
      'tags::VARCHAR, sums::VARCHAR, "at"::VARCHAR, deep::VARCHAR, found::VARCHAR, typeof(tags), typeof(sums), typeof("at"), typeof(deep), typeof(found)'
    const types = ['VARCHAR[]', 'DECIMAL(9,2)[]', 'TIMESTAMP WITH TIME ZONE[]', 'BIGINT[][]', 'DOUBLE[]']
    expect(await readBack(texts, fields, select)).toEqual([
      [
        "[a, NULL, '']",
        '[1.50, -0.25]',
        "['2026-11-22 01:02:03.000004+00']",
        '[[1, 9007199254740993], [], [NULL]]',
        '[1.5, 2.0]',
        ...types,
      ],
      ['[]', 'null', '[]', '[]', 'null', ...types],
      ['null', 'null', '[]', '[[]]', '[]', ...types],
    ])
  })

  it('keeps JSON as it is written: members that occur twice, their order, the digits and signs of numbers, escapes', async () => {
    const written = [
      '{"a": 1.50, "big": 12345678901234567890, "a": 2}',
      '{"z":1,"a":2,"10":3,"9":4}',
      '{"b":1e5,"d":-0}',
      String.raw`[1.10 , {"x" :"\u00e9\/"}]`,
      String.raw`"a text \" with \u00e9"`,
      '-0.0',
    ]
    for (const fields of [undefined, { doc: 'any' }, { doc: 'object' }]) {
      const texts = [...written.map((text) => `{"n":1, "d\\u006fc" : ${text} }`), '{"doc":null}', '{"doc":1,"doc":{"last":1.0}}']
      expect((await readBack(texts, fields, 'doc')).map(([cell]) => cell)).toEqual([...written, 'null', '{"last":1.0}'])
    }
    // A document that is no object is the value of a column; a text column keeps what is no text.
    expect(await readBack(['[1.50 ]', ' {"value":{"b":2,"1":1}}'], undefined, 'value')).toEqual([['[1.50 ]'], ['{"b":2,"1":1}']])
    expect(await readBack(['{"t":1.50}', '{"t":"x"}'], { t: 'string' }, 't')).toEqual([['1.50'], ['x']])
  })

  it('keeps lists whose items have no common type as JSON', async () => {
    expect(await readBack(['{"a":[1,"x"],"o":[{"b":9007199254740993}]}'], undefined, 'a::VARCHAR, o::VARCHAR')).toEqual([
      ['[1,"x"]', '[{"b":9007199254740993}]'],
    ])
  })

  it('holds members named like properties that every object inherits', async () => {
    const texts = ['{"constructor":"x","__proto__":"y","toString":1}', '{"a":2}']
    expect(await readBack(texts, {}, '"constructor", "__proto__", "toString"::VARCHAR, a::VARCHAR')).toEqual([
      ['x', 'y', '1', 'null'],
      ['null', 'null', 'null', '2'],
    ])
  })

  it('keeps lists that are nested three levels deep or more as JSON', async () => {
    const deep = `${'['.repeat(3000)}1${']'.repeat(3000)}`
    const [[text]] = (await readBack([`{"a":${deep}}`], {}, 'a::VARCHAR')) as [[string]]
    expect(text.replaceAll(/[^1]/g, '')).toBe('1')
  })

  it('holds numbers that JavaScript prints with an exponent as exact decimals', async () => {
    expect(await readBack(['{"d":0.0000001}', '{"d":-1.25e-7}', '{"d":12e3}'], { d: 'decimal(20,10)' }, 'd::VARCHAR')).toEqual([
      ['0.0000001000'],
      ['-0.0000001250'],
      ['12000.0000000000'],
    ])
    for (const value of ['["1.5"]', '1e999', 'true'])
      expect(await encode(rowsOf([`{"d":${value}}`]), { d: 'decimal' })).toMatchObject({ faults: [{ code: 'wrong_type' }] })
  })

  it('refuses a list with an item of another type', async () => {
    const encoded = await encode(rowsOf(['{"a":[1]}', '{"a":[1,"2"]}']), { a: 'array<integer>' })
    expect(encoded).toMatchObject({
      faults: [{ offset: 1n, code: 'wrong_type', message: 'the member "a" is not of type array<integer>, of 64 bits' }],
    })
  })

  it.each([
    ['at', 'datetime', '"2026-11-22T01:02:03.1234567Z"', 'datetime, of RFC 3339, with at most six digits of a second'],
    ['i', 'integer?', '9223372036854775808', 'integer, of 64 bits'],
    ['on', 'date', '"2026-02-30"', 'date, such as 2026-01-31'],
    ['b', 'bytes', '"A"', 'bytes, in base64'],
    ['yes', 'boolean', '"A"', 'boolean'],
    ['n', 'decimal', `"${'9'.repeat(21)}"`, 'decimal(38,18), with at most 20 digits before the point and 18 behind it'],
    ['n', 'decimal(12, 2)', '1.125', 'decimal(12,2), with at most 10 digits before the point and 2 behind it'],
    ['l', 'array<decimal>?', '["x"]', 'array<decimal(38,18)>, with at most 20 digits before the point and 18 behind it'],
  ])('refuses a record whose member %s (%s) it can’t hold', async (name, type, value, described) => {
    const encoded = await encode(rowsOf(['{}', `{"${name}":${value}}`]), { [name]: type })
    const message = `the member "${name}" is not of type ${described}`
    expect(encoded).toMatchObject({ faults: [{ offset: 1n, code: 'wrong_type', message }] })
  })
})

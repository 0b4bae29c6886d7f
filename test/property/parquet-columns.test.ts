/** What goes into a Parquet file comes out of DuckDB as it was: 64-bit integers, decimals, dates, microseconds, bytes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, describe, expect, it } from 'vitest'
import { createRowBuffer, endRow, takeRows } from '../../shared/connectors/encode/row-buffer.ts'
import { createRowEncoder } from '../../shared/connectors/encode/row-encoder.ts'
import type { Rows } from '../../shared/connectors/sink.ts'
import { openParquetThread } from '../../shared/connectors/storage-bucket/parquet-thread.ts'

const folder = mkdtempSync(join(tmpdir(), 'dps-parquet-'))
const thread = openParquetThread()
afterAll(async () => {
  await thread.close()
  rmSync(folder, { recursive: true })
})

function rowsOf(texts: string[]): Rows[] {
  const buffer = createRowBuffer()
  const encode = createRowEncoder({ kind: 'json_lines' })
  for (const [index, text] of texts.entries()) {
    const source = Buffer.concat([Buffer.from(text), Buffer.from([0])])
    encode(source, 0, source.length - 1, buffer, -1, -1, source.length - 1, source.length)
    endRow(buffer, index, 0)
  }
  return [takeRows(buffer)]
}

let files = 0
async function readBack(texts: string[], fields: Record<string, string> | undefined, select: string): Promise<string[][]> {
  const encoded = await thread.encode(rowsOf(texts), fields)
  if (!('file' in encoded))
    throw new Error(JSON.stringify(encoded.faults, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
  const path = join(folder, `${++files}.parquet`)
  writeFileSync(path, encoded.file)
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  await connection.run("SET TimeZone = 'UTC'")
  const reader = await connection.runAndReadAll(`SELECT ${select} FROM read_parquet('${path}')`)
  return reader.getRows().map((row) => row.map(String))
}

describe('a Parquet file', () => {
  it('holds every value of the known types as it is', async () => {
    const texts = [
      '{"i":9007199254740993,"d":"12345678901234567890.0123","on":"2024-02-29","at":"2026-11-22T01:02:03.123456+02:00","b":"AAH/","n":0.1,"t":"é"}',
      '{"i":-9223372036854775808,"d":"-0.5","on":"1900-01-01","at":"1969-12-31T23:59:59.999999Z","b":"","n":1e300,"t":""}',
      '{"i":null,"d":null,"on":null,"at":null,"b":null,"n":null,"t":null}',
    ]
    const fields = { i: 'integer?', d: 'decimal?', on: 'date?', at: 'datetime?', b: 'bytes?', n: 'number?', t: 'string?' }
    const select = `i::VARCHAR, d::VARCHAR, "on"::VARCHAR, epoch_us("at")::VARCHAR, hex(b), n::VARCHAR, t, typeof(i), typeof(d), typeof("on"), typeof("at"), typeof(b)`
    const types = ['BIGINT', 'DECIMAL(38,4)', 'DATE', 'TIMESTAMP WITH TIME ZONE', 'BLOB']
    expect(await readBack(texts, fields, select)).toEqual([
      ['9007199254740993', '12345678901234567890.0123', '2024-02-29', '1795302123123456', '0001FF', '0.1', 'é', ...types],
      ['-9223372036854775808', '-0.5000', '1900-01-01', '-1', '', '1e+300', '', ...types],
      ['null', 'null', 'null', 'null', 'null', 'null', 'null', ...types],
    ])
  })

  it('finds types that lose nothing where none are known', async () => {
    const texts = ['{"id":9007199254740993,"sum":12345678901234567.89,"x":1.5}', '{"id":1,"sum":0.01,"x":2}']
    expect(await readBack(texts, undefined, 'id::VARCHAR, sum::VARCHAR, x::VARCHAR, typeof(id), typeof(sum), typeof(x)')).toEqual([
      ['9007199254740993', '12345678901234567.89', '1.5', 'BIGINT', 'DECIMAL(38,2)', 'DOUBLE'],
      ['1', '0.01', '2.0', 'BIGINT', 'DECIMAL(38,2)', 'DOUBLE'],
    ])
  })

  it('keeps numbers inside of documents as they are written', async () => {
    expect(await readBack(['{"o":{"a":[9007199254740993,0.1]}}'], { o: 'object' }, 'o')).toEqual([['{"a":[9007199254740993,0.1]}']])
  })

  it.each([
    ['at', 'datetime', '"2026-11-22T01:02:03.1234567Z"'],
    ['i', 'integer', '9223372036854775808'],
    ['on', 'date', '"2026-02-30"'],
    ['b', 'bytes', '"A"'],
  ])('refuses the record whose %s (%s) it can’t hold, naming it', async (name, type, value) => {
    const encoded = await thread.encode(rowsOf(['{}', `{"${name}":${value}}`]), { [name]: type })
    expect(encoded).toMatchObject({ faults: [{ offset: 1n, code: 'wrong_type', message: `the member "${name}" is no ${type}` }] })
  })
})

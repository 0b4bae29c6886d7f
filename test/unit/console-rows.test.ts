/** What the console makes of pasted records: a schema that all of them meet. */
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkNumbers, fedSchemaOf, generatedOf, rowsOf, schemaOf, type Row } from '../../services/console/src/rows.ts'
import { writeJson } from '../../clients/typescript/src/index.ts'
import { createRecordValidator } from '../../services/control-plane/stream-data/validate-records.ts'
import { isTypeName, jsonSchemaOf } from '../../shared/model/stream-schema.ts'

const schemaFrom = (text: string) => schemaOf(rowsOf(text))

describe('pasted records', () => {
  it('are named by their lines, empty ones counted', () => {
    expect(rowsOf('\uFEFF\n{"a":1}\r\n\n{"a":2}\n')).toHaveLength(2)
    expect(() => rowsOf('\n{"a":1}\n\n7\n')).toThrow('line 4 is not a JSON object')
    expect(() => rowsOf('[{"a":1},""]')).toThrow('item 2 is not an object')
  })
})

describe('pasted CSV', () => {
  const text = 'id,zip,amount,note,paid\na1,01099,12.50,"one, ""two""\nthree",true\na2,80331,,,false\n'
  it('has a number or a truth value only where a whole column has', () => {
    expect(writeJson(rowsOf(text))).toBe(
      '[{"id":"a1","zip":"01099","amount":12.50,"note":"one, \\"two\\"\\nthree","paid":true},{"id":"a2","zip":"80331","paid":false}]',
    )
    expect(schemaFrom(text)).toEqual({ id: 'string', zip: 'string', amount: 'number?', note: 'string?', paid: 'boolean' })
  })

  it('takes the types of the stream that it is written to', () => {
    const schema = { id: 'string', zip: 'integer', amount: 'string', note: 'string?', paid: 'any' }
    expect(writeJson(rowsOf('id,zip,amount,note,paid\n7,01099,,,true\n8,9,1.50,x,no', schema))).toBe(
      '[{"id":"7","zip":"01099","amount":"","paid":"true"},{"id":"8","zip":9,"amount":"1.50","note":"x","paid":"no"}]',
    )
  })

  it('has no two columns of one name: one of them would be lost', () => {
    expect(() => rowsOf('id,n,id\n1,2,3')).toThrow('two columns are named id')
  })

  it('names a row that has other cells than the header, and is not taken for JSON', () => {
    expect(() => rowsOf('a,b\n1,2\n3\n')).toThrow('row 2 below the header has 1 cells, the header 2')
    expect(rowsOf('\uFEFFa,b\r\n1,2\r\n')).toEqual([{ a: 1, b: 2 }])
    expect(rowsOf('\n \r\nid,note\n1, a \n2, b \r\n  \n')).toEqual([
      { id: 1, note: ' a ' },
      { id: 2, note: ' b ' },
    ])
    expect(() => rowsOf('a,b\n1,"2\n')).toThrow('line 2 has a quote that does not close')
    expect(() => rowsOf('a,b\n1,x "y"\n')).toThrow('line 2 has a quote')
    expect(() => rowsOf('some text')).toThrow('line 1 is not a JSON object')
  })
})

describe('the cells of pasted CSV', () => {
  it('are those that another implementation reads', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '1', '"', ',', '\n', '\r\n', ' ') })
    const schema = { a: 'string', b: 'string' }
    fc.assert(
      fc.property(fc.array(fc.record({ a: cell, b: cell }), { minLength: 1 }), (rows) => {
        const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
        const text = `a,b\n${rows.map(({ a, b }) => `${quoted(a)},${quoted(b)}`).join('\n')}`
        expect(rowsOf(text, schema)).toEqual(parse(text, { columns: true }))
        const bare = (text: string) => text.replaceAll(/[",\r\n]/g, '')
        const plain = `a,b\n${rows.map(({ a, b }) => `${bare(a)}x,${bare(b)}`).join('\n')}\n`
        expect(rowsOf(plain, schema)).toEqual(parse(plain, { columns: true }))
      }),
    )
  })
})

describe('the schema of pasted records', () => {
  it('lets be missing what is not in each of them', () => {
    expect(schemaFrom('{"id":"s1","amount":12.5}\n{"id":"s2"}')).toEqual({ id: 'string', amount: 'number?' })
  })

  it('has the fields that are null in all, or in some', () => {
    expect(schemaFrom('{"x":5,"opt":null}')).toEqual({ x: 'integer', opt: 'any' })
    expect(schemaFrom('{"x":5}\n{"x":null}\n{}')).toEqual({ x: 'any?' })
  })

  it('has one type for two kinds of number, and any for what differs', () => {
    expect(schemaFrom('{"n":1,"t":"a"}\n{"n":1.5,"t":2}')).toEqual({ n: 'number', t: 'any' })
    expect(schemaFrom('{"n":9007199254740993123}')).toEqual({ n: 'number' })
  })

  it('knows times, and what arrays hold', () => {
    expect(schemaFrom('{"at":"2026-11-24T23:55:41Z","tags":["a"],"none":[],"mixed":[1,"a"]}')).toEqual({
      at: 'datetime',
      tags: 'array<string>',
      none: 'array<any>',
      mixed: 'array<any>',
    })
    expect(schemaFrom('{"at":"2026-11-24T23:55:41Z"}\n{"at":"soon"}')).toEqual({ at: 'string' })
    expect(schemaFrom('{"at":"2026-02-30T00:00:00Z"}')).toEqual({ at: 'string' })
  })

  it('has types that streams know, and requires nothing that a record lacks', () => {
    const rows = fc.array(fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }), {
      minLength: 1,
    })
    fc.assert(
      fc.property(rows, (given) => {
        const schema = schemaOf(given as Row[])
        expect(Object.values(schema).filter((type) => !isTypeName(type))).toEqual([])
        const { required = [], properties } = jsonSchemaOf('it', schema) as { required?: string[]; properties: Record<string, unknown> }
        for (const row of given) {
          expect(required.filter((name) => !Object.hasOwn(row, name))).toEqual([])
          expect(Object.keys(row).filter((name) => !Object.hasOwn(properties, name))).toEqual([])
        }
      }),
    )
  })

  it('requires of a generator only what it fills', () => {
    const schema = { id: 'string', n: 'number?', tags: 'array<string>', opt: 'any?' }
    expect(generatedOf(schema)).toEqual({ id: 'string', n: 'number' })
    expect(fedSchemaOf(schema)).toEqual({ id: 'string', n: 'number?', tags: 'array<string>?', opt: 'any?' })
  })
})

describe('numbers of pasted records', () => {
  const check = (text: string) => checkNumbers(rowsOf(text), schemaFrom(text))

  it('are refused where their stream would refuse them, with the record and the field', () => {
    const told = 'record 2, meta, serial, 0: a number that JSON readers would round'
    expect(() => check('{"meta":{}}\n{"meta":{"serial":[9007199254740993]}}')).toThrow(told)
    expect(() => check('{"n":1e400}')).toThrow('record 1, n')
    expect(() => check('{"n":9007199254740993,"meta":{"serial":"9007199254740993","of":0.1000000000000000055}}')).not.toThrow()
  })

  it('are those that the stream refuses, and no others', async () => {
    const validate = createRecordValidator()
    const number = fc.constantFrom(
      '1',
      '-0.5',
      '9007199254740991',
      '9007199254740993',
      '1e300',
      '-1e400',
      '0.1000000000000000055',
      '"a"',
      'null',
    )
    const value = fc.oneof(
      number,
      fc.array(number, { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
      number.map((each) => `{"in":[${each}]}`),
    )
    const rows = fc.array(fc.dictionary(fc.constantFrom('a', 'b'), value, { noNullPrototype: true }), { minLength: 1, maxLength: 3 })
    let streams = 0
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        const lines = given.map((row) => `{${Object.entries(row).map(([name, text]) => `"${name}":${text}`)}}`)
        const records: unknown[] = lines.map((line): unknown => JSON.parse(line))
        const schema = schemaFrom(lines.join('\n'))
        const stream = {
          id: `s${streams++}`,
          account_id: 'a',
          schema_id: null,
          name: 's',
          format: 'json' as const,
          schema,
          schema_text: null,
        }
        const isRefused = await validate(stream, records).then(
          () => false,
          () => true,
        )
        const isTold = (() => {
          try {
            check(lines.join('\n'))
            return false
          } catch {
            return true
          }
        })()
        expect(isTold).toBe(isRefused)
      }),
    )
  })
})

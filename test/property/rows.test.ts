/** Rows as lanes encode them, compared with JSON.parse and with Postgres' text format. */
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import kafkajs from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { createMemberScanner } from '../../shared/model/json-members.ts'
import { createRowBuffer, endRow, takeRows } from '../../shared/connectors/encode/row-buffer.ts'
import { encodeHeaders } from '../../shared/kafka/protocol/record-batch.ts'
import { createRowEncoder } from '../../shared/connectors/encode/row-encoder.ts'
import type { RowFormat } from '../../shared/connectors/row-format.ts'
import { partitionOfKey } from '../../shared/kafka/protocol/murmur2.ts'

const NAMES = ['a', 'b', 'name', 'ä"\\', '', 'long_name_of_a_member']
const members = fc.dictionary(fc.constantFrom(...NAMES), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 6 })
/** A document in any spelling: with or without whitespace, characters beyond ASCII escaped or not. */
const written = fc.tuple(members, fc.constantFrom(undefined, 1, '\t', '\r\n '), fc.boolean()).map(([value, space, isEscaped]) => {
  const text = JSON.stringify(value, null, space)
  return {
    value,
    text: isEscaped ? text.replaceAll(/[^\x00-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`) : text,
  }
})

function encode(format: RowFormat, text: string | null, key: string | null = null): string | { code: string } {
  const buffer = createRowBuffer()
  const source = Buffer.from(`###${text ?? ''}${key ?? ''}###`)
  const end = 3 + Buffer.byteLength(text ?? '')
  const fault = createRowEncoder(format)(
    source,
    text === null ? -1 : 3,
    text === null ? -1 : end,
    buffer,
    key === null ? -1 : end,
    key === null ? -1 : end + Buffer.byteLength(key),
    0,
    0,
    0,
    0,
  )
  if (fault) return fault
  endRow(buffer, 0, 0)
  return Buffer.from(takeRows(buffer).bytes).toString('utf8')
}

const copyFormat = (deletes = false): RowFormat => ({
  kind: 'copy',
  isWhole: false,
  ignoresUnknown: false,
  deletes,
  columns: NAMES.map((name) => ({ name, kind: 'plain', absent: '\\D' })),
})

/** Decodes COPY's text format (https://www.postgresql.org/docs/current/sql-copy.html). */
function fieldsOf(row: string): (string | null | undefined)[] {
  expect(row.endsWith('\n')).toBe(true)
  return row
    .slice(0, -1)
    .split('\t')
    .map((field) => {
      if (field === '\\N') return null
      if (field === '\\D') return undefined
      return field.replaceAll(/\\(.)/g, (_, escaped: string) => ({ n: '\n', r: '\r', t: '\t' })[escaped] ?? escaped)
    })
}

/** A lone surrogate that was not written as an escape is U+FFFD in the bytes already. */
const wellFormed = (text: string): string => Buffer.from(text, 'utf8').toString('utf8')
const hasNul = (value: unknown): boolean => typeof value === 'string' && value.includes('\0')

describe('a row for COPY', () => {
  it('holds for every member the value that JSON.parse finds', () => {
    fc.assert(
      fc.property(written, ({ value, text }) => {
        const row = encode(copyFormat(), text)
        if (Object.values(value).some(hasNul)) return void expect(row).toMatchObject({ code: 'nul_character' })
        const fields = fieldsOf(row as string)
        for (const [index, name] of NAMES.entries()) {
          const member = value[name]
          if (!Object.hasOwn(value, name)) expect(fields[index]).toBe(undefined)
          else if (member === null) expect(fields[index]).toBe(null)
          else if (typeof member === 'string') expect(fields[index]).toBe(wellFormed(member))
          else expect(JSON.parse(fields[index]!)).toEqual(JSON.parse(JSON.stringify(member)))
        }
      }),
    )
  })

  it.each([copyFormat(), { kind: 'csv', columns: NAMES, delimiter: ',' } as RowFormat])(
    'is refused for half of a surrogate pair, which UTF-8 has not',
    (format) => {
      for (const text of ['\\ud800', 'x\\udc00y', '\\ud83d\\ud83d\\ude00'])
        expect(encode(format, `{"b":"${text}"}`)).toMatchObject({ code: 'lone_surrogate' })
      expect(encode(format, '{"b":"\\ud83d\\ude00"}')).toContain('😀')
    },
  )

  it('is refused for everything that is not one JSON object', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json({ maxDepth: 2 }),
          fc.string(),
          written.map(({ text }) => `${text} ${text}`),
          written.map(({ text }) => text.slice(0, -1)),
        ),
        (text) => {
          let parsed: unknown
          try {
            parsed = JSON.parse(text)
          } catch {
            parsed = undefined
          }
          const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
          if (!isObject)
            expect(encode(copyFormat(), text)).toMatchObject({ code: expect.stringMatching(/^(not_a_json_object|unknown_column)$/) })
        },
      ),
    )
  })

  it('is refused with the name of a member that the table has no column for', () => {
    expect(encode(copyFormat(), '{"a":1,"other":2}')).toEqual({
      code: 'unknown_column',
      message: 'the table has no column for the member "other"',
    })
  })

  it('shows a deletion (a null value) with the members of the key', () => {
    expect(encode(copyFormat(true), null, '{"b":"x"}')).toBe(`${NAMES.map((name) => (name === 'b' ? 'x' : '\\N')).join('\t')}\tt\n`)
    expect(encode(copyFormat(true), null, null)).toMatchObject({ code: 'null_value' })
    expect(encode(copyFormat(false), null, '{"b":"x"}')).toMatchObject({ code: 'null_value' })
  })

  it('holds bytes in Postgres’ own hexadecimal form', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
        const format: RowFormat = { ...copyFormat(), columns: [{ name: 'a', kind: 'bytes', absent: '\\N' }] } as RowFormat
        const base64 = Buffer.from(bytes).toString('base64')
        expect(fieldsOf(encode(format, JSON.stringify({ a: base64 })) as string)).toEqual([`\\x${Buffer.from(bytes).toString('hex')}`])
      }),
    )
  })

  it('refuses text that is nearly base64: cut, with something behind its padding, or with bits that no byte takes', () => {
    const format: RowFormat = { ...copyFormat(), columns: [{ name: 'a', kind: 'bytes', absent: '\\N' }] } as RowFormat
    const isTaken = (text: string): boolean => typeof encode(format, JSON.stringify({ a: text })) === 'string'
    for (const text of ['QUJD=REVG', 'A', 'QUI', 'QQ', 'QQ=', 'QQ=Q', 'QQ===', 'Q===', '=', 'QR==', 'QUJ=', 'QUI=\n'])
      expect(isTaken(text), text).toBe(false)
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('A', 'Q', 'g', '/', '='), maxLength: 9 }), (text) => {
        expect(isTaken(text)).toBe(Buffer.from(text, 'base64').toString('base64') === text)
      }),
    )
  })
})

describe('a line of JSON', () => {
  it('is one line, and the same document', () => {
    fc.assert(
      fc.property(written, ({ value, text }) => {
        const line = encode({ kind: 'json_lines' }, text) as string
        expect(line.indexOf('\n')).toBe(line.length - 1)
        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('shows a deletion (a null value) with the members of the key and _deleted', () => {
    fc.assert(
      fc.property(written, ({ value, text }) => {
        expect(JSON.parse(encode({ kind: 'json_lines' }, null, text) as string)).toEqual(
          JSON.parse(JSON.stringify({ ...value, _deleted: true })),
        )
      }),
    )
    expect(encode({ kind: 'json_lines' }, null, 'text')).toBe('null\n')
  })
})

describe('a line of JSON with metadata', () => {
  const METADATA: RowFormat = { kind: 'json_lines', metadata: ['offset', 'partition', 'timestamp', 'op', 'commit_time'] }
  const own = { _offset: 7, _partition: 3, _timestamp: '2026-11-22T01:02:03.004Z' }

  function encodeWith(text: string | null, key: string | null, headers: [string, Buffer | null][]): string {
    const parts = [key ?? '', text ?? ''].map((part) => Buffer.from(part))
    const source = Buffer.concat([...parts, encodeHeaders(headers)])
    const keyEnd = parts[0]!.length
    const valueEnd = keyEnd + parts[1]!.length
    const buffer = createRowBuffer()
    buffer.partition = 3
    const at = [text === null ? -1 : keyEnd, text === null ? -1 : valueEnd, key === null ? -1 : 0, key === null ? -1 : keyEnd] as const
    const encoder = createRowEncoder(METADATA)
    encoder(source, at[0], at[1], buffer, at[2], at[3], valueEnd, source.length, 7, Date.parse('2026-11-22T01:02:03.004Z'))
    endRow(buffer, 7, 0)
    return Buffer.from(takeRows(buffer).bytes).toString('utf8')
  }

  it('is the same document with the metadata after its own members', () => {
    const header = fc.tuple(fc.string({ maxLength: 3 }), fc.option(fc.string({ maxLength: 3 })))
    fc.assert(
      fc.property(written, fc.array(header, { maxLength: 3 }), fc.boolean(), ({ value, text }, others, isChange) => {
        const headers = others.map(([name, each]): [string, Buffer | null] => [name, each === null ? null : Buffer.from(each)])
        if (isChange) headers.push(['dps.op', Buffer.from('update')], ['dps.commit_time', Buffer.from('2026-11-22T01:02:03.000004Z')])
        const line = encodeWith(text, null, headers)
        expect(line.indexOf('\n')).toBe(line.length - 1)
        const change = { _op: isChange ? 'update' : null, _commit_time: isChange ? '2026-11-22T01:02:03.000004Z' : null }
        expect(JSON.parse(line)).toEqual({ ...JSON.parse(JSON.stringify(value)), ...own, ...change })
      }),
    )
  })

  it('has a null _commit_time when the header holds no time, and a null for an empty value', () => {
    expect(JSON.parse(encodeWith('{}', null, [['dps.commit_time', Buffer.from('soon')]]))).toMatchObject({ _commit_time: null })
    expect(JSON.parse(encodeWith('', null, []))).toMatchObject({ value: null, ...own })
  })

  it('refuses non-objects when only objects are wanted', () => {
    const only: RowFormat = { kind: 'json_lines', onlyObjects: true }
    for (const text of ['[1,2]', '"text"', '5', '', null])
      expect(encode(only, text, '{"id":1}')).toMatchObject({ code: 'not_a_json_object' })
    expect(encode(only, ' {"a":1}')).toBe(' {"a":1}\n')
  })

  it('shows a deletion with the members of the key, and keeps a non-object as its member `value`', () => {
    const none = { _op: null, _commit_time: null }
    expect(JSON.parse(encodeWith(null, '{"id":1}', [['dps.op', Buffer.from('delete')]]))).toEqual({
      id: 1,
      _deleted: true,
      ...own,
      ...none,
      _op: 'delete',
    })
    expect(JSON.parse(encodeWith(' [1, 2]\n', null, []))).toEqual({ value: [1, 2], ...own, ...none })
    expect(JSON.parse(encodeWith(null, 'text', []))).toEqual({ value: null, ...own, ...none })
  })
})

describe('a row of csv', () => {
  it('is read back by the rules of RFC 4180', () => {
    const format: RowFormat = { kind: 'csv', columns: NAMES, delimiter: ';' }
    const texts = fc.dictionary(fc.constantFrom(...NAMES), fc.string({ unit: fc.constantFrom('a', ';', '"', '\n', '\r', ' ', 'é', ',') }), {
      maxKeys: 6,
    })
    fc.assert(
      fc.property(texts, (value) => {
        const row = encode(format, JSON.stringify(value)) as string
        const [fields] = parse(row, { delimiter: ';', record_delimiter: '\r\n' })
        expect(fields).toEqual(NAMES.map((name) => value[name] ?? ''))
      }),
    )
  })
})

describe('a member scanner', () => {
  it('never reads past the end, whatever the bytes are', () => {
    const scanner = createMemberScanner(NAMES, true)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => {
        const bytes = Uint8Array.from([0x7b, 0x22, ...noise])
        const fault = scanner.scan(bytes, 0, bytes.length)
        for (let i = 0; i < NAMES.length; i++) if (!fault && scanner.sorts[i]) expect(scanner.ends[i]).toBeLessThanOrEqual(bytes.length)
      }),
    )
  })
})

describe('the partition of a key', () => {
  it('is the one that kafkajs computes', () => {
    const partitioner = kafkajs.Partitioners.DefaultPartitioner()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40, minLength: 1 }), fc.integer({ min: 1, max: 64 }), (key, partitions) => {
        const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
          partitionId,
          partitionErrorCode: 0,
          leader: 0,
          replicas: [],
          isr: [],
        }))
        const wanted = partitioner({ topic: 't', partitionMetadata, message: { key: Buffer.from(key), value: null } })
        expect(partitionOfKey(key, 0, key.length, partitions)).toBe(wanted)
      }),
    )
  })
})

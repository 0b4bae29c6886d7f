/** Members of Avro records, compared with an encoder written from the specification: defaults, logical types, lists and maps. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openAvro } from '../../shared/codecs/avro.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { timeOf } from '../harness/times-of.ts'

const open = (text: string) => openAvro({ text, references: [] })
const recordOf = (...fields: object[]) => open(JSON.stringify({ type: 'record', name: 'R', namespace: 'n', fields }))
const ofType = (type: unknown) => recordOf({ name: 'v', type })

/** Zigzag and base 128 (Avro 1.12, "Primitive Types"). */
function long(value: bigint | number): Buffer {
  const bytes: number[] = []
  let left = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n))
  for (; left >= 128n; left >>= 7n) bytes.push(Number(left & 127n) | 128)
  return Buffer.from([...bytes, Number(left)])
}
const string = (value: string): Buffer => Buffer.concat([long(Buffer.byteLength(value)), Buffer.from(value)])

describe('a default', () => {
  it('of a long keeps all its digits, in every place', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const places = {
          '"long"': [value, long(value)],
          '["null","long"]': [value, Buffer.concat([long(1), long(value)])],
          '{"type":"array","items":"long"}': [`[${value}]`, Buffer.concat([long(1), long(value), long(0)])],
          '{"type":"map","values":"long"}': [`{"k":${value}}`, Buffer.concat([long(1), string('k'), long(value), long(0)])],
          '{"type":"record","name":"Q","fields":[{"name":"l","type":"long"}]}': [`{"l":${value}}`, long(value)],
        } as const
        for (const [type, [given, bytes]] of Object.entries(places)) {
          const codec = open(`{"type":"record","name":"R","fields":[{"name":"v","type":${type},"default":${given}}]}`)
          expect(codec.fromJson('{}')).toEqual(bytes)
          expect(codec.fields.v).toMatch(/\?$/)
        }
      }),
      { numRuns: 30 },
    )
  })

  it.each([
    [['string', 'null'], null, [2]],
    [['null', 'string'], '', [2, 0]],
    [['null', 'int', 'string'], 'x', [4, 2, 0x78]],
    [['string', 'bytes'], 'x', [0, 2, 0x78]],
    [['int', { type: 'map', values: 'int' }], {}, [2, 0]],
    [[{ type: 'long', logicalType: 'timestamp-millis' }, 'null'], 0, [0, 0]],
    [{ type: 'int', logicalType: 'date' }, 1, [2]],
    [{ type: 'bytes', logicalType: 'decimal', precision: 5, scale: 2 }, '\u0001', [2, 1]],
    [{ type: 'fixed', name: 'F', size: 2 }, '\u00ff\u0001', [0xff, 1]],
    [{ type: 'record', name: 'Q', fields: [{ name: 'x', type: ['null', 'int'], default: 3 }] }, {}, [2, 6]],
    [{ type: 'enum', name: 'E', symbols: ['A', 'B'] }, 'B', [2]],
    ['double', 0, [0, 0, 0, 0, 0, 0, 0, 0]],
    ['float', 0.5, [0, 0, 0, 0x3f]],
  ])('of the type %j may be %j', (type, value, bytes) =>
    expect([...recordOf({ name: 'v', type, default: value }).fromJson('{}')]).toEqual(bytes),
  )

  it.each([
    ['int', 'x'],
    ['string', null],
    ['bytes', '\u0100'],
    [['null', 'int'], 'x'],
    [{ type: 'record', name: 'Q', fields: [{ name: 'x', type: 'int' }] }, {}],
  ])('of the type %j can’t be %j', (type, value) =>
    expect(() => recordOf({ name: 'v', type, default: value })).toThrow('the field "v" of n.R has a default that does not fit its type'),
  )
})

describe('a logical type', () => {
  it.each([
    [{ type: 'string', logicalType: 'decimal', precision: 10, scale: 2 }, '"12.5"', string('12.5'), 'string'],
    [{ type: 'string', logicalType: 'timestamp-millis' }, '"2026-01-01T00:00:00Z"', string('2026-01-01T00:00:00Z'), 'string'],
    [{ type: 'string', logicalType: 'date' }, '"2026-01-01"', string('2026-01-01'), 'string'],
    [{ type: 'int', logicalType: 'timestamp-millis' }, '10', long(10), 'integer'],
    [{ type: 'long', logicalType: 'date' }, '10', long(10), 'integer'],
    [{ type: 'bytes', logicalType: 'decimal', precision: 2, scale: 5 }, '"BQ=="', Buffer.from([2, 5]), 'bytes'],
    [{ type: 'bytes', logicalType: 'decimal' }, '"BQ=="', Buffer.from([2, 5]), 'bytes'],
    [{ type: 'bytes', logicalType: 'decimal', precision: 5, scale: '2' }, '"BQ=="', Buffer.from([2, 5]), 'bytes'],
    [{ type: 'long', logicalType: 'uuid' }, '10', long(10), 'integer'],
  ])('%j is ignored where it is not valid', (type, json, bytes, name) => {
    const codec = ofType(type)
    expect(codec.fields).toEqual({ v: name })
    expect([codec.toJson(bytes), codec.fromJson(`{"v":${json}}`)]).toEqual([`{"v":${json}}`, bytes])
  })

  it('uuid is checked where it is written, in every place, and shown as it is', () => {
    const uuid = { type: 'string', logicalType: 'uuid' }
    const places: [type: unknown, member: (text: string) => unknown, path: string][] = [
      [uuid, (text) => text, 'v'],
      [['null', uuid], (text) => text, 'v'],
      [[uuid, 'bytes'], (text) => ({ string: text }), 'v.string'],
      [{ type: 'array', items: uuid }, (text) => [text], 'v.0'],
      [{ type: 'map', values: uuid }, (text) => ({ k: text }), 'v.k'],
      [{ type: 'record', name: 'Q', fields: [{ name: 'u', type: uuid }] }, (text) => ({ u: text }), 'v.u'],
    ]
    for (const [type, member, path] of places) {
      const codec = ofType(type)
      for (const text of ['018f2b6a-5d3c-7c11-8a4e-0123456789ab', '018F2B6A-5D3C-7C11-8A4E-0123456789AB']) {
        const json = JSON.stringify({ v: member(text) })
        expect(codec.toJson(codec.fromJson(json))).toBe(json)
      }
      for (const text of ['zzz', '', '018f2b6a5d3c7c118a4e0123456789ab', '018f2b6a-5d3c-7c11-8a4e-0123456789abc'])
        expect(() => codec.fromJson(JSON.stringify({ v: member(text) }))).toThrow(`the member "${path}" is not a UUID`)
    }
    expect(ofType(uuid).toJson(string('zzz'))).toBe('{"v":"zzz"}')
    // Fields of the same schema without the logical type take any text, and a default is the schema's own affair.
    const both = recordOf({ name: 'u', type: uuid, default: '' }, { name: 's', type: 'string' }, { name: 't', type: { type: 'string' } })
    expect(both.fromJson('{"s":"x","t":"y"}')).toEqual(Buffer.concat([string(''), string('x'), string('y')]))
  })

  it('uuid may be a text that is its default, in every place: such a record can be copied', () => {
    const uuid = { type: 'string', logicalType: 'uuid' }
    const places: [type: unknown, value: unknown][] = [
      [uuid, ''],
      [[uuid, 'null'], 'none'],
      [['null', uuid], ''],
      [[uuid, 'bytes'], ''],
      [{ type: 'array', items: uuid }, ['', 'none']],
      [{ type: 'map', values: uuid }, { k: '' }],
      [{ type: 'record', name: 'Q', fields: [{ name: 'u', type: uuid }] }, { u: '' }],
    ]
    for (const [type, value] of places) {
      const codec = recordOf({ name: 'v', type, default: value })
      const bytes = codec.fromJson('{}')
      expect(codec.fromJson(codec.toJson(bytes))).toEqual(bytes)
    }
    const one = recordOf({ name: 'v', type: uuid, default: '' }, { name: 'w', type: uuid })
    for (const [json, path] of [
      ['{"v":"none","w":"018f2b6a-5d3c-7c11-8a4e-0123456789ab"}', 'v'],
      ['{"v":"","w":""}', 'w'],
    ] as const)
      expect(() => one.fromJson(json)).toThrow(`the member "${path}" is not a UUID`)
  })

  it('of a name counts where a union is of several texts', () => {
    const decimal = { type: 'fixed', name: 'D', size: 4, logicalType: 'decimal', precision: 5, scale: 2 }
    const codec = recordOf({ name: 'd', type: decimal }, { name: 'v', type: ['null', 'D', 'string'] })
    for (const json of ['{"d":"1.25","v":{"n.D":"1.25"}}', '{"d":"1.25","v":{"string":"1.25"}}'])
      expect(codec.toJson(codec.fromJson(json))).toBe(json)
  })
})

it('a map keeps each key', () => {
  const codec = ofType({ type: 'map', values: { type: 'array', items: 'long' } })
  const key = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('__proto__', 'constructor', 'toString'))
  fc.assert(
    fc.property(key, fc.array(fc.maxSafeInteger()), fc.boolean(), (name, items, hasSizes) => {
      // A block may begin with its negative count and its size.
      const begin = (count: number, size: number) => (hasSizes ? Buffer.concat([long(-count), long(size)]) : long(count))
      const listed = Buffer.concat(items.map(long))
      const list = Buffer.concat([...(items.length === 0 ? [] : [begin(items.length, listed.length), listed]), long(0)])
      const entry = Buffer.concat([string(name), list])
      const bytes = Buffer.concat([begin(1, entry.length), entry, long(0)])
      const json = `{"v":{${JSON.stringify(name)}:${JSON.stringify(items)}}}`.replaceAll('-0', '0')
      expect(codec.toJson(bytes)).toBe(json)
      if (!hasSizes) expect(codec.fromJson(json)).toEqual(bytes)
    }),
  )
})

it.each(['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'toJSON', '__proto__'])('a field named "%s" is its own', (name) => {
  const fields = `{"name":"a","type":"int"},{"name":"${name}","type":["null","string"],"default":null}`
  const text = `{"type":"record","name":"R","fields":[${fields}]}`
  if (name === '__proto__') return expect(() => open(text)).toThrow('__proto__')
  const codec = open(text)
  expect([...codec.fromJson('{"a":1}')]).toEqual([2, 0])
  const json = `{"a":1,"${name}":"x"}`
  expect(codec.toJson(codec.fromJson(json))).toBe(json)
})

describe('a small value', () => {
  const inTime = (work: () => void) => expect(timeOf(work)).toBeLessThan(limitMs(1000))
  it.each([
    { type: 'array', items: 'int' },
    { type: 'array', items: 'string' },
    { type: 'map', values: 'int' },
  ])('of the type %j can’t name more items than it has bytes', (type) => {
    const codec = ofType(type)
    inTime(() => {
      for (const count of [50_000_000, -50_000_000, 2 ** 40, 3]) expect(() => codec.toJson(long(count))).toThrow('longer than the value')
    })
  })

  it.each([
    { type: 'enum', name: 'E', symbols: ['A'.repeat(200_000)] },
    { type: 'record', name: 'E', fields: [{ name: 'x'.repeat(200_000), type: 'boolean' }] },
    {
      type: 'record',
      name: 'E',
      fields: [...Array.from({ length: 1000 }, (_, index) => ({ name: `null_${index}`, type: 'null' })), { name: 'b', type: 'boolean' }],
    },
    ['int', 'long', { type: 'fixed', name: 'F'.repeat(200_000), size: 1 }],
    { type: 'bytes', logicalType: 'decimal', precision: 1000, scale: 1000 },
  ])('of a list of %.60j can’t become gigabytes', (items) => {
    const codec = ofType({ type: 'array', items })
    const listOf = (count: number) =>
      Buffer.concat([long(count), Buffer.alloc(Array.isArray(items) ? 2 * count : count, Array.isArray(items) ? 4 : 0), long(0)])
    inTime(() => expect(() => codec.toJson(listOf(20_000))).toThrow('too much JSON'))
    expect(() => codec.toJson(listOf(10))).not.toThrow()
  })
})

it('the time to write a record does not grow with the square of its fields', () => {
  const names = Array.from({ length: 4000 }, (_, index) => `field_${index}`)
  const codec = recordOf(...names.map((name) => ({ name, type: ['null', 'string'], default: null })))
  const json = JSON.stringify(Object.fromEntries(names.map((name) => [name, 'x'])))
  const times = Array.from({ length: 10 }, () => timeOf(() => codec.fromJson(json)))
  expect(Math.min(...times)).toBeLessThan(limitMs(60))
})

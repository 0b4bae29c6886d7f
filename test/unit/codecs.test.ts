/** Schemas written by others: values that can't be kept exactly are refused, and no schema causes endless work. */
import protobufjs from 'protobufjs'
import descriptor from 'protobufjs/ext/descriptor/index.js'
import { describe, expect, it } from 'vitest'
import { openCodec } from '../../shared/codecs/codecs.ts'
import { fieldsOf } from '../../services/control-plane/registry/fields.ts'
import { readSchema, SchemaRefused, type ReadRegistry } from '../../shared/codecs/read-schemas.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'

const avro = (...fields: object[]) =>
  openCodec('avro', { text: JSON.stringify({ type: 'record', name: 'R', namespace: 'n', fields }), references: [] })
const protobuf = (body: string) =>
  openCodec('protobuf', {
    text: `syntax = "proto3"; package p; import "google/protobuf/timestamp.proto"; message M { ${body} }`,
    references: [],
  })
const through = (codec: ReturnType<typeof openCodec>, value: unknown): unknown =>
  JSON.parse(codec.toJson(codec.fromJson(JSON.stringify(value))))

describe('an Avro schema', () => {
  it.each([
    [[{ name: 'u', type: ['string', 'bytes'] }], { u: { bytes: 'aGk=' } }],
    [[{ name: 'u', type: ['string', 'bytes'] }], { u: { string: 'aGk=' } }],
    [[{ name: 'u', type: ['null', 'string', { type: 'long', logicalType: 'timestamp-millis' }] }], { u: { string: '5' } }],
    [[{ name: 'u', type: ['null', { type: 'enum', name: 'E', symbols: ['A'] }, 'string'] }], { u: { 'n.E': 'A' } }],
    [
      [
        { name: 'e', type: { type: 'fixed', name: 'F', size: 2 } },
        { name: 'u', type: ['F', 'string'] },
      ],
      { e: 'AQI=', u: { 'n.F': 'AQI=' } },
    ],
    [
      [
        {
          name: 'r',
          type: {
            type: 'record',
            name: 'B',
            fields: [
              { name: 'type', type: 'string' },
              { name: 'data', type: { type: 'array', items: 'int' } },
            ],
          },
        },
      ],
      { r: { type: 'Buffer', data: [1, 2] } },
    ],
    [[{ name: 'next', type: ['null', 'R'], default: null }], { next: { next: null } }],
    [[{ name: 'm', type: { type: 'map', values: 'bytes' } }], { m: { a: '/w==' } }],
  ])('with fields %j keeps %j', (fields, value) => expect(through(avro(...fields), value)).toEqual(value))

  it.each([
    [{ name: 'b', type: 'bytes' }, 'hello, world!'],
    [{ name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } }, '5'],
    [{ name: 'day', type: { type: 'int', logicalType: 'date' } }, '2026-1-2'],
    [{ name: 'i', type: 'int' }, 2 ** 31],
    [{ name: 'l', type: 'long' }, 2 ** 63],
    [{ name: 'l', type: 'long' }, 1.5],
    [{ name: 's', type: 'string' }, '\ud800'],
    [{ name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } }, '2026-01-02T03:04:05.123456Z'],
    [{ name: 'at', type: { type: 'long', logicalType: 'timestamp-micros' } }, '2026-01-02T03:04:05.1234567Z'],
    [{ name: 'd', type: { type: 'bytes', logicalType: 'decimal', precision: 5, scale: 2 } }, '1234.56'],
    [{ name: 'd', type: { type: 'bytes', logicalType: 'decimal', precision: 5, scale: 2 } }, '1.234'],
    [{ name: 'd', type: { type: 'bytes', logicalType: 'decimal', precision: 5, scale: 2 } }, 1.5],
    [{ name: 'd', type: { type: 'fixed', name: 'F', size: 1, logicalType: 'decimal', precision: 3, scale: 0 } }, '128'],
  ])('with field %j refuses %j', (field, value) => expect(() => avro(field).fromJson(JSON.stringify({ [field.name]: value }))).toThrow())

  it.each([
    [{ type: 'long' }, '9007199254740993'],
    [{ type: 'long' }, '-9223372036854775808'],
    [['null', 'long'], '9223372036854775807'],
    [['null', 'double'], '0.1'],
    [{ type: 'array', items: 'long' }, '[1,9007199254740993]'],
    [{ type: 'long', logicalType: 'timestamp-millis' }, '"1969-12-31T23:59:59.999Z"'],
    [{ type: 'long', logicalType: 'timestamp-micros' }, '"2026-01-02T03:04:05.123456Z"'],
    [['null', { type: 'long', logicalType: 'timestamp-micros' }], '"1969-12-31T23:59:59.999999Z"'],
    [{ type: 'bytes', logicalType: 'decimal', precision: 38, scale: 2 }, '"-123456789012345678901234567890123456.78"'],
    [{ type: 'bytes', logicalType: 'decimal', precision: 9, scale: 3 }, '"-0.001"'],
    [['null', { type: 'bytes', logicalType: 'decimal', precision: 4 }], '"128"'],
    [{ type: 'fixed', name: 'F', size: 8, logicalType: 'decimal', precision: 18, scale: 4 }, '"-1.0000"'],
  ])('with type %j keeps every digit of %s', (type, text) => {
    const codec = avro({ name: 'v', type })
    expect(codec.toJson(codec.fromJson(`{"v":${text}}`))).toBe(`{"v":${text}}`)
  })

  it.each([
    [{ type: 'map', values: 'string' }, '{"a":5.5}'],
    [{ type: 'map', values: 'string' }, '5.5'],
    ['int', '5.5'],
    ['string', '0.1'],
    [['null', 'string'], '0.1'],
    [{ type: 'record', name: 'B', fields: [{ name: 'rawJSON', type: 'string' }] }, '5.5'],
    [{ type: 'bytes', logicalType: 'decimal', precision: 100_000 }, `"${'9'.repeat(50_000)}"`],
  ])('with type %j refuses %s instead of reading it as something else', (type, text) =>
    expect(() => avro({ name: 'v', type }).fromJson(`{"v":${text}}`)).toThrow('"v'),
  )

  it.each([
    [['int', 'long'], '{"long":5}'],
    [['null', 'long', 'double'], '{"double":0.5}'],
    [['null', 'long', 'bytes'], '"aGk="'],
    [['long', 'bytes'], '5'],
    [['null', 'long'], '5'],
  ])('with union %j keeps %s', (type, text) => {
    const codec = avro({ name: 'v', type })
    expect(codec.toJson(codec.fromJson(`{"v":${text}}`))).toBe(`{"v":${text}}`)
  })

  it('shows a 64-bit integer as the type integer', () => {
    expect(avro({ name: 'a', type: 'long' }, { name: 'b', type: ['null', 'long'] }).fields).toEqual({ a: 'integer', b: 'integer?' })
    expect(through(avro({ name: 'v', type: 'long' }), { v: 1e16 })).toEqual({ v: 1e16 })
  })

  it.each(['9007199254740993', '123456789012345670001'])('refuses %s, which a double can’t hold', (text) => {
    expect(() => avro({ name: 'v', type: 'double' }).fromJson(`{"v":${text}}`)).toThrow('"v"')
    expect(() => protobuf('double v = 1;').fromJson(`{"v":${text}}`)).toThrow('"v"')
  })

  it.each(['1e39', '-1e39', `1${'0'.repeat(40)}`])('refuses %s, which is out of the range of a float', (text) => {
    for (const type of ['float', ['null', 'float']]) expect(() => avro({ name: 'v', type }).fromJson(`{"v":${text}}`)).toThrow('"v"')
  })

  it.each([
    [['null', 'string', 'bytes'], 'x', 'null, {"string": a text} or {"bytes": a text of base64}'],
    [['null', 'int'], 'x', 'null or an integer of 32 bits'],
    [{ type: 'enum', name: 'E', symbols: ['A', 'B'] }, 'C', '"A" or "B"'],
    [{ type: 'int', logicalType: 'date' }, 5, 'a day such as "2026-01-31"'],
    [{ type: 'long', logicalType: 'timestamp-millis' }, 5, 'a time (RFC 3339, at most three digits of a second)'],
    [
      { type: 'fixed', name: 'D', size: 8, logicalType: 'decimal', precision: 5, scale: 2 },
      '1234.5',
      'at most 3 digits before the point and 2',
    ],
    ['string', 5, 'a text'],
    ['long', '5', 'an integer of 64 bits'],
    ['long', undefined, 'an integer of 64 bits'],
    [{ type: 'fixed', name: 'F', size: 3 }, 'AA==', 'a text of base64 of 3 bytes'],
  ])('with %j refuses %j, and says what it must be', (type, v, expected) => {
    const write = () => avro({ name: 'v', type }).fromJson(JSON.stringify({ v }))
    expect(write).toThrow('the member "v" does not fit the stream\'s Avro schema: it must be ')
    expect(write).toThrow(expected)
  })

  it('encodes a decimal as the two’s complement that the specification asks for', () => {
    const codec = avro({ name: 'v', type: { type: 'bytes', logicalType: 'decimal', precision: 6, scale: 2 } })
    // The length 2 (zig-zag 4), then -12345.
    expect(codec.fromJson('{"v":"-123.45"}')).toEqual(Buffer.from([4, 0xcf, 0xc7]))
  })

  it('is refused when the items of a list take no bytes, because a few bytes could then hold an endless list', () => {
    const empty = { type: 'record', name: 'E', fields: [{ name: 'n', type: 'null' }] }
    for (const items of ['null', empty, { type: 'array', items: 'null' }])
      expect(() => avro({ name: 'a', type: { type: 'array', items } })).toThrow('take no bytes')
  })

  it('refuses NaN, which JSON can’t express', () => {
    const codec = avro({ name: 'd', type: 'double' })
    const value = Buffer.alloc(8)
    value.writeDoubleLE(Number.NaN)
    expect(() => codec.toJson(value)).toThrow('not finite')
  })
})

describe('a Protobuf schema', () => {
  it.each([
    ['int32 v = 1;', 4294967301],
    ['uint32 v = 1;', -1],
    ['uint64 v = 1;', -1],
    ['int64 v = 1;', 2 ** 63],
    ['int64 v = 1;', 1.5],
    ['google.protobuf.Timestamp v = 1;', '2026-01-02T03:04:05.1234567891Z'],
    ['google.protobuf.Timestamp v = 1;', 'yesterday'],
    ['string v = 1;', '\ud800'],
    ['string v = 1;', 5.5],
    ['map<string, string> v = 1;', { a: 5.5 }],
    ['map<string, string> v = 1;', 5.5],
    ['float v = 1;', 1e300],
    ['bytes v = 1;', 'hello, world!'],
    ['M v = 1;', { w: 1 }],
  ])('with %s refuses %j', (body, v) => expect(() => protobuf(body).fromJson(JSON.stringify({ v }))).toThrow())

  it.each([
    ['"5"', 'is not a number'],
    ['1.5', 'is not an integer in the range of int64'],
    ['9223372036854775808', 'is out of the range of int64'],
  ])('with an int64 says of %s that it %s', (text, message) =>
    expect(() => protobuf('int64 v = 1;').fromJson(`{"v":${text}}`)).toThrow(`the member "v" ${message}`),
  )

  it.each([
    ['int32 v = 1;', -(2 ** 31)],
    ['fixed64 v = 1;', Number.MAX_SAFE_INTEGER],
    ['map<string, bytes> v = 1;', { a: '/w==' }],
    ['map<int32, string> v = 1;', { 5: 'a' }],
  ])('with %s keeps %j', (body, v) => expect(through(protobuf(body), { v })).toEqual({ v }))

  it.each([
    ['int64 v = 1;', '9007199254740993'],
    ['sint64 v = 1;', '-9223372036854775808'],
    ['uint64 v = 1;', '18446744073709551615'],
    ['repeated fixed64 v = 1;', '[1,18446744073709551615]'],
    ['map<string, int64> v = 1;', '{"a":9007199254740993}'],
    ['google.protobuf.Timestamp v = 1;', '"2026-01-02T03:04:05.123456789Z"'],
    ['google.protobuf.Timestamp v = 1;', '"1969-12-31T23:59:59.999Z"'],
    ['repeated google.protobuf.Timestamp v = 1;', '["2026-01-02T03:04:05.123456Z"]'],
    ['double v = 1;', '0.1'],
  ])('with %s keeps every digit of %s', (body, text) => {
    const codec = protobuf(body)
    expect(codec.toJson(codec.fromJson(`{"v":${text}}`))).toBe(`{"v":${text}}`)
  })

  it('may be a descriptor in base64, as Python’s serializer registers it', () => {
    // By protoc: package p; message Order { int64 id = 1; string note = 2; google.protobuf.Timestamp at = 3; Kind kind = 4; enum Kind … }
    const text =
      'CgtvcmRlci5wcm90bxIBcBofZ29vZ2xlL3Byb3RvYnVmL3RpbWVzdGFtcC5wcm90byKAAQoFT3JkZXISCgoCaWQYASABKAMSDAoEbm90ZRgCIAEoCRImCgJhdBgDIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXASGwoEa2luZBgEIAEoDjINLnAuT3JkZXIuS2luZCIYCgRLaW5kEgcKA05FVxAAEgcKA09MRBABYgZwcm90bzM='
    const codec = openCodec('protobuf', { text, references: [] })
    expect(codec.fields).toEqual({ id: 'integer?', note: 'string?', at: 'datetime?', kind: 'string?' })
    // Encoded by Python's protobuf.
    const value = Buffer.from('00088180808080808010120368c3a91a0b08a5ebdcca06108094ef3a2001', 'hex')
    const json = '{"id":9007199254740993,"note":"hé","at":"2026-01-02T03:04:05.123456Z","kind":"OLD"}'
    expect(codec.toJson(value)).toBe(json)
    expect(codec.fromJson(json)).toEqual(value)
  })

  it('has the same maps as a descriptor and as text', () => {
    const text = `syntax = "proto3"; package p;
      message Order { int64 id = 1; map<string, int64> counts = 2; map<string, Item> items = 3; repeated Item list = 4; }
      message Item { int64 n = 1; }`
    const { root } = protobufjs.parse(text, new protobufjs.Root(), { keepCase: true })
    root.resolveAll()
    const described = root as protobufjs.Root & { toDescriptor(syntax: string): { file: object[] } }
    const [file] = described.toDescriptor('proto3').file
    const bytes = descriptor.FileDescriptorProto.encode(file!).finish()
    const fromDescriptor = openCodec('protobuf', { text: Buffer.from(bytes).toString('base64'), references: [] })
    expect(fromDescriptor.fields).toEqual({ id: 'integer?', counts: 'object?', items: 'object?', list: 'array<object>?' })
    const json = '{"id":1,"counts":{"a":9007199254740993},"items":{"b":{"n":2}},"list":[{"n":3}]}'
    const value = fromDescriptor.fromJson(json)
    expect(JSON.parse(fromDescriptor.toJson(value))).toEqual(JSON.parse(json))
    expect(openCodec('protobuf', { text, references: [] }).fromJson(json)).toEqual(value)
    expect(() => fromDescriptor.fromJson('{"id":1,"counts":[{"key":"a","value":1}]}')).toThrow('the member "counts" is not an object')
  })

  describe('of several messages', () => {
    const text = `syntax = "proto3"; package p;
      enum Kind { NEW = 0; }
      message Item { int32 n = 1; }
      message Order { message Line { int64 id = 1; message Part { string s = 1; } } string name = 1; repeated Line lines = 2; }
      message Held { map<string, Item> items = 1; message Inner { int32 i = 1; } }
      message Odd { map<int64, string> v = 1; }`
    const asDescriptor = () => {
      const { root } = protobufjs.parse(text, new protobufjs.Root(), { keepCase: true })
      root.resolveAll()
      const [file] = (root as protobufjs.Root & { toDescriptor(syntax: string): { file: object[] } }).toDescriptor('proto3').file
      return Buffer.from(descriptor.FileDescriptorProto.encode(file!).finish()).toString('base64')
    }

    it.each([
      ['Item', '00', '{"n":5}'],
      ['Order', '0202', '{"lines":[{"id":9007199254740993}],"name":"a"}'],
      ['Order.Line', '040200', '{"id":7}'],
      ['Order.Line.Part', '06020000', '{"s":"x"}'],
    ])('writes %s with the index %s, and each codec reads it', (message, index, json) => {
      for (const schema of [text, asDescriptor()]) {
        const value = openCodec('protobuf', { text: schema, references: [], message }).fromJson(json)
        expect(value.toString('hex').startsWith(index)).toBe(true)
        expect(openCodec('protobuf', { text: schema, references: [] }).toJson(value)).toBe(json)
      }
    })

    it('tells the messages beside a map apart by a descriptor alone, which lists the entries of maps among them', () => {
      const value = Buffer.from([4, 4, 2, 8, 9])
      expect(openCodec('protobuf', { text: asDescriptor(), references: [] }).toJson(value)).toBe('{"i":9}')
      expect(() => openCodec('protobuf', { text, references: [] }).toJson(value)).toThrow('Held has maps beside its messages')
    })

    it.each([
      ['a message that the file does not have', [2, 20], 'no message with the index 10'],
      ['the entry of a map', [4, 4, 0], 'no message'],
      ['a negative index', [2, 1], 'no message'],
      ['an index that is cut off', [4, 2], 'no valid message index'],
      ['a count without end', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 'no valid message index'],
      ['a message that can’t be shown', [2, 6], 'keys of 64 bits'],
    ])('refuses a value with %s', (_what, value, why) => {
      const schema = { text: value.length === 3 ? asDescriptor() : text, references: [] }
      expect(() => openCodec('protobuf', schema).toJson(Buffer.from(value))).toThrow(why)
    })

    it('refuses a message that it does not have', () => {
      for (const message of ['Other', 'Order.Item', 'Order.Line.Part.X', 'Kind', 'p.Order'])
        expect(() => openCodec('protobuf', { text, references: [], message })).toThrow(`the schema has no message "${message}"`)
    })
  })

  it('is refused for maps with 64-bit keys', () => expect(() => protobuf('map<int64, string> v = 1;')).toThrow('64 bits'))
})

describe('a JSON Schema', () => {
  it('shows each property by its type name, and as any when it has none', () => {
    const text = JSON.stringify({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { a: true, b: { type: ['string', 'null'] }, c: { type: 'string', format: 'date' }, constructor: { type: 'array' } },
      required: ['c'],
    })
    expect(fieldsOf('json', { text, references: [] })).toEqual({ a: 'any?', b: 'any?', c: 'date', constructor: 'array<any>?' })
  })
})

describe('what a schema refers to', () => {
  const registry =
    (answer: (path: string) => unknown): ReadRegistry =>
    async (path, schema) =>
      schema.parse(answer(path))
  it('may form a cycle, and is fetched once', async () => {
    let asked = 0
    const self = { schema: '{}', references: [{ name: 'self', subject: 's', version: 1 }] }
    const found = await readSchema(
      registry(() => (asked++, self)),
      1,
    )
    expect([asked, found?.text.references.length]).toEqual([2, 1])
  })

  it('is limited in number and size', async () => {
    let next = 0
    const endless = registry(() => ({ schema: '{}', references: [{ name: 'n', subject: `s${next++}`, version: 1 }] }))
    await expect(readSchema(endless, 1)).rejects.toThrow(SchemaRefused)
    await expect(
      readSchema(
        registry(() => ({ schema: 'x'.repeat(300_000) })),
        1,
      ),
    ).rejects.toThrow(SchemaRefused)
  })
})

describe('a Protobuf value of many empty messages', () => {
  const names = Array.from({ length: 500 }, (_, index) => `int32 a_field_with_a_rather_long_name_${index} = ${index + 1};`)
  const codec = openCodec('protobuf', {
    text: `syntax = "proto3"; message M { repeated B b = 1; } message B { ${names.join(' ')} }`,
    references: [],
  })
  const listOf = (count: number) => Buffer.concat([Buffer.from([0]), Buffer.from('0a00'.repeat(count), 'hex')])

  it('is shown with the fields that they do not set, as long as that is not too much', () => {
    const { b } = JSON.parse(codec.toJson(listOf(100))) as { b: Record<string, number>[] }
    expect(b).toHaveLength(100)
    expect(Object.values(b[99]!)).toEqual(Array.from({ length: 500 }, () => 0))
  })

  it('is refused before four kilobytes become hundreds of megabytes', async () => {
    expect(await bestOf(() => expect(() => codec.toJson(listOf(100_000))).toThrow('too much JSON'))).toBeLessThan(limitMs(1000))
  })
})

describe('a value that does not fit its schema', () => {
  const item = { type: 'record', name: 'I', fields: [{ name: 'photo', type: ['null', 'bytes'], default: null }] }
  const list = { name: 'items', type: { type: 'array', items: item } }
  const counts = { name: 'counts', type: { type: 'map', values: 'long' } }
  const own = avro(list, counts)
  const other = protobuf('repeated I items = 1; map<string, int64> counts = 2; } message I { bytes photo = 1; ')
  it.each([
    [{ items: [{}, { photo: 'not base64' }], counts: {} }, ['items', '1', 'photo']],
    [{ items: [], counts: { 'a.b': 1.5 } }, ['counts', 'a.b']],
    [{ items: [{ other: 1 }], counts: {} }, ['items', '0', 'other']],
  ])('names the member at fault: %j', (value, path) => {
    for (const codec of [own, other])
      expect(() => codec.fromJson(JSON.stringify(value))).toThrow(expect.objectContaining({ path }) as Error)
  })
})

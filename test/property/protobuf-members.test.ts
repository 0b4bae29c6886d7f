/** Members of Protobuf messages, compared with an encoder written from the specification (protobuf.dev, "Encoding"). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openProtobuf } from '../../shared/codecs/protobuf.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { timeOf } from '../harness/times-of.ts'
import { hasEscapedName } from '../harness/escaped-names.ts'

const codecOf = (body: string, syntax = 'proto3') =>
  openProtobuf({ text: `syntax = "${syntax}"; message M { ${body} } enum E { ZERO = 0; ONE = 1; }`, references: [] })

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let left = BigInt.asUintN(64, value)
  for (; left >= 128n; left >>= 7n) bytes.push(Number(left & 127n) | 128)
  return Buffer.from([...bytes, Number(left)])
}
const zigzag = (value: number): Buffer => varint((BigInt(value) << 1n) ^ (BigInt(value) >> 63n))
function fixed32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value | 0)
  return bytes
}
const delimited = (bytes: Buffer): Buffer => Buffer.concat([varint(BigInt(bytes.length)), bytes])
const [VARINT, LEN, FIXED32] = [0, 2, 5]
const tagged = (id: number, wireType: number, bytes: Buffer): Buffer => Buffer.concat([varint(BigInt((id << 3) | wireType)), bytes])
const message = (...parts: Buffer[]): Buffer => Buffer.concat([Buffer.from([0]), ...parts])

const int32 = fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.constantFrom(-(2 ** 31), 2 ** 31 - 1, 0, -1))
const uint32 = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 2 ** 31, 2 ** 32 - 1))
const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('__proto__', 'constructor', 'toString', ''))

describe.each([
  ['int32', int32, VARINT, (key: number) => varint(BigInt(key))],
  ['sint32', int32, VARINT, zigzag],
  ['sfixed32', int32, FIXED32, fixed32],
  ['uint32', uint32, VARINT, (key: number) => varint(BigInt(key))],
  ['fixed32', uint32, FIXED32, fixed32],
  ['bool', fc.boolean(), VARINT, (key: boolean) => varint(key ? 1n : 0n)],
  ['string', text, LEN, (key: string) => delimited(Buffer.from(key))],
] as [string, fc.Arbitrary<unknown>, number, (key: never) => Buffer][])(
  'a map with keys of the type %s',
  (type, keys, wireType, bytesOf) => {
    it('keeps each key, both ways', () => {
      const codec = codecOf(`map<${type}, string> v = 1;`)
      fc.assert(
        fc.property(keys, (key) => {
          const entry = Buffer.concat([tagged(1, wireType, bytesOf(key as never)), tagged(2, LEN, delimited(Buffer.from('x')))])
          const bytes = message(tagged(1, LEN, delimited(entry)))
          const json = `{"v":{${JSON.stringify(String(key))}:"x"}}`
          expect(codec.fromJson(json)).toEqual(bytes)
          expect(codec.toJson(bytes)).toBe(json)
        }),
      )
    })
  },
)

it.each([
  ['int32', '4294967301'],
  ['int32', '2147483648'],
  ['uint32', '-1'],
  ['uint32', '1.5'],
  ['fixed32', '4294967296'],
  ['sint32', '05'],
  ['int32', '-0'],
  ['int32', ''],
  ['int32', 'x'],
  ['bool', 'yes'],
  ['bool', ''],
])('a map with keys of the type %s refuses "%s" instead of writing another key', (type, key) => {
  const codec = codecOf(`map<${type}, string> v = 1;`)
  expect(() => codec.fromJson(JSON.stringify({ v: { [key]: 'x' } }))).toThrow(expect.objectContaining({ path: ['v', key] }) as Error)
})

describe('bytes', () => {
  it.each([{ length: 2e9 }, { length: 3 }, { length: -1 }, [1, 2, 3], 5, true, 'not base64', {}])('refuse %j', (value) => {
    for (const [body, v] of [
      ['bytes v = 1;', value],
      ['repeated bytes v = 1;', [value]],
      ['map<string, bytes> v = 1;', { a: value }],
    ] as const) {
      const write = () => expect(() => codecOf(body).fromJson(JSON.stringify({ v }))).toThrow('is not base64')
      expect(timeOf(write)).toBeLessThan(limitMs(1000))
    }
  })

  it('keep what base64 holds', () => {
    const codec = codecOf('bytes v = 1;')
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (value) => {
        const bytes = message(tagged(1, LEN, delimited(Buffer.from(value))))
        const json = `{"v":"${Buffer.from(value).toString('base64')}"}`
        expect([codec.fromJson(json), codec.toJson(bytes)]).toEqual([bytes, json])
      }),
    )
  })
})

describe('an enum', () => {
  it('of proto3 keeps each number, with a name or without', () => {
    const codec = codecOf('E v = 1; repeated E l = 2;')
    fc.assert(
      fc.property(int32, (number) => {
        const one = varint(BigInt(number))
        const bytes = message(...(number === 0 ? [] : [tagged(1, VARINT, one)]), tagged(2, LEN, delimited(one)))
        const shown = number === 0 ? '"ZERO"' : number === 1 ? '"ONE"' : String(number)
        const json = `{"l":[${shown}],"v":${shown}}`
        expect(codec.toJson(bytes)).toBe(json)
        // A zero is written here, although it says no more than its absence.
        expect(JSON.parse(codec.toJson(codec.fromJson(json)))).toEqual(JSON.parse(json))
      }),
    )
  })

  it.each([
    ['proto2', 'optional E v = 1;', 7],
    ['proto3', 'E v = 1;', 1.5],
    ['proto3', 'E v = 1;', 2 ** 31],
    ['proto3', 'E v = 1;', 'toString'],
    ['proto3', 'E v = 1;', true],
  ])('of %s with %s refuses %j', (syntax, body, v) =>
    expect(() => codecOf(body, syntax).fromJson(JSON.stringify({ v }))).toThrow('the member "v"'),
  )
})

describe('proto2', () => {
  const body = `optional int32 a = 1; optional string s = 2 [default = "hi"]; optional E e = 3; optional int64 l = 4; optional bytes b = 5;
    repeated N n = 6; map<string, N> m = 7; } message N { optional bool t = 1 [default = true]; optional M up = 2;`
  it('shows the optional fields that a message has, and no others', () => {
    const codec = codecOf(body, 'proto2')
    const own = fc.record({ t: fc.boolean() }, { requiredKeys: [] })
    const members = { a: int32, s: text, e: fc.constantFrom('ZERO', 'ONE'), l: fc.constantFrom(0, 5), b: fc.constantFrom('', 'AQI=') }
    fc.assert(
      fc.property(
        fc.record({ ...members, n: fc.array(own), m: fc.dictionary(fc.string(), own) }, { requiredKeys: ['n', 'm'] }),
        (value) => {
          fc.pre(!hasEscapedName(JSON.stringify(value)))
          const shown = JSON.parse(codec.toJson(codec.fromJson(JSON.stringify(value)))) as Record<string, unknown>
          const withUp = (each: object): object => ({ ...each, up: null })
          expect(shown).toEqual({
            ...value,
            n: value.n.map(withUp),
            m: Object.fromEntries(Object.entries(value.m).map(([key, each]) => [key, withUp(each)])),
          })
        },
      ),
    )
    expect(codec.toJson(Buffer.from([0]))).toBe('{"n":[],"m":{}}')
  })

  it('refuses a message without its required members', () =>
    expect(() => codecOf('repeated N n = 1; } message N { required int32 r = 1;', 'proto2').fromJson('{"n":[{}]}')).toThrow(
      'the member "n.0.r" is missing',
    ))
})

it.each(['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'toJSON'])('a member named "%s" that is left out stays out', (name) => {
  for (const syntax of ['proto2', 'proto3']) {
    const codec = codecOf(`optional int64 a = 1; optional string ${name} = 2;`, syntax)
    expect(codec.fromJson('{"a":1}')).toEqual(message(tagged(1, VARINT, varint(1n))))
    expect(codec.toJson(codec.fromJson(`{"a":1,"${name}":"x"}`))).toBe(`{"a":1,"${name}":"x"}`)
  }
})

describe('the index of the message', () => {
  const codec = codecOf('int32 a = 1;')
  it('may be in its long form', () => expect(codec.toJson(Buffer.from('02000805', 'hex'))).toBe('{"a":5}'))
  it.each(['0805', '02020805', '0400000805', '02', '', '01'])('names no message of the schema in %s', (hex) =>
    expect(() => codec.toJson(Buffer.from(hex, 'hex'))).toThrow(/no valid message index|no message with the index/),
  )
})

it('two members of which one excludes the other are refused', () =>
  expect(() => codecOf('oneof o { string s = 5; int64 l = 6; }').fromJson('{"s":"x","l":1}')).toThrow('at most one of them'))

it('long names of an enum count for what a value becomes', () => {
  const codec = openProtobuf({
    text: `syntax = "proto3"; message M { repeated E e = 1; } enum E { ${'A'.repeat(100_000)} = 0; }`,
    references: [],
  })
  const listOf = (count: number) => message(tagged(1, LEN, delimited(Buffer.alloc(count))))
  expect(codec.toJson(listOf(10))).toHaveLength(1_000_037)
  expect(() => codec.toJson(listOf(1000))).toThrow('too much JSON')
})

describe('a schema with options of its own', () => {
  const options = `package meta; import "google/protobuf/descriptor.proto";
    extend google.protobuf.FieldOptions { bool pii = 50001; } extend google.protobuf.EnumValueOptions { string label = 50002; }`
  const message = 'message M { string a = 1 [(meta.pii) = true]; E e = 2; } enum E { ZERO = 0 [(meta.label) = "none"]; }'
  it('is used without them', () => {
    const codec = openProtobuf({ text: `syntax = "proto3"; ${options} ${message}`, references: [] })
    expect(codec.fields).toEqual({ a: 'string?', e: 'string?' })
    expect(codec.toJson(codec.fromJson('{"a":"x","e":"ZERO"}'))).toBe('{"a":"x","e":"ZERO"}')
  })

  it('may take them from another', () => {
    const references = [{ name: 'meta.proto', subject: 'meta', version: 1, text: `syntax = "proto3"; ${options}` }]
    const codec = openProtobuf({ text: `syntax = "proto3"; package p; import "meta.proto"; ${message}`, references })
    expect(codec.fields).toEqual({ a: 'string?', e: 'string?' })
  })
})

/** Avro's 64-bit numbers and the times made of them, over their whole range, compared with a varint written from the specification. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openAvro } from '../../shared/codecs/avro.ts'

/** Zigzag and base 128 (Avro 1.12, "Primitive Types"). */
function longBytes(value: bigint): Buffer {
  const bytes: number[] = []
  let left = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  for (; left >= 128n; left >>= 7n) bytes.push(Number(left & 127n) | 128)
  return Buffer.from([...bytes, Number(left)])
}

const codecOf = (type: unknown) =>
  openAvro({ text: JSON.stringify({ type: 'record', name: 'R', fields: [{ name: 'v', type }] }), references: [] })

const LEAST = -(2n ** 63n)
const MOST = 2n ** 63n - 1n
const anyLong = fc.oneof(
  fc.bigInt({ min: LEAST, max: MOST }),
  fc.constantFrom(LEAST, MOST, -(2n ** 53n) - 1n, 2n ** 53n + 1n, -(2n ** 52n) - 1n, -4503599627370497n, 0n, -1n),
)
const YEAR_0 = BigInt(Date.parse('0000-01-01T00:00:00Z'))
const YEAR_9999 = BigInt(Date.parse('9999-12-31T23:59:59.999Z'))

describe('an Avro long', () => {
  it.each(['long', { type: 'long', logicalType: 'local-timestamp-micros' }, { type: 'long', logicalType: 'time-micros' }])(
    'keeps all its digits as %j, both ways',
    (type) => {
      const codec = codecOf(type)
      fc.assert(
        fc.property(anyLong, (value) => {
          expect(codec.toJson(longBytes(value))).toBe(`{"v":${value}}`)
          expect(codec.fromJson(`{"v":${value}}`)).toEqual(longBytes(value))
        }),
      )
    },
  )

  it.each([
    ['timestamp-millis', 1n],
    ['timestamp-micros', 1000n],
    ['timestamp-nanos', 1_000_000n],
  ])('keeps its exact time as %s, both ways', (logicalType, perMs) => {
    for (const type of [{ type: 'long', logicalType }, ['null', { type: 'long', logicalType }]]) {
      const codec = codecOf(type)
      const prefix = Array.isArray(type) ? Buffer.from([2]) : Buffer.alloc(0)
      const [min, max] = [YEAR_0 * perMs < LEAST ? LEAST : YEAR_0 * perMs, YEAR_9999 * perMs > MOST ? MOST : YEAR_9999 * perMs]
      fc.assert(
        fc.property(
          fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max, -4503599627370497n < min ? min : -4503599627370497n)),
          (value) => {
            const bytes = Buffer.concat([prefix, longBytes(value)])
            const json = codec.toJson(bytes)
            const text = (JSON.parse(json) as { v: string }).v
            const ms = BigInt(Date.parse(`${text.slice(0, 19)}Z`))
            const digits = text.slice(20, -1)
            expect(ms * perMs + (digits === '' ? 0n : (BigInt(digits) * perMs * 1000n) / 10n ** BigInt(digits.length))).toBe(value)
            expect(codec.fromJson(json)).toEqual(bytes)
          },
        ),
      )
    }
  })
})

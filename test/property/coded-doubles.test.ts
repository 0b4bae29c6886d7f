/** Doubles and floats of Avro and Protobuf: what is read as JSON can be written back, bit for bit. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openCodec } from '../../shared/codecs/codecs.ts'

const avro = (type: unknown) =>
  openCodec('avro', { text: JSON.stringify({ type: 'record', name: 'R', fields: [{ name: 'v', type }] }), references: [] })
const protobuf = (type: string) => openCodec('protobuf', { text: `syntax = "proto3"; message R { ${type} v = 1; }`, references: [] })

const options = { noNaN: true, noDefaultInfinity: true }
/** Where JavaScript begins and ends to print a double as an integer. */
const EDGES = [2 ** 53, 2 ** 53 + 2, 2 ** 60, -1e20, 1.2345678901234567e20, 999999999999999900000, 1e21, 5e-324, -0]
const doubles = fc.oneof(fc.double(options), fc.double({ ...options, min: -1e21, max: 1e21 }), fc.constantFrom(...EDGES))
const floats = fc.oneof(fc.float(options), fc.constantFrom(...EDGES.map(Math.fround)))

describe.each([
  ['an Avro double', () => avro('double'), doubles],
  ['an Avro double that may be null', () => avro(['null', 'double']), doubles],
  ['an Avro float', () => avro('float'), floats],
  ['a Protobuf double', () => protobuf('double'), doubles],
  ['a Protobuf float', () => protobuf('float'), floats],
] as const)('%s', (_name, open, numbers) => {
  it('is written again as it was read', () => {
    const codec = open()
    fc.assert(
      fc.property(numbers, (value) => {
        const bytes = codec.fromJson(`{"v":${Object.is(value, -0) ? '-0' : JSON.stringify(value)}}`)
        const json = codec.toJson(bytes)
        expect((JSON.parse(json) as { v: number }).v).toBe(value)
        expect(codec.fromJson(json)).toEqual(bytes)
      }),
      { numRuns: 1000 },
    )
  })
})

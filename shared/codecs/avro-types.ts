/** Avro's types in JSON: times as ISO 8601 strings, decimals as strings of digits, 64-bit integers with all their digits. */
import type { Type } from 'avsc'
import { exactInteger, integerOf } from '../model/exact-json.ts'
import { daysOf, instantOf, isoOf, unitsOf } from '../model/times.ts'
import type { JsonBudget } from './expansion.ts'

/** Members of avsc's types that are missing from its declarations. */
export type Shape = Type & {
  fields?: { name: string; type: Shape }[]
  itemsType?: Shape
  valuesType?: Shape
  types?: Shape[]
  underlyingType?: Shape
}

/** avsc's name for the 64-bit type made by `exactLong`. */
export const LONG = 'abstract:long'

const DAY_MS = 86_400_000
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/
/** Most digits of a decimal: the time to read or write one grows with their square. */
const DIGITS_MAX = 1000
const DECIMAL_BYTES_MAX = 416
const LONG_MIN = -(2n ** 63n)
const LONG_MAX = 2n ** 63n - 1n

/** Fractional digits of a second per timestamp type (Avro 1.12, "Timestamps"). */
const TIMESTAMPS = { 'timestamp-millis': 3, 'timestamp-micros': 6, 'timestamp-nanos': 9 } as const

const DECIMAL_SCALE_MAX = 1000
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value)

/**
 * The logical type that a schema is read as; undefined if there is none, or not one that is read as such. A logical type is ignored where
 * it is not defined for the schema's type, or has invalid attributes (Avro 1.12, "Logical Types").
 */
export function logicalOf({ type, logicalType, precision, scale = 0 }: Record<string, unknown>): string | undefined {
  if (typeof logicalType !== 'string') return undefined
  if (Object.hasOwn(TIMESTAMPS, logicalType)) return type === 'long' ? logicalType : undefined
  if (logicalType === 'date') return type === 'int' ? logicalType : undefined
  if (logicalType !== 'decimal' || (type !== 'bytes' && type !== 'fixed')) return undefined
  const isValid = isInteger(precision) && isInteger(scale) && scale >= 0 && scale <= Math.min(precision, DECIMAL_SCALE_MAX) && precision > 0
  return isValid ? logicalType : undefined
}

/**
 * Big-endian two's complement of a number (Avro 1.12, "Decimal") in `size` bytes, or as few as needed. Undefined if `size` is too small.
 */
function bytesOf(value: bigint, size: number | undefined): Buffer | undefined {
  let length = 1
  while (value < -(1n << BigInt(length * 8 - 1)) || value >= 1n << BigInt(length * 8 - 1)) length++
  if (size !== undefined && length > size) return undefined
  const hex = BigInt.asUintN((size ?? length) * 8, value).toString(16)
  return Buffer.from(hex.padStart((size ?? length) * 2, '0'), 'hex')
}

function decimalOf(bytes: Buffer, scale: number): string {
  const unscaled = bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex')}`))
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  return `${unscaled < 0n ? '-' : ''}${whole}${scale > 0 ? `.${digits.slice(-scale)}` : ''}`
}

/**
 * Returns avsc's option `logicalTypes` for timestamps, dates and decimals. avsc reads other logical types as their underlying type. What a
 * decimal's scale adds to its digits is spent of `budget`.
 */
export function logicalTypes({ LogicalType }: typeof import('avsc').types, budget: JsonBudget) {
  const timestamp = (digits: 3 | 6 | 9) =>
    class extends LogicalType {
      protected override _fromValue(value: unknown): string {
        return instantOf(integerOf(value)!, digits)
      }
      protected override _toValue(value: unknown): unknown {
        const units = unitsOf(value, digits)
        return units === undefined ? undefined : exactInteger(units)
      }
      protected override _resolve(): undefined {
        return undefined
      }
    }
  class Day extends LogicalType {
    protected override _fromValue(value: number): string {
      return isoOf(value * DAY_MS).slice(0, 10)
    }
    protected override _toValue(value: unknown): number | undefined {
      return daysOf(value)
    }
    protected override _resolve(): undefined {
      return undefined
    }
  }
  class Decimal extends LogicalType {
    readonly scale: number
    readonly precision: number
    readonly #size: number | undefined
    constructor(schema: { scale?: number; precision?: number; size?: number }, options: never) {
      super(schema as never, options)
      this.scale = schema.scale ?? 0
      this.precision = schema.precision ?? 0
      this.#size = schema.size
    }
    protected override _fromValue(value: Buffer): string {
      if (value.length > DECIMAL_BYTES_MAX) throw new Error(`a decimal has more than ${DIGITS_MAX} digits`)
      budget.spend(this.scale)
      return decimalOf(value, this.scale)
    }
    protected override _toValue(value: unknown): Buffer | undefined {
      if (typeof value === 'string' && value.length > DIGITS_MAX + 2) return undefined
      const [, sign = '', whole = '', fraction = ''] = (typeof value === 'string' && DECIMAL.exec(value)) || []
      if (whole === '' || /[1-9]/.test(fraction.slice(this.scale))) return undefined
      const digits = `${whole}${fraction.slice(0, this.scale).padEnd(this.scale, '0')}`.replace(/^0+(?=\d)/, '')
      if (this.precision > 0 && digits.length > this.precision && digits !== '0') return undefined
      return bytesOf(BigInt(`${sign}${digits}`), this.#size)
    }
    protected override _resolve(): undefined {
      return undefined
    }
  }
  return {
    ...Object.fromEntries(Object.entries(TIMESTAMPS).map(([name, digits]) => [name, timestamp(digits)])),
    date: Day,
    decimal: Decimal,
  }
}

/** Types of UUID texts, each with the texts that defaults of its schema have for it. */
const uuids = new WeakMap<object, Set<unknown>>()
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Returns an avsc type for texts that are UUIDs. It reads and writes any text: `isNoUuid` is for those who write. */
export function uuidText({ StringType }: typeof import('avsc').types): Type {
  const type = new StringType()
  uuids.set(type, new Set())
  return type
}

/** Takes the text for one that may be written of the type, because a default writes it and its record may be copied. */
export const takeDefaultText = (type: Shape, text: unknown): void => void uuids.get(type)?.add(text)

/** Whether what is written of the type must be a UUID (Avro 1.12, "UUID"), and the text is none: readers of other libraries fail on it. */
export function isNoUuid(type: Shape, text: string): boolean {
  const defaults = uuids.get(type)
  return defaults !== undefined && !UUID.test(text) && !defaults.has(text)
}

/** Returns an avsc type for 64-bit integers that keeps all digits. */
export function exactLong({ LongType }: typeof import('avsc').types): Type {
  return LongType.__with({
    fromBuffer: (buffer: Buffer) => exactInteger(buffer.readBigInt64LE()),
    toBuffer: (value: unknown) => {
      const buffer = Buffer.alloc(8)
      buffer.writeBigInt64LE(integerOf(value)!)
      return buffer
    },
    fromJSON: (value: unknown) => value,
    toJSON: (value: unknown) => value,
    isValid: (value: unknown) => {
      const integer = integerOf(value)
      return integer !== undefined && integer >= LONG_MIN && integer <= LONG_MAX
    },
    compare: (a: unknown, b: unknown) => Number((integerOf(a) ?? 0n) - (integerOf(b) ?? 0n)),
  } as never)
}

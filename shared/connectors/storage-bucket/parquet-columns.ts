/**
 * Columns of a Parquet file (Apache Parquet, LogicalTypes.md). 64-bit integers, decimals, dates, times in microseconds and bytes have
 * columns of their own types, without rounding. A value that its column can't hold is reported as a fault.
 */
import type { ParquetWriteOptions } from 'hyparquet-writer'
import { doubleOf, isRawJSON, isSameJson } from '../../model/exact-json.ts'
import { isTypeName } from '../../model/stream-schema.ts'
import { daysOf, unitsOf } from '../../model/times.ts'

/** An element of a Parquet schema, as hyparquet takes it. */
export type SchemaElement = NonNullable<ParquetWriteOptions['schema']>[number]
/** `elements`: the column's schema tree, root first. `cells`: undefined for nulls. `faults`: indexes of values that it can't hold. */
export type Column = { elements: SchemaElement[]; cells: unknown[]; faults: number[] }

const isNumber = (value: unknown): boolean => typeof value === 'number' || isRawJSON(value)
const digitsOf = (value: unknown): string => (isRawJSON(value) ? value.rawJSON : String(value))

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

function asInteger(value: unknown): bigint | undefined {
  if (!isNumber(value) || !/^-?\d+$/.test(digitsOf(value))) return undefined
  const integer = BigInt(digitsOf(value))
  return integer >= INT64_MIN && integer <= INT64_MAX ? integer : undefined
}

/** JSON has no form for these, so they come as texts. */
const NOT_FINITE = new Set(['NaN', 'Infinity', '-Infinity'])

function asDouble(value: unknown): number | undefined {
  // As it is: its text would lose the sign of a zero.
  if (typeof value === 'number') return value
  if (isRawJSON(value)) {
    const double = doubleOf(value)
    return double !== undefined && Number.isFinite(double) ? double : undefined
  }
  return typeof value === 'string' && NOT_FINITE.has(value) ? Number(value) : undefined
}

/** Whether a double prints the number that was written, so that nothing is lost. */
const isDouble = (value: unknown): boolean => typeof value === 'number' || (isRawJSON(value) && isSameJson(Number(value.rawJSON), value))

function asBytes(value: unknown): Uint8Array | undefined {
  if (typeof value !== 'string') return undefined
  const bytes = Buffer.from(value, 'base64')
  return bytes.toString('base64').replace(/=+$/, '') === value.replace(/=+$/, '') ? bytes : undefined
}

/** Others are kept as they are written, by `columnOf`; within lists as they are printed. */
const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const OPTIONAL = { repetition_type: 'OPTIONAL' } as const
/** `read` returns undefined for a value that is not of the kind. `below` are the schema elements under its own. */
type Kind = { element: Omit<SchemaElement, 'name'>; below?: SchemaElement[]; read(value: unknown): unknown }

const TEXT: Kind = { element: { ...OPTIONAL, type: 'BYTE_ARRAY', converted_type: 'UTF8' }, read: asText }
/** Objects and mixed values are kept as JSON text. */
const JSON_TEXT: Kind = { element: TEXT.element, read: (value) => JSON.stringify(value) }

/** Captures the significant digits, without zeros at either end. */
const DECIMAL = /^(-?)(?=\d)0*(\d*?)(?:\.(?=\d)(\d*?)0*)?$/
/** A longer text is refused: it could fit only because of zeros. */
const DECIMAL_TEXT_MAX = 200
const DECIMAL_DIGITS = 38
const DECIMAL_BYTES = 16

/** Expands the exponent that JavaScript prints for small and large numbers; undefined if the number is too long to fit. */
function plainNumber(text: string): string | undefined {
  const [, sign = '', whole = '', fraction = '', exponent] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  if (exponent === undefined) return text
  const shift = Number(exponent)
  if (Math.abs(shift) > DECIMAL_TEXT_MAX) return undefined
  const digits = `${'0'.repeat(Math.max(0, -shift))}${whole}${fraction}${'0'.repeat(Math.max(0, shift))}`
  const point = Math.max(0, -shift) + whole.length + shift
  return `${sign}${digits.slice(0, point) || '0'}.${digits.slice(point) || '0'}`
}

/** Precision and scale are the same in all files: readers of several files take those of the first, and would cut digits in the others. */
function decimalKind(precision: number, scale: number): Kind {
  return {
    element: { ...OPTIONAL, type: 'FIXED_LEN_BYTE_ARRAY', type_length: DECIMAL_BYTES, converted_type: 'DECIMAL', precision, scale },
    read(value) {
      const text = isNumber(value) ? plainNumber(digitsOf(value)) : value
      const found = typeof text === 'string' && text.length <= DECIMAL_TEXT_MAX ? DECIMAL.exec(text) : null
      if (!found) return undefined
      const [, sign, whole = '', fraction = ''] = found
      if (whole.length > precision - scale || fraction.length > scale) return undefined
      const digits = BigInt(`0${whole}${fraction.padEnd(scale, '0')}`)
      return sign === '-' ? -digits : digits
    },
  }
}

/** Spark's default: twenty digits before the point, eighteen after it. */
const DEFAULT_SCALE = 18
const DEFAULT_DECIMAL = decimalKind(DECIMAL_DIGITS, DEFAULT_SCALE)
const DECIMAL_TYPE = /^decimal\((\d+),\s*(\d+)\)$/

const KINDS: Record<string, Kind> = {
  string: TEXT,
  uuid: TEXT,
  integer: { element: { ...OPTIONAL, type: 'INT64' }, read: asInteger },
  number: { element: { ...OPTIONAL, type: 'DOUBLE' }, read: asDouble },
  boolean: { element: { ...OPTIONAL, type: 'BOOLEAN' }, read: (value) => (typeof value === 'boolean' ? value : undefined) },
  date: { element: { ...OPTIONAL, type: 'INT32', converted_type: 'DATE' }, read: daysOf },
  datetime: {
    element: { ...OPTIONAL, type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' } },
    read: (value) => unitsOf(value, 6),
  },
  bytes: { element: { ...OPTIONAL, type: 'BYTE_ARRAY' }, read: asBytes },
  decimal: DEFAULT_DECIMAL,
}

/** Whether it is a type name of streams, or a decimal such as `decimal(12,2)`. */
export function isColumnType(name: string): boolean {
  const [, precision, scale] = DECIMAL_TYPE.exec(name) ?? []
  if (precision === undefined) return isTypeName(name)
  return Number(precision) >= 1 && Number(precision) <= DECIMAL_DIGITS && Number(scale) <= Number(precision)
}

/** Where types are found in the rows, lists nested deeper are kept as JSON text. */
const LISTS_DEEP_MAX = 8

/** A list has three levels (LogicalTypes.md): itself, a repeated group, and its elements, which may be null. */
function listKind(items: Kind): Kind {
  const { element, below = [], read } = items
  // If the items are kept as JSON text, so is the whole list.
  if (items === JSON_TEXT) return JSON_TEXT
  return {
    element: { ...OPTIONAL, converted_type: 'LIST', num_children: 1 },
    below: [{ name: 'list', repetition_type: 'REPEATED', num_children: 1 }, { name: 'element', ...element }, ...below],
    read(value) {
      if (!Array.isArray(value)) return undefined
      const items: unknown[] = []
      for (const each of value) {
        const item = each === null ? null : read(each)
        if (item === undefined) return undefined
        items.push(item)
      }
      return items
    },
  }
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null
const itemsOf = (lists: readonly unknown[]): unknown[] => lists.flatMap((list) => (Array.isArray(list) ? list : [])).filter(isPresent)

/** The kind that fits all values; JSON text if they differ. */
function kindOf(present: readonly unknown[], depth = 0): Kind {
  if (present.length === 0) return TEXT
  if (present.every((value) => typeof value === 'boolean')) return KINDS.boolean!
  if (present.every((value) => asInteger(value) !== undefined)) return KINDS.integer!
  if (present.every(isNumber)) {
    if (present.every(isDouble)) return KINDS.number!
    return present.every((value) => DEFAULT_DECIMAL.read(value) !== undefined) ? DEFAULT_DECIMAL : JSON_TEXT
  }
  if (depth < LISTS_DEEP_MAX && present.every((value) => Array.isArray(value))) {
    const items = itemsOf(present)
    return items.length === 0 ? JSON_TEXT : listKind(kindOf(items, depth + 1))
  }
  return present.every((value) => typeof value === 'string') ? TEXT : JSON_TEXT
}

const ARRAY = /^array<(.+)>$/

/** The kind of a type by its name; types without a kind are kept as JSON text. */
function kindOfType(type: string): Kind {
  const plain = type.replace(/\?$/, '')
  const inner = ARRAY.exec(plain)?.[1]
  if (inner !== undefined) return listKind(kindOfType(inner))
  const [, precision, scale] = DECIMAL_TYPE.exec(plain) ?? []
  return precision === undefined ? (KINDS[plain] ?? JSON_TEXT) : decimalKind(Number(precision), Number(scale))
}

/** What a value must be beyond what its type's name says. */
const LIMITS: Record<string, string> = {
  integer: 'of 64 bits',
  date: 'such as 2026-01-31',
  datetime: 'of RFC 3339, with at most six digits of a second',
  bytes: 'in base64',
}

/** The type by its name, and what a value of it must be: "decimal(12,2), with at most 10 digits before the point and 2 behind it". */
export function describedType(type: string): string {
  const base = type.replace(/\?$/, '')
  const item = base.replaceAll(/array<|>/g, '')
  const [, precision = DECIMAL_DIGITS, scale = DEFAULT_SCALE] = DECIMAL_TYPE.exec(item) ?? []
  if (item === 'decimal' || DECIMAL_TYPE.test(item)) {
    const named = base.replace(item, `decimal(${precision},${scale})`)
    return `${named}, with at most ${Number(precision) - Number(scale)} digits before the point and ${scale} behind it`
  }
  return Object.hasOwn(LIMITS, item) ? `${base}, ${LIMITS[item]}` : base
}

/**
 * `type` is the field's type name; undefined if it is not known. `sourceOf` returns a value's own JSON text: parsed and printed it would
 * lose what JavaScript does not keep, such as a member that occurs twice, the order of members, and how a number is written.
 */
export function columnOf(name: string, values: readonly unknown[], type: string | undefined, sourceOf: (index: number) => string): Column {
  const present = values.filter(isPresent)
  const kind = type === undefined ? kindOf(present) : kindOfType(type)
  const faults: number[] = []
  const cells = values.map((value, index) => {
    if (!isPresent(value)) return undefined
    const isJson = kind === JSON_TEXT || (kind === TEXT && typeof value !== 'string')
    const cell = isJson ? sourceOf(index) : kind.read(value)
    if (cell === undefined) faults.push(index)
    return cell
  })
  return { elements: [{ name, ...kind.element }, ...(kind.below ?? [])], cells, faults }
}

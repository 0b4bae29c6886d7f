/**
 * Columns of a Parquet file (Apache Parquet, LogicalTypes.md): 64-bit integers, decimals, dates, times in microseconds and bytes as what
 * they are, nothing rounded. A value that its column can't hold is no cell.
 */
import type { ParquetWriteOptions } from 'hyparquet-writer'
import { isRawJSON } from '../../model/exact-json.ts'

export type SchemaElement = NonNullable<ParquetWriteOptions['schema']>[number]
/** `cells` has undefined for nulls; `faults` are the places of values that the column can't hold. */
export type Column = { element: SchemaElement; cells: unknown[]; faults: number[] }

const isNumber = (value: unknown): boolean => typeof value === 'number' || isRawJSON(value)
const sourceOf = (value: unknown): string => (isRawJSON(value) ? value.rawJSON : String(value))

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

function asInteger(value: unknown): bigint | undefined {
  if (!isNumber(value) || !/^-?\d+$/.test(sourceOf(value))) return undefined
  const integer = BigInt(sourceOf(value))
  return integer >= INT64_MIN && integer <= INT64_MAX ? integer : undefined
}

const asDouble = (value: unknown): number | undefined => (isNumber(value) ? Number(sourceOf(value)) : undefined)

/** A double prints what was written: then nothing is lost. */
const isDouble = (value: unknown): boolean =>
  typeof value === 'number' || (isRawJSON(value) && String(Number(value.rawJSON)) === value.rawJSON.replace(/\.?0+$/, ''))

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
const DAY_MS = 86_400_000

function asDate(value: unknown): number | undefined {
  const parts = typeof value === 'string' ? DATE.exec(value) : null
  const time = parts ? Date.UTC(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3])) : Number.NaN
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== value ? undefined : time / DAY_MS
}

const TIME = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:?\d\d|[+-]\d\d)?$/

/** Microseconds since 1970; undefined for a time with more digits than that. */
function asMicroseconds(value: unknown): bigint | undefined {
  const parts = typeof value === 'string' ? TIME.exec(value) : null
  if (!parts) return undefined
  const [, day, time, fraction = '', zone = 'Z'] = parts
  if (/[1-9]/.test(fraction.slice(6))) return undefined
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone
  const seconds = Date.parse(`${day}T${time}${offset.toUpperCase()}`)
  return Number.isNaN(seconds) ? undefined : BigInt(seconds) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'))
}

function asBytes(value: unknown): Uint8Array | undefined {
  if (typeof value !== 'string') return undefined
  const bytes = Buffer.from(value, 'base64')
  return bytes.toString('base64').replace(/=+$/, '') === value.replace(/=+$/, '') ? bytes : undefined
}

const asText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : value === undefined || value === null ? undefined : JSON.stringify(value)

const OPTIONAL = { repetition_type: 'OPTIONAL' } as const
type Kind = { element: Omit<SchemaElement, 'name'>; read(value: unknown): unknown }

const TEXT: Kind = { element: { ...OPTIONAL, type: 'BYTE_ARRAY', converted_type: 'UTF8' }, read: asText }
/** What is no plain value is kept as the JSON that it is. */
const JSON_TEXT: Kind = {
  element: TEXT.element,
  read: (value) => (value === undefined || value === null ? undefined : JSON.stringify(value)),
}

const KINDS: Record<string, Kind> = {
  string: TEXT,
  uuid: TEXT,
  integer: { element: { ...OPTIONAL, type: 'INT64' }, read: asInteger },
  number: { element: { ...OPTIONAL, type: 'DOUBLE' }, read: asDouble },
  boolean: { element: { ...OPTIONAL, type: 'BOOLEAN' }, read: (value) => (typeof value === 'boolean' ? value : undefined) },
  date: { element: { ...OPTIONAL, type: 'INT32', converted_type: 'DATE' }, read: asDate },
  datetime: {
    element: { ...OPTIONAL, type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' } },
    read: asMicroseconds,
  },
  bytes: { element: { ...OPTIONAL, type: 'BYTE_ARRAY' }, read: asBytes },
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/
const DECIMAL_DIGITS = 38
const DECIMAL_BYTES = 16

/** A decimal column with as many places as the file's values need; undefined where they have more than 38 digits, or are none. */
function decimalKind(values: readonly unknown[]): Kind | undefined {
  const parts = values.map((value) => DECIMAL.exec(isNumber(value) ? sourceOf(value) : String(value)))
  let scale = 0
  let whole = 0
  for (const each of parts) {
    if (!each) return undefined
    scale = Math.max(scale, each[3]?.length ?? 0)
    whole = Math.max(whole, each[2]!.length)
  }
  if (scale + whole > DECIMAL_DIGITS) return undefined
  return {
    element: {
      ...OPTIONAL,
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: DECIMAL_BYTES,
      converted_type: 'DECIMAL',
      precision: DECIMAL_DIGITS,
      scale,
    },
    read(value) {
      const found = DECIMAL.exec(isNumber(value) ? sourceOf(value) : String(value))
      return found ? BigInt(`${found[1]}${found[2]}${(found[3] ?? '').padEnd(scale, '0')}`) : undefined
    },
  }
}

/** What all of the values are; text where they differ. */
function kindOf(present: readonly unknown[]): Kind {
  if (present.length === 0) return TEXT
  if (present.every((value) => typeof value === 'boolean')) return KINDS.boolean!
  if (present.every((value) => asInteger(value) !== undefined)) return KINDS.integer!
  if (present.every(isNumber)) return present.every(isDouble) ? KINDS.number! : (decimalKind(present) ?? JSON_TEXT)
  return present.every((value) => typeof value === 'string') ? TEXT : JSON_TEXT
}

/** `type` is the field's type name, where it is known. */
export function columnOf(name: string, values: readonly unknown[], type: string | undefined): Column {
  const present = values.filter((value) => value !== undefined && value !== null)
  const plain = type?.replace(/\?$/, '')
  const kind = plain === undefined ? kindOf(present) : plain === 'decimal' ? (decimalKind(present) ?? TEXT) : (KINDS[plain] ?? JSON_TEXT)
  const faults: number[] = []
  const cells = values.map((value, index) => {
    if (value === undefined || value === null) return undefined
    const cell = kind.read(value)
    if (cell === undefined) faults.push(index)
    return cell
  })
  return { element: { name, ...kind.element }, cells, faults }
}

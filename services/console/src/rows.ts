/** Records as people paste them, and the schema that all of them meet. */
import { ExactNumber, parseAsWritten } from '../../../clients/typescript/src/core/exact-json.ts'
import { isObject } from './records.ts'
import { jsonAt, Mistyped } from './typed-text.ts'

export type Row = Record<string, unknown>

/** Whether it is CSV: its first line, the header, has several columns. */
export const isCsv = (text: string): boolean => /^[^[{\n]*,/.test(text.trim())

const wrong = (message: string) => new Mistyped('/records', message)

const CELL = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|$)/gy

/** The lines of CSV (RFC 4180): a cell in quotes may hold commas and ends of lines, and a quote as two. */
function cellsOf(text: string): string[][] {
  const lines: string[][] = [[]]
  let at = 0
  for (const [whole, cell, end] of text.matchAll(CELL)) {
    lines.at(-1)!.push(cell!.startsWith('"') ? cell!.slice(1, -1).replaceAll('""', '"') : cell!)
    at += whole.length
    if (end === '') break
    if (end !== ',') lines.push([])
  }
  if (at < text.length) throw wrong(`line ${text.slice(0, at).split('\n').length} has a quote that does not close, or within a cell`)
  return lines
}

/** A cell that is not text: a number or a truth value as JSON has them. */
const PLAIN = /^(?:true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
/** Types of fields that are not written as text. */
const PARSED = /^(?:integer|number|boolean|object|array)/

function parsed(cell: string): unknown {
  try {
    return parseAsWritten(cell)
  } catch {
    // The stream says what is wrong with it.
    return cell
  }
}

/** Around the rows, with a byte order mark; spaces at a row's ends are of its cells. */
const EMPTY_LINES = /^\uFEFF?(?:[^\S\n]*\n)*|(?:\r?\n[^\S\n]*)+$/g

/** An empty cell is left out, where its field need not have a text. Without a schema a column is text as soon as one of its cells is. */
function csvRows(text: string, schema: Record<string, string> | undefined): Row[] {
  const [names = [], ...lines] = cellsOf(text.replace(EMPTY_LINES, ''))
  lines.forEach(({ length }, at) => {
    if (length !== names.length) throw wrong(`row ${at + 1} below the header has ${length} cells, the header ${names.length}`)
  })
  const twice = names.find((name, column) => names.indexOf(name) < column)
  if (twice !== undefined) throw wrong(`two columns are named ${twice}`)
  const columns = names.map((name, column) => {
    const type = schema && (Object.hasOwn(schema, name) ? schema[name]! : 'string')
    const isText = type ? !PARSED.test(type) : !lines.every((cells) => cells[column] === '' || PLAIN.test(cells[column]!))
    return { name, isText, mayBeEmpty: isText && type !== undefined && !type.endsWith('?') }
  })
  return lines.map((cells) =>
    Object.fromEntries(
      columns.flatMap(({ name, isText, mayBeEmpty }, column) => {
        const cell = cells[column]!
        return cell === '' && !mayBeEmpty ? [] : [[name, isText ? cell : parsed(cell)]]
      }),
    ),
  )
}

/**
 * Lines of JSON, one array, or CSV with a header, whose cells become what the `schema` has or, without one, what they look like. Throws an
 * Error that names the line.
 */
export function rowsOf(text: string, schema?: Record<string, string>): Row[] {
  if (isCsv(text)) return csvRows(text, schema)
  const trimmed = text.trim()
  const isList = trimmed.startsWith('[')
  const values = isList ? (jsonAt('/records', trimmed) as unknown[]) : text.split('\n').map((line) => line.trim())
  return values.flatMap((value, index) => {
    if (value === '' && !isList) return []
    try {
      const row = typeof value === 'string' ? parseAsWritten(value) : value
      if (isObject(row)) return [row]
    } catch {
      // Told below.
    }
    throw wrong(
      isList
        ? `item ${index + 1} is not an object`
        : `line ${index + 1} is not a JSON object${index === 0 ? ', nor the header of CSV with commas' : ''}`,
    )
  })
}

/** A time as streams take it: what looks like one and is none would be refused. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/
const isTime = (text: string): boolean => {
  const day = text.slice(0, 10)
  // JavaScript moves 30 February to March; streams refuse it.
  return TIME.test(text) && !Number.isNaN(Date.parse(text)) && new Date(day).toISOString().startsWith(day)
}

function typeOf(value: unknown): string {
  // Other types refuse null.
  if (value === null) return 'any'
  // An integer field holds what every language does, a number any digits.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number'
  if (typeof value === 'bigint' || value instanceof ExactNumber) return 'number'
  if (typeof value === 'boolean') return 'boolean'
  if (Array.isArray(value)) return `array<${value.map(typeOf).reduce(either, '') || 'any'}>`
  if (typeof value === 'object') return 'object'
  return isTime(String(value)) ? 'datetime' : 'string'
}

/** The type of both; '' is not known yet. */
function either(one: string, other: string): string {
  if (one === other || one === '') return other
  const both = new Set([one, other])
  if (both.has('integer') && both.has('number')) return 'number'
  if (both.has('datetime') && both.has('string')) return 'string'
  return one.startsWith('array') && other.startsWith('array') ? 'array<any>' : 'any'
}

/** Fields with types that all rows meet: what is not in each of them may be missing, what has several types, or is null, is of any. */
export function schemaOf(rows: readonly Row[]): Record<string, string> {
  const names = new Set(rows.flatMap((row) => Object.keys(row)))
  return Object.fromEntries(
    [...names].map((name) => {
      const values = rows.flatMap((row) => (Object.hasOwn(row, name) ? [row[name]] : []))
      return [name, `${values.map(typeOf).reduce(either, '')}${values.length < rows.length ? '?' : ''}`]
    }),
  )
}

/** Where it holds a number beyond a double; where the field has `anyNumber`, also an integer that JSON readers would round. */
function roundedAt(at: string, value: unknown, anyNumber: boolean): string | undefined {
  if (isObject(value) || Array.isArray(value)) {
    for (const [name, each] of Object.entries(value)) {
      const found = roundedAt(`${at}, ${name}`, each, anyNumber)
      if (found) return found
    }
    return undefined
  }
  const number = typeof value === 'string' ? 0 : Number(value)
  return !Number.isFinite(number) || (anyNumber && Number.isInteger(number) && !Number.isSafeInteger(number)) ? at : undefined
}

/** Throws Mistyped for numbers that the stream would refuse. */
export function checkNumbers(rows: readonly Row[], schema: Record<string, string>): void {
  rows.forEach((row, at) => {
    for (const name of Object.keys(row)) {
      const found = roundedAt(`record ${at + 1}, ${name}`, row[name], /^(?:array<)*(?:any|object)/.test(schema[name]!))
      if (found) throw wrong(`${found}: a number that JSON readers would round; in quotes it keeps all digits`)
    }
  })
}

/** What a generator can fill. */
const GENERATED = /^(?:string|integer|number|boolean|datetime)$/

/** The schema's fields that a generator can fill, with the types that it knows. */
export const generatedOf = (schema: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([name, type]) => {
      const own = type.replace('?', '')
      return GENERATED.test(own) ? [[name, own]] : []
    }),
  )

/** The schema with all that a generator leaves out as what may be missing. */
export const fedSchemaOf = (schema: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(schema).map(([name, type]) => [name, type.endsWith('?') || GENERATED.test(type) ? type : `${type}?`]))

/** Records from a file or standard input: lines of JSON, or the rows of a CSV. */
import { pipeline } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { CsvError, parse } from 'csv-parse'
import { Misused } from './outcome.ts'

/** A record, and the number of the line that it ends on, from 1. */
export type InputLine = { json: string; line: number }

/** Lines as \n ends them, also behind \r. Other separators, such as U+2028, may be in a text of JSON as they are. */
async function* linesIn(input: NodeJS.ReadableStream): AsyncGenerator<string, void, void> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let isFirst = true
  for await (const part of input) {
    let text = decoder.write(part)
    // Editors of Windows put a byte order mark in front.
    if (isFirst) text = text.replace(/^\uFEFF/, '')
    if (text !== '') isFirst = false
    const lines = text.split('\n')
    lines[0] = rest + lines[0]!
    rest = lines.pop()!
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
  }
  rest += decoder.end()
  if (rest !== '') yield rest
}

/** Lines of JSON as they are. Throws Misused naming the line that is none. */
export async function* jsonLines(input: NodeJS.ReadableStream): AsyncGenerator<InputLine, void, void> {
  let number = 0
  for await (const line of linesIn(input)) {
    number++
    if (line.trim() === '') continue
    try {
      JSON.parse(line)
    } catch {
      throw new Misused(`line ${number} is not JSON`)
    }
    yield { json: line, line: number }
  }
}

/** What the parser gives: the cells by name, and the number of lines up to the row's end. */
type Row = { record: Record<string, string>; info: { lines: number } }

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/**
 * A cell's JSON, by the type of the stream's field; undefined for an empty cell of an optional field. What doesn't fit is sent as text, and
 * the service says why.
 */
function cellJson(cell: string, type = 'string'): string | undefined {
  const [base, isOptional] = type.endsWith('?') ? [type.slice(0, -1), true] : [type, false]
  if (cell === '' && isOptional) return undefined
  if (base === 'integer' || base === 'number') return NUMBER.test(cell) ? cell : JSON.stringify(cell)
  if (base === 'boolean') return /^(true|false)$/i.test(cell) ? cell.toLowerCase() : JSON.stringify(cell)
  if (base !== 'object' && !base.startsWith('array')) return JSON.stringify(cell)
  try {
    JSON.parse(cell)
    return cell
  } catch {
    return JSON.stringify(cell)
  }
}

/**
 * Each row as an object by the header's names, its cells by the stream's schema. Throws Misused for a name that is there twice, and for a
 * line that has more or fewer cells.
 */
export async function* csvLines(
  input: NodeJS.ReadableStream,
  schema: Readonly<Record<string, string>>,
): AsyncGenerator<InputLine, void, void> {
  const columns = (header: string[]): string[] => {
    const twice = header.find((name, at) => header.indexOf(name) < at)
    if (twice !== undefined) throw new Misused(`the header has ${JSON.stringify(twice)} twice`)
    return header
  }
  // An error of the input ends the rows too.
  const rows: AsyncIterable<Row> = pipeline(input, parse({ columns, bom: true, skip_empty_lines: true, info: true }), () => {})
  try {
    for await (const { record: row, info } of rows) {
      const members = Object.entries(row).flatMap(([name, cell]) => {
        const json = cellJson(cell, Object.hasOwn(schema, name) ? schema[name] : undefined)
        return json === undefined ? [] : [`${JSON.stringify(name)}:${json}`]
      })
      yield { json: `{${members.join(',')}}`, line: info.lines }
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const { code, lines, record, columns: header } = error as CsvError & { lines: number; record: unknown[]; columns: unknown[] }
    throw new Misused(
      code === 'CSV_RECORD_INCONSISTENT_COLUMNS'
        ? `line ${lines} has ${record.length} ${record.length === 1 ? 'cell' : 'cells'}, and the header ${header.length}`
        : `line ${lines} is not CSV: ${error.message}`,
    )
  }
}

/** Keeps the line numbers of records that may still be refused: `numberOf` tells that of the record with this index. */
export function remembered(input: AsyncIterable<InputLine>) {
  const numbers = new Map<number, number>()
  let [read, forgotten] = [0, 0]
  return {
    async *records(): AsyncGenerator<string, void, void> {
      for await (const { json, line } of input) {
        numbers.set(read++, line)
        yield json
      }
    },
    /** The first `written` records are not asked for any more. */
    forget(written: number): void {
      for (; forgotten < written; forgotten++) numbers.delete(forgotten)
    },
    numberOf: (record: number): number | undefined => numbers.get(record),
  }
}

/** Records from a file or standard input: lines of JSON, or the rows of a CSV. */
import { isUtf8 } from 'node:buffer'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { Misused } from './outcome.ts'
import { whyUnreadable } from './readable-files.ts'

/** A record, and the number of the line that it ends on, from 1. */
export type InputLine = { json: string; line: number }

/** How many bytes at the end are the beginning of a character of UTF-8. */
function unfinished(bytes: Buffer): number {
  for (let n = 1; n <= 3 && n <= bytes.length; n++) {
    const byte = bytes[bytes.length - n]!
    if (byte >= 0xc0) return n < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? n : 0
    if (byte < 0x80) return 0
  }
  return 0
}

const LINE_FEED = 0x0a

function countOf(byte: number, bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(byte); at >= 0; at = bytes.indexOf(byte, at + 1)) count++
  return count
}

/** The line within the bytes, from 0, that is not UTF-8. */
function lineAtFault(bytes: Buffer): number {
  let from = 0
  for (let line = 0; ; line++) {
    const end = bytes.indexOf(LINE_FEED, from)
    if (end < 0 || !isUtf8(bytes.subarray(from, end))) return line
    from = end + 1
  }
}

/** Makes UTF-8 of UTF-16, as Windows writes it; without bytes, at its end. Throws Misused for what is none. */
function fromUtf16(): (bytes?: Buffer) => Buffer {
  const decoder = new TextDecoder('utf-16le', { fatal: true })
  return (bytes) => {
    try {
      return Buffer.from(decoder.decode(bytes, { stream: bytes !== undefined }))
    } catch {
      throw new Misused('the input begins as UTF-16, and goes on as something else')
    }
  }
}

/**
 * The input as UTF-8, cut between characters. Throws Misused naming the line that is not UTF-8: what decodes it would put other characters
 * in the place of those that it can't read.
 */
async function* inUtf8(input: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer, void, void> {
  let rest: Buffer = Buffer.alloc(0)
  let line = 1
  let isStart = true
  let utf16: ((bytes?: Buffer) => Buffer) | undefined
  for await (const part of input) {
    const bytes = Buffer.concat([rest, Buffer.from(part as Buffer)])
    // No UTF-8 begins with it.
    if (isStart && bytes[0] === 0xff && bytes[1] === 0xfe) utf16 = fromUtf16()
    if (utf16) {
      isStart = false
      rest = Buffer.alloc(0)
      yield utf16(bytes)
      continue
    }
    const whole = bytes.subarray(0, bytes.length - unfinished(bytes))
    rest = bytes.subarray(whole.length)
    if (!isUtf8(whole)) throw new Misused(`line ${line + lineAtFault(whole)} is not UTF-8`)
    line += countOf(LINE_FEED, whole)
    if (whole.length === 0) continue
    isStart = false
    yield whole
  }
  if (rest.length > 0) throw new Misused(`line ${line} is not UTF-8`)
  if (utf16) yield utf16()
}

/** Lines as \n ends them, also behind \r. Other separators, such as U+2028, may be in a text of JSON as they are. */
async function* linesIn(input: NodeJS.ReadableStream): AsyncGenerator<string, void, void> {
  let rest = ''
  let isFirst = true
  for await (const part of inUtf8(input)) {
    // Editors of Windows put a byte order mark in front.
    const text = isFirst ? part.toString().replace(/^\uFEFF/, '') : part.toString()
    isFirst = false
    const lines = text.split('\n')
    lines[0] = rest + lines[0]!
    rest = lines.pop()!
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
  }
  if (rest !== '') yield rest
}

/** Lines of JSON as they are. Throws Misused naming the line that is none, or not UTF-8. */
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

/** The number of lines up to a row's end, and how many of them are empty. */
type Info = { lines: number; empty_lines: number }
/** What the parser gives: the cells by name. */
type Row = { record: Record<string, string>; info: Info }

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
 * line that has more or fewer cells, or is not UTF-8.
 */
export async function* csvLines(
  input: NodeJS.ReadableStream,
  schema: Readonly<Record<string, string>>,
): AsyncGenerator<InputLine, void, void> {
  /** The end of the row before the one that is being read. */
  let before: Info = { lines: 0, empty_lines: 0 }
  const columns = (header: string[]): string[] => {
    before = { ...parser.info }
    const twice = header.find((name, at) => header.indexOf(name) < at)
    if (twice !== undefined) throw new Misused(`the header has ${JSON.stringify(twice)} twice`)
    return header
  }
  const parser = parse({
    columns,
    bom: true,
    skip_empty_lines: true,
    info: true,
    on_record(row: Row['record'], { lines, empty_lines }: Info) {
      before = { lines, empty_lines }
      return row
    },
  })
  // An error of the input ends the rows too.
  const rows: AsyncIterable<Row> = pipeline(inUtf8(input), parser, () => {})
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
    const { code, lines, empty_lines, record, columns: header } = error as CsvError & Info & { record: unknown[]; columns: unknown[] }
    if (code === 'CSV_RECORD_INCONSISTENT_COLUMNS')
      throw new Misused(`line ${lines} has ${record.length} ${record.length === 1 ? 'cell' : 'cells'}, and the header ${header.length}`)
    // The parser says where it found it out: of a quote that is not closed, at the end of the input.
    const from = before.lines + empty_lines - before.empty_lines + 1
    if (code === 'CSV_QUOTE_NOT_CLOSED') throw new Misused(`line ${from} is not CSV: a quote of the row that begins there is not closed`)
    throw new Misused(`line ${lines} is not CSV: ${error.message}${from === lines ? '' : `, in the row that begins at line ${from}`}`)
  }
}

type Lines = AsyncGenerator<InputLine, void, void>

/**
 * The records of a file. A wrong line is found before the first record is given: what is written before it would be doubled when the
 * corrected file is written. Of a pipe, which can be read only once, they are given as they come.
 */
export async function* checkedLines(file: string, read: () => AsyncIterable<InputLine>, signal: AbortSignal): Lines {
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile()) for await (const _line of read()) if (signal.aborted) return
  yield* read()
}

/** The records of a file. Throws Misused naming it, and the line that is wrong or why it can't be read. */
export async function* linesOfFile(file: string, read: () => AsyncIterable<InputLine>): Lines {
  try {
    yield* read()
  } catch (error) {
    throw new Misused(error instanceof Misused ? `${file}: ${error.message}` : `${file} can't be read: ${whyUnreadable(error)}`)
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

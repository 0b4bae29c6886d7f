/**
 * Delimited rows (RFC 4180) as JSON objects. This file finds the rows, by line breaks outside of quotes; csv-parse parses them. A row that
 * is not UTF-8 is refused whole. Of one whose quotes are malformed only the first line is, because its end is not certain; the line after
 * it starts the next row. A position within an object is a number of rows, because reading always starts at the header.
 */
import { isUtf8 } from 'node:buffer'
import { parse } from 'csv-parse/sync'
import type { CastingContext } from 'csv-parse'
import type { BlockBuilder } from '../record-block.ts'
import { CARRIAGE_RETURN, createRowEnds, isWellQuoted, lineEnd, ROW_BYTES_MAX, wholeRow } from './csv-row-ends.ts'
import { ObjectMalformed, type CSV_ENCODINGS, type FormatReader } from './format-reader.ts'

/** How rows are delimited and encoded; `empty`: what an empty cell becomes. */
export type CsvOptions = {
  delimiter: string
  header: boolean
  quote: boolean
  empty: 'text' | 'null'
  encoding: (typeof CSV_ENCODINGS)[number]
  columns?: readonly string[] | undefined
}

/** A cell as it becomes a member. */
type Cell = string | null

/** As in COPY of Postgres: nothing between two delimiters is null, "" is a text without characters. */
const emptyAsNull = (value: string, { quoting }: CastingContext): Cell => (value === '' && !quoting ? null : value)

/** csv-parse counts the lines of what it was given; ours are counted by row. */
const withoutLine = (message: string): string => message.replace(/ (?:at|on) line \d+/g, '')

/**
 * Behind a malformed line the rest of what seemed to be its row is split into rows again, so often at most, and so many bytes of an object.
 * Beyond that each line counts as a row.
 */
const DEPTH_MAX = 64
const AGAIN_BYTES_MAX = 16 << 20

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

const parserOptions = ({ delimiter, quote, empty }: Pick<CsvOptions, 'delimiter' | 'quote' | 'empty'>) => ({
  delimiter,
  // A file concatenated from others may have several kinds of line breaks.
  record_delimiter: ['\r\n', '\n', '\r'],
  quote: quote ? '"' : null,
  skip_empty_lines: true,
  relax_column_count: true,
  ...(empty === 'null' ? { cast: emptyAsNull } : {}),
})

/** Names of the columns: empty names become `column1`, … by position, repeated names get a number. */
export function columnNames(header: readonly string[]): string[] {
  const names = new Set<string>()
  const given = new Set(header)
  const nextNumber = new Map<string, number>()
  for (const [index, name] of header.entries()) {
    const base = name === '' ? `column${index + 1}` : name
    let own = base
    let number = nextNumber.get(base) ?? 2
    while (names.has(own) || (own !== name && given.has(own))) own = `${base}_${number++}`
    nextNumber.set(base, number)
    names.add(own)
  }
  return [...names]
}

/** The bytes of a row are not of the encoding. */
class NotUtf8 extends Error {}

/** Bytes as UTF-8. Throws NotUtf8 for bytes that claim to be and are not: replaced characters would be lost without a word. */
function openDecoding(encoding: CsvOptions['encoding']): (bytes: Buffer) => Buffer {
  if (encoding !== 'utf-8') {
    const decoder = new TextDecoder(encoding)
    return (bytes) => Buffer.from(decoder.decode(bytes))
  }
  return (bytes) => {
    if (!isUtf8(bytes)) throw new NotUtf8('it is not UTF-8; csv.encoding names another encoding')
    return bytes
  }
}

function openParser(how: Pick<CsvOptions, 'delimiter' | 'quote' | 'empty' | 'encoding'>) {
  const decode = openDecoding(how.encoding)
  const options = parserOptions(how)
  return {
    /** Parses whole rows. Throws for malformed ones. */
    parseRows: (bytes: Buffer): Cell[][] => parse(decode(bytes), options),
    /** What is wrong with a row that `parseRows` threw for, where what is refused of it ends, and where the next row begins. */
    faultOf(row: Buffer, error: Error): { reason: string; end: number; next: number } {
      if (!(error instanceof NotUtf8)) return { reason: withoutLine(error.message), ...lineEnd(row, 0, true) }
      try {
        // A byte that is not UTF-8 is never a quote.
        parse(row.toString('utf8'), options)
        return { reason: error.message, ...wholeRow(row) }
      } catch (quoting) {
        return { reason: withoutLine((quoting as Error).message), ...lineEnd(row, 0, true) }
      }
    },
  }
}

/**
 * Splits bytes into rows, of which each goes to `addRow` in its order, or, if it is malformed, to `refuse`. The returned function adds the
 * rows that end in the bytes, or all of them if nothing follows, and returns where the incomplete last row begins: -1 for a line that is
 * refused already, whose rest is still to come.
 */
function openSplitter(
  how: Pick<CsvOptions, 'delimiter' | 'quote' | 'empty' | 'encoding'>,
  addRow: (row: Cell[]) => void,
  refuse: (line: Buffer, reason: string) => void,
): (bytes: Buffer, isAll: boolean) => number {
  const { parseRows, faultOf } = openParser(how)
  const separator = how.delimiter.charCodeAt(0)
  /** Bytes behind malformed lines that were split into rows again, and how many such lines these are behind at this moment. */
  let again = 0
  let depth = 0

  /** Parses all rows at once; if one is malformed, halves them until it is alone. */
  function addRows(bytes: Buffer, starts: number[], end: number): void {
    if (starts.length === 0) return
    let rows: Cell[][]
    try {
      rows = parseRows(bytes.subarray(starts[0], end))
    } catch (error) {
      if (starts.length === 1) return addMalformed(bytes.subarray(starts[0], end), error as Error)
      const half = starts.length >> 1
      addRows(bytes, starts.slice(0, half), starts[half]!)
      addRows(bytes, starts.slice(half), end)
      return
    }
    for (const row of rows) addRow(row)
  }

  /** Refuses the row. If its quotes are malformed, only its first line: its other lines may be rows themselves. */
  function addMalformed(row: Buffer, error: Error): void {
    const { reason, end, next } = faultOf(row, error)
    refuse(row.subarray(0, end), reason)
    if (next === row.length) return
    again += row.length - next
    depth++
    if (depth > DEPTH_MAX || again > AGAIN_BYTES_MAX) addLines(row.subarray(next))
    else split(row.subarray(next), true)
    depth--
  }

  /** Each line is a row of its own, or refused. */
  function addLines(rows: Buffer): void {
    let starts: number[] = []
    let at = 0
    while (at < rows.length) {
      const { end, next } = lineEnd(rows, at, true)
      const line = rows.subarray(at, end)
      if (isWellQuoted(line, separator)) starts.push(at)
      else {
        addRows(rows, starts, at)
        starts = []
        refuse(line, 'its quotes are malformed')
      }
      at = next
    }
    addRows(rows, starts, at)
  }

  function split(bytes: Buffer, isAll: boolean): number {
    const rowEnd = createRowEnds(bytes, isAll, how.quote, separator)
    let starts: number[] = []
    let at = 0
    while (at < bytes.length) {
      const end = rowEnd(at)
      if (end >= 0) {
        starts.push(at)
        at = end
        continue
      }
      if (!isAll && bytes.length - at <= ROW_BYTES_MAX) break
      // Its quote is not closed within the limit: only the line is refused.
      addRows(bytes, starts, at)
      starts = []
      const line = lineEnd(bytes, at, isAll)
      if (line.end < 0) {
        refuse(bytes.subarray(at), `it has more than ${ROW_BYTES_MAX} bytes`)
        return isAll ? bytes.length : -1
      }
      refuse(bytes.subarray(at, line.end), 'a quote is opened but not closed')
      at = line.next
    }
    addRows(bytes, starts, at)
    return at
  }
  return split
}

/** What is kept of bytes that are skipped: a carriage return at their end ends the line, whatever follows. */
const lastReturn = (bytes: Buffer): Buffer => (bytes.at(-1) === CARRIAGE_RETURN ? bytes.subarray(-1) : Buffer.alloc(0))

/** A reader that adds the object’s rows to the block. */
export function openCsv(
  object: string,
  { delimiter, header, quote, empty, encoding, columns }: CsvOptions,
  into: BlockBuilder,
): FormatReader {
  /** A header names the cells; without one the config does, else their positions. */
  let names: readonly string[] | undefined = header ? undefined : columns
  let records = 0
  let skipped = 0
  let rest: Buffer = Buffer.alloc(0)
  let isStart = true
  /** The rest of a line that was refused already is being skipped. */
  let isTooLong = false

  /** Counts a row; false for one that was read before, and is skipped. */
  function takeRow(): boolean {
    if (skipped > 0) {
      skipped--
      return false
    }
    records++
    return true
  }

  function addRow(row: Cell[]): void {
    if (header && !names) {
      names = columnNames(row.map((name) => name ?? ''))
      return
    }
    if (!takeRow()) return
    // A row may be longer than the header, in which a name like `column3` may stand for another place.
    if (names && names.length < row.length) names = columnNames([...names, ...row.slice(names.length).map(() => '')])
    const members = row.map((value, index): [string, Cell] => [names?.[index] ?? `column${index + 1}`, value])
    into.add(null, Buffer.from(JSON.stringify(Object.fromEntries(members))))
  }

  function refuse(line: Buffer, reason: string): void {
    if (header && !names)
      throw new ObjectMalformed(`the first row of the object ${object}, which names the columns, is malformed: ${reason}`)
    if (takeRow()) into.refuse('malformed_row', `row ${records} of the object ${object}: ${reason}`, line)
  }

  const split = openSplitter({ delimiter, quote, empty, encoding }, addRow, refuse)

  return {
    canResume: false,
    begin({ n }) {
      records = n
      skipped = n
      return () => ({ b: 0, n: records })
    },
    add(chunk) {
      let bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      if (isStart) {
        if (bytes.length < BYTE_ORDER_MARK.length) return void (rest = bytes)
        isStart = false
        if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) bytes = bytes.subarray(BYTE_ORDER_MARK.length)
      }
      if (isTooLong) {
        const { next } = lineEnd(bytes, 0, false)
        if (next < 0) return void (rest = lastReturn(bytes))
        isTooLong = false
        bytes = bytes.subarray(next)
      }
      const at = split(bytes, false)
      isTooLong = at < 0
      rest = at < 0 ? lastReturn(bytes) : bytes.subarray(at)
    },
    end() {
      if (!isTooLong) split(rest, true)
      rest = Buffer.alloc(0)
    },
  }
}

/** dps/parse: makes values of a text: JSON, a line of separated values, or pairs such as `level=warn user="Ada L."`. */
import { Config, Items, Kind, Path, Record, Segment, Writer, keyEnd, keyStart, kindAt, parseJson, skipSpace, textOf, twinMember, unescape } from 'dps'
import { excerpt } from 'dps/text'

let field: string = ''
let path: Path = new Path('')
let into: Segment = new Segment('')
let format: string = ''
let isCsv: bool = false
let separator: u32 = 44
let columns: ArrayBuffer[] = []
let keepsText: bool = false
const text = new Writer()
const out = new Writer()

export function init(config: Config): void {
  field = config.text('field')
  path = new Path(field)
  format = config.text('format')
  isCsv = format == 'csv'
  const name = config.get('into')
  into = new Segment(name.kind == Kind.String ? textOf(name.start, name.end) : field)
  if (name.kind != Kind.String && path.segments.length > 1) config.refuse('config.into is needed for a nested field')
  separator = isCsv ? 44 : 32
  const given = config.get('separator')
  if (given.kind == Kind.String) {
    const shown = textOf(given.start, given.end)
    if (shown.length != 1 || shown.charCodeAt(0) > 127 || shown == '"' || shown == '=') config.refuse('config.separator must be one ASCII character, and not " or =')
    else separator = shown.charCodeAt(0)
  }
  keepsText = config.textOr('on_failure', '') == 'keep'
  columns = []
  const names = config.get('columns')
  const items = new Items(names.start, names.end)
  while (items.next() && kindAt(items.start) == Kind.String) columns.push(String.UTF8.encode(textOf(items.start, items.end)))
  if (format != 'csv' && config.get('columns').kind != Kind.Missing) config.refuse('config.columns is for the format csv alone')
  if (format == 'json' && config.get('separator').kind != Kind.Missing) config.refuse('config.separator is for the formats csv and key_value')
  if (format == 'csv' && columns.length == 0) config.refuse('config.columns must name the columns')
}

let at: usize = 0
let stop: usize = 0
/** What the backslash in front of `at` stands for with the byte there; itself, where that byte is one as any other. */
function unescaped(): u32 {
  const c: u32 = load<u8>(at)
  const meant: u32 = c == 110 ? 10 : c == 114 ? 13 : c == 116 ? 9 : c == 34 || c == 92 ? c : 0
  // The backslashes of C:\Users stay.
  if (meant == 0) return 92
  at++
  return meant
}

/** Reads a value up to `until` or the separator, or up to the closing quote (two in a row stand for one). False when it is not closed. */
function readValue(until: u32): bool {
  if (at < stop && load<u8>(at) == 34) {
    const from = out.length
    at++
    const plain = scratch
    plain.clear()
    plain.room(stop - at + 8)
    while (true) {
      if (at >= stop) return false
      const c: u32 = load<u8>(at++)
      if (c == 92 && at < stop && format == 'key_value') plain.byte(unescaped())
      else if (c == 34 && at < stop && load<u8>(at) == 34) plain.byte(load<u8>(at++))
      else if (c == 34) break
      else plain.byte(c)
    }
    out.at = out.start + from
    out.quoted(plain.start, plain.length)
    return at >= stop || load<u8>(at) == (separator as u8)
  }
  const from = at
  for (; at < stop; at++) {
    const c: u32 = load<u8>(at)
    // A line break without quotes ends a line of CSV, and what follows is another one.
    if (c == separator || c == until || (isCsv && (c == 10 || c == 13))) break
  }
  out.quoted(from, at - from)
  return true
}
const scratch = new Writer()

/** Writes an object of the columns; false where the text has others, or is malformed. */
function readCsv(): bool {
  out.byte(123)
  for (let i = 0; i < columns.length; i++) {
    if (i > 0) {
      if (at >= stop || load<u8>(at) != (separator as u8)) return false
      at++
      out.byte(44)
    }
    out.quoted(changetype<usize>(columns[i]), columns[i].byteLength)
    out.byte(58)
    if (!readValue(separator)) return false
  }
  out.byte(125)
  return at == stop
}

function readPairs(): bool {
  out.byte(123)
  let isFirst = true
  while (true) {
    while (at < stop && (load<u8>(at) == (separator as u8) || load<u8>(at) == 32)) at++
    if (at >= stop) break
    if (!isFirst) out.byte(44)
    isFirst = false
    const before = at
    if (!readValue(61) || at == before || at >= stop || load<u8>(at) != 61) return false
    at++
    out.byte(58)
    if (!readValue(separator)) return false
  }
  out.byte(125)
  return true
}

/** Where the line ends: what was split from a file may still have its line break. */
function lineEnd(start: usize, end: usize): usize {
  if (end > start && load<u8>(end - 1) == 10) end--
  if (end > start && load<u8>(end - 1) == 13) end--
  return end
}

/** Sets the value that was read. False where it is nested too deep for a record, which then stays as it was. */
function setValue(record: Record): bool {
  const start = record.start
  const end = record.end
  record.setBytes(into, out.start, out.length)
  if (record.failure === null) return true
  record.failure = null
  record.failureCode = 0
  record.start = start
  record.end = end
  record.parse()
  return false
}

export function map(record: Record): void {
  const slice = record.find(path)
  if (slice.kind == Kind.Missing || slice.kind == Kind.Null) return
  if (slice.kind != Kind.String) {
    if (!keepsText) record.fail('the field ' + field + ' is no text')
    return
  }
  text.clear()
  const start = slice.start
  const end = slice.end
  text.room(end - start + 32)
  text.at = unescape(start + 1, end - 1, text.start)
  out.clear()
  out.room(64)
  let isRead = false
  at = text.start
  stop = format == 'csv' ? lineEnd(text.start, text.at) : text.at
  if (format == 'json') {
    isRead = parseJson(text.start, text.at) != Kind.Missing
    // The check has noted the members of that document; the record's own are needed again.
    record.parse()
    if (isRead) out.bytes(skipSpace(text.start, text.at), text.at - skipSpace(text.start, text.at))
  } else isRead = format == 'csv' ? readCsv() : readPairs()
  if (isRead && format == 'key_value') {
    parseJson(out.start, out.at)
    const twin = twinMember()
    if (twin >= 0 && !keepsText) record.fail('the field ' + field + ' has a name twice: ' + excerpt(keyStart(twin) - 1, keyEnd(twin) + 1))
    isRead = twin < 0
    record.parse()
  }
  if (isRead) isRead = setValue(record)
  if (!isRead && !keepsText && record.failure === null) {
    const wanted = format == 'json' ? 'JSON' : format == 'csv' ? 'a line of ' + columns.length.toString() + ' values' : 'a list of pairs'
    record.fail('the field ' + field + ' is not ' + wanted + ': ' + excerpt(start, end))
  }
}

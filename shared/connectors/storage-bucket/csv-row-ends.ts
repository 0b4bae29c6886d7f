/** Where rows of delimited bytes end (RFC 4180): by line breaks outside of quotes. */

/** A row's end is searched for within this many bytes. If a quote is not closed by then, only its line is refused. */
export const ROW_BYTES_MAX = 1 << 20

const QUOTE = 0x22
const LINE_FEED = 0x0a
/** It ends a line too, alone or before a line feed. */
export const CARRIAGE_RETURN = 0x0d

/** Where the line that begins at `from` ends, and where the next one begins; -1 if the line does not end in these bytes. */
export function lineEnd(bytes: Buffer, from: number, isAll: boolean): { end: number; next: number } {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] === LINE_FEED) return { end: at, next: at + 1 }
    if (bytes[at] !== CARRIAGE_RETURN) continue
    // The next chunk shows whether a line feed follows.
    if (at + 1 === bytes.length && !isAll) break
    return { end: at, next: bytes[at + 1] === LINE_FEED ? at + 2 : at + 1 }
  }
  return isAll && from < bytes.length ? { end: bytes.length, next: bytes.length } : { end: -1, next: -1 }
}

/** As `lineEnd`, of a row of which nothing is left. */
export function wholeRow(row: Buffer): { end: number; next: number } {
  let end = row.length
  while (row[end - 1] === LINE_FEED || row[end - 1] === CARRIAGE_RETURN) end--
  return { end, next: row.length }
}

/** Where a search for the end of a row stopped without one: everything before is inside of one open quote, or in fields around it. */
type Stopped = { at: number; isQuoted: boolean; isFieldStart: boolean }

/**
 * A search for where the row that begins at an offset ends, including its line break; -1 if not in these bytes or within the limit.
 * `separator` is the delimiter's byte; `quote`: whether quotes enclose fields.
 *
 * A search that finds no end has passed only line breaks inside of quotes. A later one that comes to one of these inside of quotes goes on
 * where the earlier one stopped: else each line behind an open quote would be a search through all that follows.
 */
export function createRowEnds(bytes: Buffer, isAll: boolean, quote: boolean, separator: number): (from: number) => number {
  let stopped: Stopped = { at: 0, isQuoted: false, isFieldStart: true }
  return (from) => {
    const most = Math.min(bytes.length, from + ROW_BYTES_MAX)
    let isQuoted = false
    // A quote opens a field only at the field's start; one in the middle makes the row malformed.
    let isFieldStart = true
    let at = from
    while (at < most) {
      const byte = bytes[at]!
      if (isQuoted && (byte === LINE_FEED || byte === CARRIAGE_RETURN) && at < stopped.at) {
        ;({ at, isQuoted, isFieldStart } = stopped)
        continue
      }
      const isFirst = isFieldStart
      isFieldStart = !isQuoted && byte === separator
      if (quote && byte === QUOTE && (isQuoted || isFirst)) {
        // Two quotes inside a quoted field stand for one.
        if (isQuoted && bytes[at + 1] === QUOTE) at++
        else isQuoted = !isQuoted
      } else if (!isQuoted && byte === LINE_FEED) return at + 1
      else if (!isQuoted && byte === CARRIAGE_RETURN) {
        // The next chunk shows whether a line feed follows.
        if (at + 1 === bytes.length && !isAll) return -1
        return bytes[at + 1] === LINE_FEED ? at + 2 : at + 1
      }
      at++
    }
    if (isAll && !isQuoted && most === bytes.length) return most
    stopped = { at, isQuoted, isFieldStart }
    return -1
  }
}

/** Whether the quotes of a line are those of a whole row: around fields, closed, and doubled inside. */
export function isWellQuoted(line: Buffer, separator: number): boolean {
  let isFieldStart = true
  for (let at = 0; at < line.length; at++) {
    if (line[at] === QUOTE) {
      if (!isFieldStart) return false
      for (at++; line[at] !== QUOTE || line[at + 1] === QUOTE; at++) {
        if (at >= line.length) return false
        if (line[at] === QUOTE) at++
      }
      if (at + 1 < line.length && line[at + 1] !== separator) return false
    }
    isFieldStart = line[at] === separator
  }
  return true
}

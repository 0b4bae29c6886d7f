/** Dates and times in texts: ISO 8601 or a format in, ISO 8601 in UTC out. One time at a time, in this file's variables. */
import { Writer } from './record'

// Tokens of a format.
const YEAR = 1
const MONTH = 2
const SHORT_MONTH = 3
const MONTH_NAME = 4
const DAY = 5
const SHORT_DAY = 6
const HOUR = 7
const SHORT_HOUR = 8
const HALF_HOUR = 9
const SHORT_HALF_HOUR = 10
const HALF = 11
const MINUTE = 12
const SECOND = 13
const ZONE = 14
const UNIX = 15
const UNIX_MS = 16
/** 21 to 29: one to nine digits of a second. */
const FRACTION = 20
const LITERAL = 1000

const WORDS: string[] = ['YYYY', 'MMM', 'MM', 'M', 'DD', 'D', 'HH', 'H', 'hh', 'h', 'A', 'mm', 'ss', 'Z']
const WORD_TOKENS: i32[] = [YEAR, MONTH_NAME, MONTH, SHORT_MONTH, DAY, SHORT_DAY, HOUR, SHORT_HOUR, HALF_HOUR, SHORT_HALF_HOUR, HALF, MINUTE, SECOND, ZONE]
const MONTHS = 'janfebmaraprmayjunjulaugsepoctnovdec'

/** Whether the token is a space or a control character. */
function isBlank(token: i32): bool { return token >= LITERAL && token <= LITERAL + 32 }

/** Why `tokensOf` returned none. */
export let formatProblem: string = ''

/**
 * The tokens of a format, in which letters between quotes stand for themselves; none for one that is not understood. Blanks at its ends are
 * left out, as they are around the texts that are read.
 */
export function tokensOf(format: string): i32[] {
  const tokens: i32[] = []
  if (format == 'unix') tokens.push(UNIX)
  else if (format == 'unix_ms') tokens.push(UNIX_MS)
  if (tokens.length > 0) return tokens
  let isQuoted = false
  for (let i = 0; i < format.length; ) {
    const c = format.charCodeAt(i)
    if (c == 39) {
      isQuoted = !isQuoted
      i++
      continue
    }
    let used = 0
    if (!isQuoted && c == 83) {
      while (i + used < format.length && format.charCodeAt(i + used) == 83) used++
      if (used > 9) {
        formatProblem = 'has more than nine S'
        return []
      }
      tokens.push(FRACTION + used)
    } else if (!isQuoted) {
      for (let w = 0; w < WORDS.length && used == 0; w++) {
        if (format.substr(i, WORDS[w].length) != WORDS[w]) continue
        used = WORDS[w].length
        tokens.push(WORD_TOKENS[w])
        if (i + used < format.length && format.charCodeAt(i + used) == format.charCodeAt(i + used - 1)) {
          formatProblem = 'has ' + format.substr(i, used + 1) + ', which is no part of a time'
          return []
        }
      }
    }
    if (used == 0) {
      const isLetter = (c | 32) - 97 < 26 && c > 64
      if (c > 127 || (isLetter && !isQuoted && c != 84)) {
        formatProblem = 'has ' + format.charAt(i) + ', which is no part of a time: letters that stand for themselves go between single quotes'
        return []
      }
      tokens.push(LITERAL + c)
      used = 1
    }
    i += used
  }
  while (tokens.length > 0 && isBlank(tokens[tokens.length - 1])) tokens.pop()
  while (tokens.length > 0 && isBlank(tokens[0])) tokens.shift()
  formatProblem = isQuoted ? 'has a quote that is not closed' : tokens.length == 0 ? 'is empty' : 'has no year: YYYY'
  // Every day and time would be one of 1970.
  return isQuoted || !tokens.includes(YEAR) ? [] : tokens
}

// The time that was read last.
let year: i32 = 0
let month: i32 = 0
let day: i32 = 0
let hour: i32 = 0
let minute: i32 = 0
let second: i32 = 0
let fractionDigits: i32 = 0
let fraction: u32 = 0
let zoneMinutes: i32 = 0

/** Reads `least` to `most` digits at `p`; -1 where there are fewer. `stopped` is where they end. */
let stopped: usize = 0
function digits(p: usize, end: usize, least: i32, most: i32): i32 {
  let value = 0
  let count = 0
  while (p < end && count < most && (load<u8>(p) as u32) - 48 < 10) {
    value = value * 10 + (load<u8>(p) - 48)
    p++
    count++
  }
  stopped = p
  return count >= least ? value : -1
}

/** Reads Z or an offset; false where there is neither. */
function readZone(p: usize, end: usize): bool {
  zoneMinutes = 0
  stopped = p
  if (p >= end) return false
  const c = load<u8>(p)
  if ((c | 32) == 122) {
    stopped = p + 1
    return true
  }
  if (c != 43 && c != 45) return false
  const hours = digits(p + 1, end, 2, 2)
  if (hours < 0 || hours > 23) return false
  let minutes = 0
  const isMore = stopped < end && (load<u8>(stopped) == 58 || (load<u8>(stopped) as u32) - 48 < 10)
  if (isMore) {
    const from = load<u8>(stopped) == 58 ? stopped + 1 : stopped
    minutes = digits(from, end, 2, 2)
    if (minutes < 0 || minutes > 59) return false
  }
  zoneMinutes = (hours * 60 + minutes) * (c == 45 ? -1 : 1)
  return true
}

function readFraction(p: usize, end: usize, least: i32, most: i32): bool {
  const value = digits(p, end, least, most)
  fraction = value as u32
  fractionDigits = (stopped - p) as i32
  return value >= 0
}

function clearTime(): void {
  year = 1970
  month = 1
  day = 1
  hour = minute = second = 0
  fraction = 0
  fractionDigits = 0
  zoneMinutes = 0
}

function isLeap(y: i32): bool { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0 }

function isTimeOfCalendar(): bool {
  if (year < 1 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return false
  const last = month == 2 ? (isLeap(year) ? 29 : 28) : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31
  return day <= last
}

/** Reads a time of ISO 8601: a date, and, unless only that is wanted, a time of day with an optional zone. */
export function readIso(p: usize, end: usize, isDateOnly: bool): bool {
  clearTime()
  year = digits(p, end, 4, 4)
  if (year < 0 || stopped >= end || load<u8>(stopped) != 45) return false
  month = digits(stopped + 1, end, 2, 2)
  if (month < 0 || stopped >= end || load<u8>(stopped) != 45) return false
  day = digits(stopped + 1, end, 2, 2)
  if (day < 0) return false
  if (stopped == end) return isTimeOfCalendar()
  const between = load<u8>(stopped)
  if (isDateOnly || ((between | 32) != 116 && between != 32)) return false
  hour = digits(stopped + 1, end, 2, 2)
  if (hour < 0 || stopped >= end || load<u8>(stopped) != 58) return false
  minute = digits(stopped + 1, end, 2, 2)
  if (minute < 0) return false
  if (stopped < end && load<u8>(stopped) == 58) {
    second = digits(stopped + 1, end, 2, 2)
    if (second < 0) return false
    if (stopped < end && (load<u8>(stopped) == 46 || load<u8>(stopped) == 44) && !readFraction(stopped + 1, end, 1, 9)) return false
  }
  if (stopped < end && !readZone(stopped, end)) return false
  return stopped == end && isTimeOfCalendar()
}

/** Reads seconds or milliseconds since 1970. */
function readUnix(p: usize, end: usize, isMilliseconds: bool): bool {
  clearTime()
  const isNegative = p < end && load<u8>(p) == 45
  if (isNegative) p++
  if (p >= end || end - p > 15) return false
  let value: i64 = 0
  for (; p < end; p++) {
    if ((load<u8>(p) as u32) - 48 >= 10) return false
    value = value * 10 + (load<u8>(p) - 48)
  }
  if (isNegative) value = -value
  let seconds = value
  if (isMilliseconds) {
    seconds = value / 1000
    let rest = value % 1000
    if (rest < 0) {
      rest += 1000
      seconds--
    }
    fraction = rest as u32
    fractionDigits = 3
  }
  return takeSeconds(seconds)
}

/** Reads a time of a format. */
export function readFormatted(tokens: i32[], p: usize, end: usize): bool {
  if (tokens[0] == UNIX || tokens[0] == UNIX_MS) return readUnix(p, end, tokens[0] == UNIX_MS)
  clearTime()
  let half = -1
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]
    let value = 0
    stopped = p
    if (token >= LITERAL) {
      if (p >= end || load<u8>(p) != ((token - LITERAL) as u8)) return false
      stopped = p + 1
    } else if (token > FRACTION) {
      if (!readFraction(p, end, token - FRACTION, token - FRACTION)) return false
    } else if (token == YEAR) value = year = digits(p, end, 4, 4)
    else if (token == MONTH) value = month = digits(p, end, 2, 2)
    else if (token == SHORT_MONTH) value = month = digits(p, end, 1, 2)
    else if (token == MONTH_NAME) value = month = monthAt(p, end)
    else if (token == DAY) value = day = digits(p, end, 2, 2)
    else if (token == SHORT_DAY) value = day = digits(p, end, 1, 2)
    else if (token == HOUR || token == HALF_HOUR) value = hour = digits(p, end, 2, 2)
    else if (token == SHORT_HOUR || token == SHORT_HALF_HOUR) value = hour = digits(p, end, 1, 2)
    else if (token == MINUTE) value = minute = digits(p, end, 2, 2)
    else if (token == SECOND) value = second = digits(p, end, 2, 2)
    else if (token == HALF) {
      if (end - p < 2 || (load<u8>(p, 1) | 32) != 109) return false
      const c = load<u8>(p) | 32
      half = c == 97 ? 0 : c == 112 ? 12 : -1
      if (half < 0) return false
      stopped = p + 2
    } else if (token == ZONE && !readZone(p, end)) return false
    if (value < 0) return false
    p = stopped
  }
  if (half >= 0) {
    if (hour < 1 || hour > 12) return false
    hour = (hour % 12) + half
  }
  return p == end && isTimeOfCalendar()
}

function monthAt(p: usize, end: usize): i32 {
  stopped = p + 3
  if (end - p < 3) return -1
  for (let i = 0; i < 12; i++) {
    let isSame = true
    for (let k = 0; k < 3; k++) if ((load<u8>(p + k) | 32) != (MONTHS.charCodeAt(i * 3 + k) as u8)) isSame = false
    if (isSame) return i + 1
  }
  return -1
}

/** Days since 1970-01-01 of the proleptic Gregorian calendar. */
export function daysOf(y: i32, m: i32, d: i32): i64 {
  const shifted = (m <= 2 ? y - 1 : y) as i64
  const era = (shifted >= 0 ? shifted : shifted - 399) / 400
  const ofEra = shifted - era * 400
  const ofYear = (153 * ((m + 9) % 12) + 2) / 5 + d - 1
  return era * 146097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719468
}

/** Sets the date and the time of day of seconds since 1970; false outside of the years 1 to 9999, which databases have too. */
function takeSeconds(seconds: i64): bool {
  let days = seconds / 86400
  let rest = seconds % 86400
  if (rest < 0) {
    rest += 86400
    days--
  }
  const z = days + 719468
  const era = (z >= 0 ? z : z - 146096) / 146097
  const ofEra = z - era * 146097
  const y = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365
  const ofYear = ofEra - (365 * y + y / 4 - y / 100)
  const m = (5 * ofYear + 2) / 153
  day = (ofYear - (153 * m + 2) / 5 + 1) as i32
  month = (m < 10 ? m + 3 : m - 9) as i32
  const ofCalendar = y + era * 400 + (month <= 2 ? 1 : 0)
  hour = (rest / 3600) as i32
  minute = ((rest / 60) % 60) as i32
  second = (rest % 60) as i32
  year = ofCalendar as i32
  return ofCalendar >= 1 && ofCalendar <= 9999
}

/** Sets the date that `civilYear` and its neighbours give, of seconds since 1970; false outside of the years 1 to 9999. */
export function setCivil(seconds: i64): bool { return takeSeconds(seconds) }
export function civilYear(): i32 { return year }
export function civilMonth(): i32 { return month }
export function civilDay(): i32 { return day }

function putDigits(writer: Writer, value: u32, width: i32): void {
  writer.room(width)
  for (let i = width - 1; i >= 0; i--) {
    store<u8>(writer.at + i, (48 + (value % 10)) as u8)
    value /= 10
  }
  writer.at += width
}

export function putDate(writer: Writer): void {
  putDigits(writer, year, 4)
  writer.byte(45)
  putDigits(writer, month, 2)
  writer.byte(45)
  putDigits(writer, day, 2)
}

/** Writes the time that was read in UTC, with at least three digits of a second. */
export function putTimestamp(writer: Writer): bool {
  const seconds = daysOf(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - zoneMinutes * 60
  if (!takeSeconds(seconds)) return false
  writer.byte(34)
  putDate(writer)
  writer.byte(84)
  putDigits(writer, hour, 2)
  writer.byte(58)
  putDigits(writer, minute, 2)
  writer.byte(58)
  putDigits(writer, second, 2)
  writer.byte(46)
  if (fractionDigits > 0) putDigits(writer, fraction, fractionDigits)
  for (let i = fractionDigits; i < 3; i++) writer.byte(48)
  writer.byte(90)
  writer.byte(34)
  return true
}

/** Milliseconds since 1970 of the time that was read; finer parts are cut off. */
export function milliseconds(): i64 {
  let rest: i64 = fraction
  for (let i = fractionDigits; i < 3; i++) rest *= 10
  for (let i = fractionDigits; i > 3; i--) rest /= 10
  return (daysOf(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - zoneMinutes * 60) * 1000 + rest
}

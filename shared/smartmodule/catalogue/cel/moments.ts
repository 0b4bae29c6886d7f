/** Timestamps (years 1 to 9999, nanoseconds) and durations (64-bit nanoseconds), as RFC 3339 and as `1h30m`. */
import { Writer } from 'dps'
import { civilDay, civilMonth, civilYear, daysOf, setCivil } from 'dps/time'
import { K, Value, fail, noOverload, ofDuration, ofInt, ofTimestamp, stringOf } from './value'

const BILLION: i64 = 1000000000
/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const SECONDS_MIN: i64 = -62135596800
const SECONDS_MAX: i64 = 253402300799

function outOfRange(): Value {
  return fail('the timestamp is out of range: it must be of the years 1 to 9999')
}
function durationOutOfRange(): Value {
  return fail('the duration is out of range')
}

/** A timestamp of the years 1 to 9999. */
export function timestampAt(seconds: i64, nanos: i32): Value {
  return seconds < SECONDS_MIN || seconds > SECONDS_MAX ? outOfRange() : ofTimestamp(seconds, nanos)
}

export function addDurations(a: i64, b: i64): Value {
  const sum = a + b
  return ((a ^ sum) & (b ^ sum)) < 0 ? durationOutOfRange() : ofDuration(sum)
}

export function addToTimestamp(a: Value, nanos: i64): Value {
  let rest = (nanos % BILLION) + (a.nanos as i64)
  let seconds = a.n + nanos / BILLION
  if (rest < 0) {
    rest += BILLION
    seconds--
  } else if (rest >= BILLION) {
    rest -= BILLION
    seconds++
  }
  return timestampAt(seconds, rest as i32)
}

export function betweenTimestamps(a: Value, b: Value): Value {
  const seconds = a.n - b.n
  if (seconds > 9223372036 || seconds < -9223372036) return durationOutOfRange()
  return addDurations(seconds * BILLION, (a.nanos - b.nanos) as i64)
}

let at: i32 = 0
function digits(from: string, count: i32): i32 {
  let value = 0
  for (let i = 0; i < count; i++) {
    const c = at < from.length ? from.charCodeAt(at) - 48 : -1
    if (c < 0 || c > 9) return -1
    value = value * 10 + c
    at++
  }
  return value
}

function sign(from: string, expected: i32): bool {
  return at < from.length && (from.charCodeAt(at++) | 32) == (expected | 32)
}

/** RFC 3339, section 5.6. */
export function timestampFrom(given: string): Value {
  at = 0
  const year = digits(given, 4)
  const isDate = sign(given, 45)
  const month = digits(given, 2)
  const isDay = sign(given, 45)
  const day = digits(given, 2)
  const isTime = sign(given, 84)
  const hour = digits(given, 2)
  const isMinute = sign(given, 58)
  const minute = digits(given, 2)
  const isSecond = sign(given, 58)
  const second = digits(given, 2)
  const wrong = fail('not a timestamp as RFC 3339 has it: "' + given.substr(0, 100) + '"')
  if (
    year < 0 ||
    !isDate ||
    month < 1 ||
    month > 12 ||
    !isDay ||
    day < 1 ||
    !isTime ||
    hour < 0 ||
    hour > 23 ||
    !isMinute ||
    minute < 0 ||
    minute > 59 ||
    !isSecond ||
    second < 0 ||
    second > 59
  )
    return wrong
  const last =
    month == 2
      ? (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
        ? 29
        : 28
      : month == 4 || month == 6 || month == 9 || month == 11
        ? 30
        : 31
  if (day > last) return wrong
  let nanos = 0
  if (at < given.length && given.charCodeAt(at) == 46) {
    at++
    let unit = 100000000
    const from = at
    for (; at < given.length && given.charCodeAt(at) - 48 <= 9 && given.charCodeAt(at) >= 48; at++) {
      nanos += (given.charCodeAt(at) - 48) * unit
      unit /= 10
    }
    if (at == from || at - from > 9) return wrong
  }
  const offset = zoneAt(given)
  if (offset == NO_ZONE || at != given.length) return wrong
  return timestampAt(daysOf(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset * 60, nanos)
}

const NO_ZONE: i32 = 100000

/** Minutes of `Z`, or of `+hh:mm`, at `at`. */
function zoneAt(given: string): i32 {
  if (at >= given.length) return NO_ZONE
  const c = given.charCodeAt(at++)
  if ((c | 32) == 122) return 0
  if (c != 43 && c != 45) return NO_ZONE
  const hours = digits(given, 2)
  const isColon = sign(given, 58)
  const minutes = digits(given, 2)
  if (hours < 0 || hours > 23 || !isColon || minutes < 0 || minutes > 59) return NO_ZONE
  return (hours * 60 + minutes) * (c == 45 ? -1 : 1)
}

const UNITS: string[] = ['ns', 'us', '\u00b5s', '\u03bcs', 'ms', 's', 'm', 'h']
const UNIT_NANOS: i64[] = [1, 1000, 1000, 1000, 1000000, 1000000000, 60000000000, 3600000000000]

/** `1h30m`, `-1.5s`, `200ms`: a sign, then numbers with their units. */
export function durationFrom(given: string): Value {
  const wrong = fail('not a duration such as 1h30m or 1.5s: ' + given.substr(0, 100))
  at = 0
  const isNegative = given.startsWith('-')
  if (isNegative || given.startsWith('+')) at++
  if (given.substring(at) == '0') return ofDuration(0)
  if (at == given.length) return wrong
  let sum: f64 = 0
  let nanos: i64 = 0
  while (at < given.length) {
    let whole: i64 = 0
    const from = at
    while (at < given.length && given.charCodeAt(at) >= 48 && given.charCodeAt(at) <= 57) {
      if (whole > 922337203685477580) return durationOutOfRange()
      whole = whole * 10 + given.charCodeAt(at++) - 48
    }
    let hasDigits = at > from
    let part: i64 = 0
    let scale: f64 = 1
    if (at < given.length && given.charCodeAt(at) == 46) {
      at++
      while (at < given.length && given.charCodeAt(at) >= 48 && given.charCodeAt(at) <= 57) {
        hasDigits = true
        if (scale < 1e15) {
          part = part * 10 + given.charCodeAt(at) - 48
          scale *= 10
        }
        at++
      }
    }
    if (!hasDigits) return wrong
    let unit = -1
    for (let i = 0; i < UNITS.length; i++)
      if (given.startsWith(UNITS[i], at) && (unit < 0 || UNITS[i].length > UNITS[unit].length)) unit = i
    if (unit < 0) return wrong
    at += UNITS[unit].length
    const fraction = ((part as f64) * ((UNIT_NANOS[unit] as f64) / scale)) as i64
    sum += (whole as f64) * (UNIT_NANOS[unit] as f64)
    if (sum > 9223372036854774784) return durationOutOfRange()
    nanos += whole * UNIT_NANOS[unit] + fraction
    if (nanos < 0) return durationOutOfRange()
  }
  return ofDuration(isNegative ? -nanos : nanos)
}

function putPadded(out: Writer, value: i64, width: i32): void {
  const shown = value.toString().padStart(width, '0')
  for (let i = 0; i < shown.length; i++) out.byte(shown.charCodeAt(i))
}

function putFraction(out: Writer, nanos: i64): void {
  if (nanos == 0) return
  let shown = nanos.toString().padStart(9, '0')
  while (shown.endsWith('0')) shown = shown.substring(0, shown.length - 1)
  out.byte(46)
  for (let i = 0; i < shown.length; i++) out.byte(shown.charCodeAt(i))
}

export function putTimestampText(out: Writer, value: Value): void {
  setCivil(value.n)
  putPadded(out, civilYear(), 4)
  out.byte(45)
  putPadded(out, civilMonth(), 2)
  out.byte(45)
  putPadded(out, civilDay(), 2)
  out.byte(84)
  const second = secondOfDay(value.n)
  putPadded(out, second / 3600, 2)
  out.byte(58)
  putPadded(out, (second / 60) % 60, 2)
  out.byte(58)
  putPadded(out, second % 60, 2)
  putFraction(out, value.nanos)
  out.byte(90)
}

export function putDuration(out: Writer, value: Value): void {
  let seconds = value.n / BILLION
  let nanos = value.n % BILLION
  if (value.n < 0) {
    out.byte(45)
    seconds = -seconds
    nanos = -nanos
  }
  putPadded(out, seconds, 1)
  putFraction(out, nanos)
  out.byte(115)
}

function secondOfDay(seconds: i64): i64 {
  const rest = seconds % 86400
  return rest < 0 ? rest + 86400 : rest
}

const shown = new Writer()
export function textOfMoment(value: Value): string {
  shown.clear()
  if (value.kind == K.Timestamp) putTimestampText(shown, value)
  else putDuration(shown, value)
  return String.UTF8.decodeUnsafe(shown.start, shown.length)
}

export const enum Part {
  FullYear,
  Month,
  Date,
  DayOfMonth,
  DayOfWeek,
  DayOfYear,
  Hours,
  Minutes,
  Seconds,
  Milliseconds,
}

/** One part of a timestamp, in UTC or at an offset such as `+02:00`. */
export function partOf(part: Part, name: string, value: Value, zone: Value | null): Value {
  if (value.kind == K.Duration && zone === null) return partOfDuration(part, value.n)
  if (value.kind != K.Timestamp || (zone !== null && zone.kind != K.String)) return noOverload(name, value, zone)
  let offset = 0
  if (zone !== null) {
    const name = stringOf(zone)
    if (name != 'UTC' && name != 'Z') {
      const signed = name.startsWith('-') || name.startsWith('+') ? name : '+' + name
      at = 0
      offset = zoneAt(signed)
      if (offset == NO_ZONE || at != signed.length)
        return fail('the time zone ' + name.substr(0, 100) + ' is not known: give UTC or an offset such as +02:00')
    }
  }
  const seconds = value.n + offset * 60
  const second = secondOfDay(seconds)
  if (part == Part.Hours) return ofInt(second / 3600)
  if (part == Part.Minutes) return ofInt((second / 60) % 60)
  if (part == Part.Seconds) return ofInt(second % 60)
  if (part == Part.Milliseconds) return ofInt(value.nanos / 1000000)
  setCivil(seconds)
  if (part == Part.FullYear) return ofInt(civilYear())
  if (part == Part.Month) return ofInt(civilMonth() - 1)
  if (part == Part.Date) return ofInt(civilDay())
  if (part == Part.DayOfMonth) return ofInt(civilDay() - 1)
  const days = (seconds - second) / 86400
  if (part == Part.DayOfYear) return ofInt(days - daysOf(civilYear(), 1, 1))
  // 1970-01-01 was a Thursday.
  return ofInt((((days + 4) % 7) + 7) % 7)
}

function partOfDuration(part: Part, nanos: i64): Value {
  if (part == Part.Hours) return ofInt(nanos / 3600000000000)
  if (part == Part.Minutes) return ofInt(nanos / 60000000000)
  if (part == Part.Seconds) return ofInt(nanos / BILLION)
  if (part == Part.Milliseconds) return ofInt((nanos / 1000000) % 1000)
  return fail('no such overload: a duration has hours, minutes, seconds and milliseconds')
}

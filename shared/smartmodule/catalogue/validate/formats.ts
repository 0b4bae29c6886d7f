/** The formats that are checked (RFC 3339, 5321, 4122, 2673 and 3986), on the bytes of a text. */
import { Value, isTooMuch } from '../cel/value'
import { Format } from './schema'

let at: usize = 0
let end: usize = 0

// @ts-ignore: decorator
@inline
function byte(): i32 { return at < end ? (load<u8>(at) as i32) : -1 }
function take(c: i32): bool {
  if (byte() != c) return false
  at++
  return true
}
/** So many digits as a number; -1 where there are fewer. */
function digits(count: i32): i32 {
  let value = 0
  for (let i = 0; i < count; i++) {
    const digit = byte() - 48
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
    at++
  }
  return value
}

function isLeap(year: i32): bool { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 }

function date(): bool {
  const year = digits(4)
  if (year < 0 || !take(45)) return false
  const month = digits(2)
  if (month < 1 || month > 12 || !take(45)) return false
  const day = digits(2)
  const days = month == 2 ? (isLeap(year) ? 29 : 28) : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31
  return day >= 1 && day <= days
}

/** With its offset; a leap second is one only at the end of a day in UTC. */
function time(): bool {
  const hour = digits(2)
  if (hour < 0 || hour > 23 || !take(58)) return false
  const minute = digits(2)
  if (minute < 0 || minute > 59 || !take(58)) return false
  const second = digits(2)
  if (second < 0 || second > 60) return false
  if (take(46)) {
    if (digits(1) < 0) return false
    while (byte() >= 48 && byte() <= 57) at++
  }
  let offset = 0
  if (!take(90) && !take(122)) {
    const sign = byte()
    if (sign != 43 && sign != 45) return false
    at++
    const hours = digits(2)
    if (hours < 0 || hours > 23 || !take(58)) return false
    const minutes = digits(2)
    if (minutes < 0 || minutes > 59) return false
    offset = (sign == 45 ? -1 : 1) * (hours * 60 + minutes)
  }
  return second < 60 || (hour * 60 + minute - offset + 2880) % 1440 == 1439
}

function isWordByte(c: i32): bool { return (c >= 48 && c <= 57) || ((c | 32) >= 97 && (c | 32) <= 122) }

/** A local part without quotes, and a domain of labels. */
function email(): bool {
  const start = at
  let before = 46
  for (let c = byte(); c != 64; c = byte()) {
    const isAtom = isWordByte(c) || c == 33 || (c >= 35 && c <= 39) || c == 42 || c == 43 || c == 45 || c == 47 || c == 61 || c == 63 || (c >= 94 && c <= 96) || (c >= 123 && c <= 126)
    if (!isAtom && (c != 46 || before == 46)) return false
    before = c
    at++
  }
  if (at == start || before == 46) return false
  at++
  return hostname()
}

function hostname(): bool {
  while (true) {
    const start = at
    while (isWordByte(byte()) || byte() == 45) at++
    if (at == start || at - start > 63 || load<u8>(start) == 45 || load<u8>(at - 1) == 45) return false
    if (at == end) return true
    if (!take(46)) return false
  }
}

function uuid(): bool {
  for (let i = 0; i < 36; i++) {
    const c = byte()
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != 45) return false
    } else if (!((c >= 48 && c <= 57) || ((c | 32) >= 97 && (c | 32) <= 102))) return false
    at++
  }
  return true
}

function ipv4(): bool {
  for (let i = 0; i < 4; i++) {
    if (i > 0 && !take(46)) return false
    const start = at
    let value = 0
    while (byte() >= 48 && byte() <= 57 && at - start < 3) value = value * 10 + digits(1)
    if (at == start || value > 255 || (at - start > 1 && load<u8>(start) == 48)) return false
  }
  return true
}

/** A scheme, and behind it bytes that a URI may have. */
function uri(): bool {
  const start = at
  if (!((byte() | 32) >= 97 && (byte() | 32) <= 122)) return false
  while (isWordByte(byte()) || byte() == 43 || byte() == 45 || byte() == 46) at++
  if (at == start || !take(58)) return false
  while (at < end) {
    const c = byte()
    if (c <= 32 || c > 126 || c == 34 || c == 60 || c == 62 || c == 92 || c == 94 || c == 96 || (c >= 123 && c <= 125)) return false
    at++
    if (c == 37) {
      for (let i = 0; i < 2; i++, at++) {
        const hex = byte()
        if (!((hex >= 48 && hex <= 57) || ((hex | 32) >= 97 && (hex | 32) <= 102))) return false
      }
    }
  }
  return true
}

export function isOfFormat(format: Format, value: Value): bool {
  isTooMuch((value.length >> 4) as i32)
  at = value.ptr
  end = at + value.length
  let isOne = true
  switch (format) {
    case Format.DateTime: {
      isOne = date() && (take(84) || take(116)) && time()
      break
    }
    case Format.Date: isOne = date(); break
    case Format.Time: isOne = time(); break
    case Format.Email: isOne = email(); break
    case Format.Uuid: isOne = uuid(); break
    case Format.Ipv4: isOne = ipv4(); break
    case Format.Uri: isOne = uri(); break
    default: return true
  }
  return isOne && at == end
}

/** The tokens of an expression (CEL's language definition, section "Syntax"). One text at a time, in this file's variables. */
import { Writer, numberOf } from 'dps'
import { putCodePoint } from 'dps/text'
import { K, Value, ofDouble, ofInt, ofUint, owned } from './value'

export const enum T {
  End,
  Name,
  Quoted,
  Literal,
  Sign,
  Wrong,
}

let source: string = ''
let at: i32 = 0
/** The kind of the token that was read last. */
export let token: T = T.End
export let tokenAt: i32 = 0
/** A name, or a sign such as `&&`. */
export let word: string = ''
export let literal: Value | null = null
/** A whole number without sign, which a minus before it may still change. */
export let isWhole: bool = false
/** Why the token is `Wrong`. */
export let wrong: string = ''

const SIGNS: string[] = [
  '&&',
  '||',
  '==',
  '!=',
  '<=',
  '>=',
  '<',
  '>',
  '+',
  '-',
  '*',
  '/',
  '%',
  '!',
  '?',
  ':',
  '.',
  ',',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
]

export function open(text: string): void {
  source = text
  at = 0
  next()
}

/** Goes back to a place where a token starts. */
export function goTo(place: i32): void {
  at = place
  next()
}

function code(i: i32): i32 {
  return i < source.length ? source.charCodeAt(i) : -1
}
function isDigit(c: i32): bool {
  return c >= 48 && c < 58
}
function isHex(c: i32): bool {
  return isDigit(c) || ((c | 32) >= 97 && (c | 32) <= 102)
}
function isNameStart(c: i32): bool {
  return ((c | 32) >= 97 && (c | 32) <= 122) || c == 95
}
function isNamePart(c: i32): bool {
  return isNameStart(c) || isDigit(c)
}

function refuse(why: string): void {
  token = T.Wrong
  wrong = why
}

export function next(): void {
  while (true) {
    const c = code(at)
    if (c == 32 || c == 9 || c == 10 || c == 12 || c == 13) at++
    else if (c == 47 && code(at + 1) == 47) while (at < source.length && code(at) != 10) at++
    else break
  }
  tokenAt = at
  isWhole = false
  word = ''
  const c = code(at)
  if (c < 0) token = T.End
  else if (isDigit(c) || (c == 46 && isDigit(code(at + 1)))) number()
  else if (c == 34 || c == 39) texts(false, false)
  else if (isNameStart(c)) name()
  else if (c == 96) quotedName()
  else {
    for (let i = 0; i < SIGNS.length; i++) {
      if (!source.startsWith(SIGNS[i], at)) continue
      token = T.Sign
      word = SIGNS[i]
      at += word.length
      return
    }
    refuse('unexpected character ' + String.fromCodePoint(source.codePointAt(at)))
  }
}

function name(): void {
  // A letter or two directly before a quote belong to the text.
  let isRaw = false
  let isBytes = false
  for (let i = at; i < at + 3; i++) {
    const c = code(i)
    if (c == 34 || c == 39) {
      if (i > at) {
        at = i
        return texts(isRaw, isBytes)
      }
      break
    }
    if ((c | 32) == 114 && !isRaw) isRaw = true
    else if ((c | 32) == 98 && !isBytes) isBytes = true
    else break
  }
  const from = at
  while (isNamePart(code(at))) at++
  token = T.Name
  word = source.substring(from, at)
}

function quotedName(): void {
  const close = source.indexOf('`', at + 1)
  if (close <= at + 1) return refuse('a name in backticks is not closed, or empty')
  token = T.Quoted
  word = source.substring(at + 1, close)
  at = close + 1
}

function number(): void {
  const from = at
  token = T.Literal
  if (code(at) == 48 && (code(at + 1) | 32) == 120 && isHex(code(at + 2))) {
    at += 2
    let value: u64 = 0
    let isTooLarge = false
    while (isHex(code(at))) {
      if (value >> 60 != 0) isTooLarge = true
      const c = code(at++)
      value = (value << 4) | ((isDigit(c) ? c - 48 : (c | 32) - 87) as u64)
    }
    return whole(value, isTooLarge)
  }
  while (isDigit(code(at))) at++
  let isFraction = false
  if (code(at) == 46 && isDigit(code(at + 1))) {
    isFraction = true
    at++
    while (isDigit(code(at))) at++
  }
  if ((code(at) | 32) == 101) {
    let after = at + 1
    if (code(after) == 43 || code(after) == 45) after++
    if (isDigit(code(after))) {
      isFraction = true
      at = after
      while (isDigit(code(at))) at++
    }
  }
  if (isFraction) {
    const shown = String.UTF8.encode(source.substring(from, at))
    const start = changetype<usize>(shown)
    const value = numberOf(start, start + shown.byteLength)
    if (!isFinite(value)) return refuse('the number does not fit into a double')
    literal = ofDouble(value)
    if (isNamePart(code(at))) refuse('a number is followed by a letter')
    return
  }
  let value: u64 = 0
  let isTooLarge = false
  for (let i = from; i < at; i++) {
    const digit = (code(i) - 48) as u64
    if (value > (u64.MAX_VALUE - digit) / 10) isTooLarge = true
    value = value * 10 + digit
  }
  whole(value, isTooLarge)
}

function whole(value: u64, isTooLarge: bool): void {
  const isUint = (code(at) | 32) == 117
  if (isUint) at++
  if (isNamePart(code(at))) return refuse('a number is followed by a letter')
  // 2^63 is allowed behind a minus; the parser refuses it elsewhere.
  if (isTooLarge || (!isUint && value > 0x8000000000000000)) return refuse('the number does not fit into 64 bits')
  literal = isUint ? ofUint(value) : ofInt(value as i64)
  isWhole = !isUint
}

const out = new Writer()

/** Reads a text whose opening quote is at `at`. */
function texts(isRaw: bool, isBytes: bool): void {
  const quote = code(at)
  const isTriple = code(at + 1) == quote && code(at + 2) == quote
  at += isTriple ? 3 : 1
  out.clear()
  out.room(16)
  while (true) {
    const c = code(at)
    if (c < 0 || (!isTriple && (c == 10 || c == 13))) return refuse('the text is not closed')
    if (c == quote && (!isTriple || (code(at + 1) == quote && code(at + 2) == quote))) {
      at += isTriple ? 3 : 1
      break
    }
    if (c == 92 && !isRaw) {
      if (!escape(isBytes)) return
      continue
    }
    const point = source.codePointAt(at)
    at += point > 0xffff ? 2 : 1
    put(point as u32)
  }
  const bytes = new ArrayBuffer(out.length as i32)
  memory.copy(changetype<usize>(bytes), out.start, out.length)
  token = T.Literal
  literal = owned(isBytes ? K.Bytes : K.String, bytes)
}

function put(point: u32): void {
  out.room(4)
  out.at = putCodePoint(out.at, point)
}

const SIMPLE = 'abfnrtv\\?"\'`'
const SIMPLE_CODES: i32[] = [7, 8, 12, 10, 13, 9, 11, 92, 63, 34, 39, 96]

function escape(isBytes: bool): bool {
  const c = code(at + 1)
  const simple = c < 0 ? -1 : SIMPLE.indexOf(String.fromCharCode(c))
  if (simple >= 0) {
    at += 2
    put(SIMPLE_CODES[simple] as u32)
    return true
  }
  const isOctal = c >= 48 && c < 52
  const digits = isOctal ? 3 : (c | 32) == 120 ? 2 : c == 117 ? 4 : c == 85 ? 8 : 0
  let value: u32 = 0
  let from = isOctal ? at + 1 : at + 2
  for (let i = 0; i < digits; i++) {
    const d = code(from + i)
    if (isOctal ? d < 48 || d > 55 : !isHex(d)) return refuseEscape()
    value = value * (isOctal ? 8 : 16) + ((isDigit(d) ? d - 48 : (d | 32) - 87) as u32)
  }
  if (digits == 0 || (isBytes && digits > 3) || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return refuseEscape()
  at = from + digits
  if (isBytes) out.byte(value)
  else put(value)
  return true
}

function refuseEscape(): bool {
  tokenAt = at
  refuse('the text has an escape that is not known')
  return false
}

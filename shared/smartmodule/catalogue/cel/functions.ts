/** All functions of expressions, by name. To add one, add its name to the table and its case to `call`. */

import { fromBase64, toBase64, toBool, toBytes, toDouble, toDuration, toInt, toText, toTimestamp, toUint } from './convert'
import { format } from './format'
import { itemsOf } from './json'
import { M, bits, math } from './math'
import { Part, partOf } from './moments'
import { Node } from './node'
import { compileRegex } from './regex'
import { isFound } from './regex-run'
import {
  charAt,
  countOf,
  endsWith,
  find,
  indexOf,
  join,
  lastIndexOf,
  quote,
  recased,
  replace,
  reverse,
  split,
  startsWith,
  substring,
  trim,
} from './strings'
import { K, NONE, Value, fail, isTooMuch, noOverload, ofBool, ofInt, ofOptional, ofType, spend, stringOf, tooMuch, typeNameOf } from './value'

export const enum Fn {
  Size,
  Type,
  Dyn,
  Int,
  Uint,
  Double,
  String,
  Bytes,
  Bool,
  Timestamp,
  Duration,
  Matches,
  Contains,
  StartsWith,
  EndsWith,
  CharAt,
  Format,
  IndexOf,
  Join,
  LastIndexOf,
  LowerAscii,
  Quote,
  Replace,
  Split,
  Substring,
  Trim,
  UpperAscii,
  Reverse,
  Encode,
  Decode,
  None,
  Of,
  OfNonZero,
  HasValue,
  ValueOf,
  Or,
  OrValue,
  /** The parts of a timestamp, in the order of `Part`. */
  Parts = 100,
  /** Functions of one number, then of two, in the order of `M`. */
  Math = 200,
}

/** Names with a dot in front are called on a value. */
const NAMES: string[] = [
  'size',
  '.size',
  'type',
  'dyn',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'bool',
  'timestamp',
  'duration',
  'matches',
  '.matches',
  '.contains',
  '.startsWith',
  '.endsWith',
  '.charAt',
  '.format',
  '.indexOf',
  '.join',
  '.lastIndexOf',
  '.lowerAscii',
  'strings.quote',
  '.replace',
  '.split',
  '.substring',
  '.trim',
  '.upperAscii',
  '.reverse',
  'base64.encode',
  'base64.decode',
  'optional.none',
  'optional.of',
  'optional.ofNonZeroValue',
  '.hasValue',
  '.value',
  '.or',
  '.orValue',
]
const FUNCTIONS: i32[] = [
  Fn.Size,
  Fn.Size,
  Fn.Type,
  Fn.Dyn,
  Fn.Int,
  Fn.Uint,
  Fn.Double,
  Fn.String,
  Fn.Bytes,
  Fn.Bool,
  Fn.Timestamp,
  Fn.Duration,
  Fn.Matches,
  Fn.Matches,
  Fn.Contains,
  Fn.StartsWith,
  Fn.EndsWith,
  Fn.CharAt,
  Fn.Format,
  Fn.IndexOf,
  Fn.Join,
  Fn.LastIndexOf,
  Fn.LowerAscii,
  Fn.Quote,
  Fn.Replace,
  Fn.Split,
  Fn.Substring,
  Fn.Trim,
  Fn.UpperAscii,
  Fn.Reverse,
  Fn.Encode,
  Fn.Decode,
  Fn.None,
  Fn.Of,
  Fn.OfNonZero,
  Fn.HasValue,
  Fn.ValueOf,
  Fn.Or,
  Fn.OrValue,
]
const PARTS: string[] = ['FullYear', 'Month', 'Date', 'DayOfMonth', 'DayOfWeek', 'DayOfYear', 'Hours', 'Minutes', 'Seconds', 'Milliseconds']
const MATHS: string[] = [
  'ceil',
  'floor',
  'round',
  'trunc',
  'abs',
  'sign',
  'sqrt',
  'isNaN',
  'isInf',
  'isFinite',
  'bitAnd',
  'bitOr',
  'bitXor',
  'bitNot',
  'bitShiftLeft',
  'bitShiftRight',
]

/** How many arguments each takes, in the order of `Fn`; a value that it is called on counts. */
const LEAST: i32[] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 1, 2, 1, 1, 3, 2, 2, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 2, 2]
const MOST: i32[] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 2, 3, 1, 1, 4, 3, 3, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 2, 2]

function takesTwo(fn: i32): bool { return fn - Fn.Math >= M.BitAnd && fn - Fn.Math != M.BitNot }

/** Whether a function takes this number of arguments. */
export function takes(fn: i32, count: i32): bool {
  if (fn >= Fn.Math) return count == (takesTwo(fn) ? 2 : 1)
  if (fn >= Fn.Parts) return count == 1 || count == 2
  return count >= LEAST[fn] && count <= MOST[fn]
}

/** The function of this name, -1 for none. */
export function functionNamed(name: string): i32 {
  const at = NAMES.indexOf(name)
  if (at >= 0) return FUNCTIONS[at]
  if (name.startsWith('.get')) {
    const part = PARTS.indexOf(name.substring(4))
    return part < 0 ? -1 : Fn.Parts + part
  }
  if (!name.startsWith('math.')) return -1
  const math = MATHS.indexOf(name.substring(5))
  return math < 0 ? -1 : Fn.Math + math
}

export function isZero(value: Value): bool {
  const kind = value.kind
  if (kind == K.Null) return true
  if (kind == K.Bool || kind == K.Int || kind == K.Uint || kind == K.Duration) return value.n == 0
  if (kind == K.Double) return value.d == 0
  if (kind == K.String || kind == K.Bytes) return value.length == 0
  if (kind == K.List || kind == K.Map) return itemsOf(value).length == 0
  if (kind == K.Timestamp) return value.n == 0 && value.nanos == 0
  return kind == K.Optional && value.items === null
}

function sizeOf(a: Value): Value {
  if (a.kind == K.String) return ofInt(countOf(a))
  if (a.kind == K.Bytes) return ofInt(a.length as i64)
  return a.kind == K.List || a.kind == K.Map ? ofInt(itemsOf(a).length) : noOverload('size', a)
}

/** Calls a function that takes (`takes`) `count` arguments, none of which is an error; a value that it is called on comes first. */
export function call(node: Node, count: i32, a: Value, b: Value, c: Value, d: Value): Value {
  const fn = node.id
  if (fn >= Fn.Math) {
    const which = (fn - Fn.Math) as M
    return takesTwo(fn) ? bits(which, a, b) : math(which, a)
  }
  if (fn >= Fn.Parts) return partOf((fn - Fn.Parts) as Part, node.name, a, count == 2 ? b : null)
  if (fn == Fn.None) return NONE
  if (count == 1) return callOne(fn, node, a)
  if (a.kind == K.Optional && count == 2) return ofTwoOptionals(fn, node, a, b)
  if (fn == Fn.Join && a.kind == K.List && b.kind == K.String && count == 2) return join(a, b)
  if (a.kind != K.String) return noOverload(node.name, a)
  if (fn == Fn.Format) return b.kind == K.List ? format(a, b) : noOverload(node.name, a, b)
  if (fn == Fn.Substring) {
    const hasEnd = count == 3
    if (b.kind != K.Int || (hasEnd && c.kind != K.Int)) return noOverload(node.name, a, b)
    return substring(a, b.n, hasEnd ? c.n : 0, hasEnd)
  }
  if (fn == Fn.CharAt) return b.kind == K.Int ? charAt(a, b.n) : noOverload(node.name, a, b)
  if (b.kind != K.String) return noOverload(node.name, a, b)
  return ofTwoTexts(fn, node, count, a, b, c, d)
}

function ofTwoOptionals(fn: i32, node: Node, a: Value, b: Value): Value {
  if (fn == Fn.Or && b.kind == K.Optional) return a.items === null ? b : a
  if (fn == Fn.OrValue) return a.items === null ? b : a.items![0]
  return noOverload(node.name, a, b)
}

function ofTwoTexts(fn: i32, node: Node, count: i32, a: Value, b: Value, c: Value, d: Value): Value {
  if (count == 2) {
    if (fn == Fn.StartsWith) return ofBool(startsWith(a, b))
    if (fn == Fn.EndsWith) return ofBool(endsWith(a, b))
    if (fn == Fn.Contains) return isTooMuch((a.length >> 4) as i32) ? tooMuch() : ofBool(find(a, b, 0) >= 0)
    if (fn == Fn.Matches) return matches(node, a, b)
    if (fn == Fn.IndexOf) return indexOf(a, b, 0)
    if (fn == Fn.LastIndexOf) return lastIndexOf(a, b, 0, false)
    if (fn == Fn.Split) return split(a, b, -1)
  }
  if (count == 3) {
    if (fn == Fn.Replace && c.kind == K.String) return replace(a, b, c, -1)
    if (c.kind != K.Int) return noOverload(node.name, a, b)
    if (fn == Fn.IndexOf) return indexOf(a, b, c.n)
    if (fn == Fn.LastIndexOf) return lastIndexOf(a, b, c.n, true)
    if (fn == Fn.Split) return split(a, b, c.n)
  }
  if (count == 4 && fn == Fn.Replace && c.kind == K.String && d.kind == K.Int) return replace(a, b, c, d.n)
  return noOverload(node.name, a, b)
}

function callOne(fn: i32, node: Node, a: Value): Value {
  if (fn == Fn.Size) return sizeOf(a)
  if (fn == Fn.Type) return ofType(typeNameOf(a))
  if (fn == Fn.Dyn) return a
  if (fn == Fn.Int) return toInt(a)
  if (fn == Fn.Uint) return toUint(a)
  if (fn == Fn.Double) return toDouble(a)
  if (fn == Fn.String) return toText(a)
  if (fn == Fn.Bytes) return toBytes(a)
  if (fn == Fn.Bool) return toBool(a)
  if (fn == Fn.Timestamp) return toTimestamp(a)
  if (fn == Fn.Duration) return toDuration(a)
  if (fn == Fn.Encode) return toBase64(a)
  if (fn == Fn.Decode) return fromBase64(a)
  if (fn == Fn.Of) return ofOptional(a)
  if (fn == Fn.OfNonZero) return isZero(a) ? NONE : ofOptional(a)
  if (fn == Fn.HasValue && a.kind == K.Optional) return ofBool(a.items !== null)
  if (fn == Fn.ValueOf && a.kind == K.Optional) return a.items === null ? fail('optional.none() dereference') : a.items![0]
  if (fn == Fn.Join && a.kind == K.List) return join(a, null)
  if (a.kind != K.String) return noOverload(node.name, a)
  if (fn == Fn.LowerAscii) return recased(a, false)
  if (fn == Fn.UpperAscii) return recased(a, true)
  if (fn == Fn.Trim) return trim(a)
  if (fn == Fn.Reverse) return reverse(a)
  if (fn == Fn.Quote) return quote(a)
  return noOverload(node.name, a)
}

/** A pattern that is a literal was compiled with the expression. */
function matches(node: Node, a: Value, b: Value): Value {
  let regex = node.regex
  if (regex === null) {
    if (isTooMuch((b.length >> 2) as i32)) return tooMuch()
    regex = compileRegex(stringOf(b))
    spend(16 * regex.ops.length)
    if (isTooMuch(regex.ops.length)) return tooMuch()
  }
  if (regex.error.length > 0) return fail(regex.error)
  return ofBool(isFound(regex, a))
}

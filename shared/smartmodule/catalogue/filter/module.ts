/** dps/filter: keeps the records whose field satisfies the configured comparison, or for which an expression (CEL) is true. */
import { compareNumbers, Config, Items, Kind, Path, Record, Slice, kindAt, numberOf, skipChecked, skipSpace, textOf, unescape } from 'dps'
import { leavesBytes } from 'dps/abi'
import { Expression } from '../cel/expression'
import { holds, notACondition } from '../cel/holds'
import { allowRoots, compile, problem } from '../cel/parser'

const enum Operator { Eq, Ne, Gt, Gte, Lt, Lte, In, Contains, StartsWith, EndsWith, Exists }
const NAMES: string[] = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'contains', 'starts_with', 'ends_with', 'exists']

/** A config value, kept in the form the comparison needs. */
class Operand {
  kind: Kind = Kind.Missing
  number: f64 = 0
  bytes: ArrayBuffer = new ArrayBuffer(0)
}

let expression: Expression | null = null
let path: Path = new Path('')
let operator: Operator = Operator.Eq
let operands: Operand[] = []
let wantExists: bool = true
const scratch = new Scratch()

/** A reused buffer for decoding an escaped string. */
class Scratch {
  start: usize = 0
  capacity: usize = 0
  take(length: usize): usize {
    if (length > this.capacity) {
      if (this.start != 0) heap.free(this.start)
      this.capacity = length * 2 + 64
      this.start = heap.alloc(this.capacity)
    }
    return this.start
  }
}

function operandOf(start: usize, end: usize, kind: Kind): Operand {
  const operand = new Operand()
  operand.kind = kind
  if (kind == Kind.Number) {
    operand.number = numberOf(start, end)
    const text = new ArrayBuffer((end - start) as i32)
    memory.copy(changetype<usize>(text), start, end - start)
    operand.bytes = text
  }
  if (kind == Kind.String) operand.bytes = String.UTF8.encode(textOf(start, end))
  return operand
}

/** Such values are never equal here: a filter with one would keep nothing, or all, without a word. */
function isCompound(kind: Kind): bool { return kind == Kind.Object || kind == Kind.Array }
const NO_OBJECTS = ' must be a text, a number, true, false or null: objects and arrays are not compared'

export function init(config: Config): void {
  leavesBytes()
  expression = null
  const given = config.get('expression')
  if (given.kind != Kind.Missing) {
    const shown = config.text('expression')
    allowRoots()
    const node = compile(shown, true)
    expression = new Expression(node, shown, 'expression')
    const why = problem.length > 0 ? ': ' + problem : notACondition(node)
    if (why.length > 0) config.refuse('config.expression' + why)
    const others = config.get('field').kind != Kind.Missing || config.get('operator').kind != Kind.Missing || config.get('value').kind != Kind.Missing
    if (others) config.refuse('config.expression stands alone: leave field, operator and value out')
    return
  }
  path = new Path(config.text('field'))
  const name = config.text('operator')
  const index = NAMES.indexOf(name)
  if (index < 0) {
    config.refuse('config.operator must be one of ' + NAMES.join(', '))
    return
  }
  operator = index
  operands = []
  const value = config.get('value')
  if (operator == Operator.Exists) {
    wantExists = value.kind != Kind.False
    if (wantExists && value.kind != Kind.True && value.kind != Kind.Missing) config.refuse('config.value must be true or false for exists')
    return
  }
  if (value.kind == Kind.Missing) return config.refuse('config.value is required for ' + name)
  if (operator == Operator.In) {
    if (value.kind != Kind.Array) config.refuse('config.value must be an array for in')
    else {
      const items = new Items(value.start, value.end)
      while (items.next()) {
        const kind = kindAt(items.start)
        if (isCompound(kind)) config.refuse('config.value.' + operands.length.toString() + NO_OBJECTS)
        operands.push(operandOf(items.start, items.end, kind))
      }
    }
  } else operands.push(operandOf(value.start, value.end, value.kind))
  const kind = value.kind
  if (operator != Operator.In && isCompound(kind)) config.refuse('config.value' + NO_OBJECTS)
  if ((operator == Operator.StartsWith || operator == Operator.EndsWith) && kind != Kind.String) config.refuse('config.value must be a string for ' + name)
  if ((operator == Operator.Gt || operator == Operator.Gte || operator == Operator.Lt || operator == Operator.Lte) && kind != Kind.String && kind != Kind.Number) {
    config.refuse('config.value must be a number or a string for ' + name)
  }
}

let textStart: usize = 0
let textLength: usize = 0

/** Sets `textStart` and `textLength` to a string value's plain UTF-8; copies it only when it has escapes. */
function openText(start: usize, end: usize): void {
  textStart = start + 1
  textLength = end - start - 2
  for (let p = textStart; p < end - 1; p++) {
    if (load<u8>(p) == 92) {
      const to = scratch.take(textLength + 8)
      textLength = unescape(textStart, end - 1, to) - to
      textStart = to
      return
    }
  }
}

function sameText(operand: Operand): bool {
  const length = operand.bytes.byteLength as usize
  return length == textLength && memory.compare(textStart, changetype<usize>(operand.bytes), length) == 0
}

/** Compares two texts by code points, whose order UTF-8 keeps. */
function compareText(operand: Operand): i32 {
  const length = operand.bytes.byteLength as usize
  const common = length < textLength ? length : textLength
  const order = memory.compare(textStart, changetype<usize>(operand.bytes), common)
  if (order != 0) return order
  return textLength < length ? -1 : textLength > length ? 1 : 0
}

/** Up to this many characters, different numbers have different doubles. */
const SHORT: usize = 15

/** Compares short numbers by their doubles; equal doubles and long numbers are compared by all digits. */
function compareNumber(start: usize, end: usize, operand: Operand): i32 {
  const bytes = changetype<usize>(operand.bytes)
  if (end - start <= SHORT && (operand.bytes.byteLength as usize) <= SHORT) {
    const value = numberOf(start, end)
    if (value < operand.number) return -1
    if (value > operand.number) return 1
  }
  return compareNumbers(start, end, bytes, bytes + (operand.bytes.byteLength as usize))
}

function equals(start: usize, end: usize, kind: Kind, operand: Operand): bool {
  if (kind != operand.kind) return false
  if (kind == Kind.Number) return compareNumber(start, end, operand) == 0
  if (kind == Kind.String) {
    openText(start, end)
    return sameText(operand)
  }
  // Objects and arrays are never equal here; true, false and null equal themselves.
  return kind == Kind.True || kind == Kind.False || kind == Kind.Null
}

function contains(slice: Slice, operand: Operand): bool {
  if (slice.kind == Kind.Array) {
    let p = skipSpace(slice.start + 1, slice.end)
    while (load<u8>(p) != 93) {
      const after = skipChecked(p)
      if (equals(p, after, kindAt(p), operand)) return true
      p = skipSpace(after, slice.end)
      if (load<u8>(p) == 44) p = skipSpace(p + 1, slice.end)
    }
    return false
  }
  if (slice.kind != Kind.String || operand.kind != Kind.String) return false
  openText(slice.start, slice.end)
  const needle = changetype<usize>(operand.bytes)
  const length = operand.bytes.byteLength as usize
  if (length == 0) return true
  const first = load<u8>(needle)
  for (let i: usize = 0; i + length <= textLength; i++) {
    if (load<u8>(textStart + i) == first && memory.compare(textStart + i, needle, length) == 0) return true
  }
  return false
}

export function filter(record: Record): bool {
  if (expression !== null) return holds(record, expression!)
  const slice = record.find(path)
  const kind = slice.kind
  if (operator == Operator.Exists) return (kind != Kind.Missing) == wantExists
  if (kind == Kind.Missing) return operator == Operator.Ne
  if (operator == Operator.In) {
    for (let i = 0; i < operands.length; i++) if (equals(slice.start, slice.end, kind, operands[i])) return true
    return false
  }
  const operand = operands[0]
  if (operator == Operator.Eq) return equals(slice.start, slice.end, kind, operand)
  if (operator == Operator.Ne) return !equals(slice.start, slice.end, kind, operand)
  if (operator == Operator.Contains) return contains(slice, operand)
  if (kind != operand.kind) return false
  if (kind == Kind.Number) {
    const order = compareNumber(slice.start, slice.end, operand)
    if (operator == Operator.Gt) return order > 0
    if (operator == Operator.Gte) return order >= 0
    if (operator == Operator.Lt) return order < 0
    return operator == Operator.Lte && order <= 0
  }
  if (kind != Kind.String) return false
  openText(slice.start, slice.end)
  const length = operand.bytes.byteLength as usize
  if (operator == Operator.StartsWith) return textLength >= length && memory.compare(textStart, changetype<usize>(operand.bytes), length) == 0
  if (operator == Operator.EndsWith) return textLength >= length && memory.compare(textStart + textLength - length, changetype<usize>(operand.bytes), length) == 0
  const order = compareText(operand)
  if (operator == Operator.Gt) return order > 0
  if (operator == Operator.Gte) return order >= 0
  if (operator == Operator.Lt) return order < 0
  return order <= 0
}

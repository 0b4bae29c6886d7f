/** dps/cast: makes numbers, booleans, dates and times of texts, as files and forms have them, field by field. */
import { Config, Items, Kind, Members, Record, Segment, Slice, Writer, hasBackslash, keyEnd, keyEscaped, keyStart, kindAt, memberCount, textOf, unescape, valueEnd, valueStart } from 'dps'
import { NO_MEMBER, addEdit, clearEdits, roomForEdits, values, writeEdits } from 'dps/edits'
import { afterBlanks, beforeBlanks, excerpt } from 'dps/text'
import { formatProblem, putDate, putTimestamp, readFormatted, readIso, tokensOf } from 'dps/time'
import { expectedBy } from './expected'
import { Field, OTHERWISE, Otherwise, TYPES, Type } from './field'

let fields: Field[] = []

function indexIn(list: string[], text: string): i32 {
  for (let i = 0; i < list.length; i++) if (list[i] == text) return i
  return -1
}

let problem: string = ''

function readTexts(start: usize, end: usize): ArrayBuffer[] {
  const list: ArrayBuffer[] = []
  const items = new Items(start, end)
  while (items.next()) if (kindAt(items.start) == Kind.String) list.push(lowered(textOf(items.start, items.end)))
  return list
}

/** The text with its ASCII letters in lower case, as `isIn` compares it. */
function lowered(text: string): ArrayBuffer {
  const bytes = String.UTF8.encode(text)
  const p = changetype<usize>(bytes)
  for (let i = 0; i < bytes.byteLength; i++) {
    const c = load<u8>(p + i)
    if ((c as u32) - 65 < 26) store<u8>(p + i, c | 32)
  }
  return bytes
}

/** The text's only character; 0 where there is none, several, or half of one. */
function one(text: string): u32 {
  if (text.length != 1) return 0
  const c: u32 = text.charCodeAt(0)
  return c >= 0xd800 && c <= 0xdfff ? 0 : c
}

/** Whether what is left out between digits is here. */
@inline
function isThousands(field: Field, p: usize, end: usize): bool {
  const size = field.thousands.byteLength as usize
  return size > 0 && end - p >= size && memory.compare(p, changetype<usize>(field.thousands), size) == 0
}

/** Reads one option of a field. */
function readOption(field: Field, name: string, start: usize, end: usize): void {
  const where = 'config.fields.' + field.name + '.' + name
  if (name == 'true' || name == 'false') {
    if (kindAt(start) != Kind.Array) problem = where + ' must be an array of texts'
    else if (name == 'true') field.yes = readTexts(start, end)
    else field.no = readTexts(start, end)
    return
  }
  if (kindAt(start) != Kind.String) {
    problem = where + ' must be a text'
    return
  }
  const text = textOf(start, end)
  if (name == 'type') {
    const type = indexIn(TYPES, text)
    if (type < 0) problem = where + ' must be one of ' + TYPES.join(', ')
    else field.type = type as Type
  } else if (name == 'on_empty' || name == 'on_failure') {
    const otherwise = indexIn(OTHERWISE, text)
    if (otherwise < 0) problem = where + ' must be one of ' + OTHERWISE.join(', ')
    else if (name == 'on_empty') field.onEmpty = otherwise as Otherwise
    else field.onFailure = otherwise as Otherwise
  } else if (name == 'format') field.format = text
  else if (name == 'decimal_point' || name == 'thousands') {
    const character = one(text)
    const isDigit = character - 48 < 10
    if (character == 0 || isDigit || character == 43 || character == 45 || (name == 'decimal_point' && character > 127))
      problem = where + ' must be one ' + (name == 'decimal_point' ? 'ASCII ' : '') + 'character, and no digit or sign'
    else if (name == 'thousands') field.thousands = String.UTF8.encode(text)
    else field.decimalPoint = character
  } else problem = where + ' is not an option'
}

export function init(config: Config): void {
  fields = []
  const given = config.get('fields')
  if (given.kind != Kind.Object) {
    config.refuse('config.fields must be an object of field: type')
    return
  }
  const members = new Members(given.start, given.end)
  // What is wrong, a line each.
  const faults: string[] = []
  while (members.next()) {
    problem = ''
    readField(members.name, members.start, members.end)
    if (problem.length > 0) faults.push(problem)
  }
  if (faults.length > 0) config.refuse(faults.join('\n'))
  roomForEdits(fields.length)
}

/** Reads what is to become of one field: its type, or an object of options. */
function readField(name: string, from: usize, to: usize): void {
  const field = new Field(name)
  fields.push(field)
  let hasOnEmpty = false
  if (kindAt(from) == Kind.String) readOption(field, 'type', from, to)
  else if (kindAt(from) == Kind.Object) {
    let hasType = false
    const options = new Members(from, to)
    while (problem.length == 0 && options.next()) {
      if (options.name == 'type') hasType = true
      if (options.name == 'on_empty') hasOnEmpty = true
      readOption(field, options.name, options.start, options.end)
    }
    if (problem.length == 0 && !hasType) problem = 'config.fields.' + name + '.type is missing'
  } else problem = 'config.fields.' + name + ' must be a type, or an object with a type'
  if (problem.length > 0) return
  if (field.type == Type.String && !hasOnEmpty) field.onEmpty = Otherwise.Keep
  if (field.type == Type.Boolean && field.yes.length + field.no.length == 0) {
    field.yes = encoded(['true', 't', 'yes', 'y', 'on', '1'])
    field.no = encoded(['false', 'f', 'no', 'n', 'off', '0'])
  }
  const isAbsent = field.onEmpty == Otherwise.Absent || field.onFailure == Otherwise.Absent
  if (isAbsent && field.path.segments.length > 1) problem = 'config.fields.' + name + ': only top-level fields can become absent'
  const isPoint = field.thousands.byteLength == 1 && load<u8>(changetype<usize>(field.thousands)) == (field.decimalPoint as u8)
  if (isPoint && field.type != Type.Integer) problem = 'config.fields.' + name + ': decimal_point and thousands must differ'
  const isTime = field.type == Type.Date || field.type == Type.Timestamp
  if (field.format.length > 0 && !isTime) problem = 'config.fields.' + name + '.format is for dates and timestamps'
  if (field.format.length > 0 && problem.length == 0) {
    field.tokens = tokensOf(field.format)
    if (field.tokens.length == 0) problem = 'config.fields.' + name + '.format ' + formatProblem
  }
  field.expected = expectedBy(field)
}

function encoded(list: string[]): ArrayBuffer[] {
  const result: ArrayBuffer[] = []
  for (let i = 0; i < list.length; i++) result.push(String.UTF8.encode(list[i]))
  return result
}

/** Writes the number that the text is, with all its digits; false where it is none, or none of this type. */
function putNumber(field: Field, p: usize, end: usize, writer: Writer): bool {
  const sign = load<u8>(p)
  if (sign == 43 || sign == 45) p++
  const whole = writer.length
  const isNegative = sign == 45
  if (isNegative) writer.byte(45)
  const first = writer.at - writer.start
  // Digits since the last separator; -1 before the first separator.
  let group = -1
  let count = 0
  let isZero = true
  for (; p < end; p++) {
    const c: u32 = load<u8>(p)
    if (c - 48 < 10) {
      count++
      if (group >= 0) group++
      if (c != 48 || !isZero) {
        isZero = false
        writer.byte(c)
      }
    } else if (isThousands(field, p, end)) {
      // No grouped number begins with 0, which is not written: in 0.123 the point is another country's decimal point.
      const isBegun = count > 0 && writer.length - first == (count as usize)
      if (group >= 0 ? group != 3 : count > 3 || !isBegun) return false
      group = 0
      p += (field.thousands.byteLength as usize) - 1
    } else break
  }
  if (group >= 0 && group != 3) return false
  if (writer.at - writer.start == first) writer.byte(48)
  let places = 0
  if (p < end && load<u8>(p) == (field.decimalPoint as u8)) {
    if (field.type == Type.Integer) return false
    p++
    if (p < end && (load<u8>(p) as u32) - 48 < 10) writer.byte(46)
    for (; p < end && (load<u8>(p) as u32) - 48 < 10; p++) {
      if (load<u8>(p) != 48) isZero = false
      writer.byte(load<u8>(p))
      places++
    }
  }
  if (count + places == 0) return false
  if (p < end && (load<u8>(p) | 32) == 101 && field.type == Type.Number) {
    writer.byte(101)
    p++
    if (p < end && (load<u8>(p) == 43 || load<u8>(p) == 45)) writer.byte(load<u8>(p++))
    const from = p
    for (; p < end && (load<u8>(p) as u32) - 48 < 10; p++) writer.byte(load<u8>(p))
    if (p == from) return false
  }
  // There is no −0 among integers.
  if (isNegative && isZero && field.type == Type.Integer) {
    writer.at = writer.start + whole
    writer.byte(48)
  }
  return p == end
}

function isIn(list: ArrayBuffer[], p: usize, end: usize): bool {
  for (let i = 0; i < list.length; i++) {
    const own = changetype<usize>(list[i])
    const length = list[i].byteLength as usize
    if (length != end - p) continue
    let isSame = true
    for (let k: usize = 0; k < length && isSame; k++) {
      const c = load<u8>(p + k)
      isSame = ((c as u32) - 65 < 26 ? c | 32 : c) == load<u8>(own + k)
    }
    if (isSame) return true
  }
  return false
}

const enum Outcome { Same, Written, Empty, Failed }

let plain: usize = 0
let plainCapacity: usize = 0

/** Casts one value; what is written stands behind what the writer holds already. */
function castValue(field: Field, start: usize, end: usize, writer: Writer): Outcome {
  const kind = kindAt(start)
  if (kind == Kind.Null) return Outcome.Same
  if (kind == Kind.Object || kind == Kind.Array) return Outcome.Failed
  if (kind == Kind.True || kind == Kind.False) {
    if (field.type == Type.Boolean) return Outcome.Same
    if (field.type != Type.String) return Outcome.Failed
  }
  let p = start
  let stop = end
  if (kind == Kind.String) {
    p++
    stop--
    if (hasBackslash(p, stop)) {
      if (plainCapacity < stop - p + 8) {
        plainCapacity = (stop - p) * 2 + 64
        plain = plain == 0 ? heap.alloc(plainCapacity) : heap.realloc(plain, plainCapacity)
      }
      stop = unescape(p, stop, plain)
      p = plain
    }
    p = afterBlanks(p, stop)
    stop = beforeBlanks(p, stop)
    if (p == stop) return Outcome.Empty
  }
  switch (field.type) {
    case Type.Integer:
    case Type.Decimal:
    case Type.Number: {
      // A number that is one already is not written with the separators of texts.
      if (kind == Kind.Number && field.type != Type.Integer) return Outcome.Same
      if (kind == Kind.Number) {
        for (let q = p; q < stop; q++) if ((load<u8>(q) as u32) - 48 >= 10 && load<u8>(q) != 45) return Outcome.Failed
        return Outcome.Same
      }
      return putNumber(field, p, stop, writer) ? Outcome.Written : Outcome.Failed
    }
    case Type.Boolean: {
      const isTrue = isIn(field.yes, p, stop)
      if (!isTrue && !isIn(field.no, p, stop)) return Outcome.Failed
      if (isTrue) writer.bytes(changetype<usize>(TRUE), 4)
      else writer.bytes(changetype<usize>(FALSE), 5)
      return Outcome.Written
    }
    case Type.Date: {
      const isRead = field.tokens.length > 0 ? readFormatted(field.tokens, p, stop) : readIso(p, stop, true)
      if (!isRead) return Outcome.Failed
      writer.byte(34)
      putDate(writer)
      writer.byte(34)
      return Outcome.Written
    }
    case Type.Timestamp: {
      const isRead = field.tokens.length > 0 ? readFormatted(field.tokens, p, stop) : readIso(p, stop, false)
      return isRead && putTimestamp(writer) ? Outcome.Written : Outcome.Failed
    }
    default: {
      if (kind == Kind.String) return Outcome.Same
      writer.quoted(start, end - start)
      return Outcome.Written
    }
  }
}

const TRUE = String.UTF8.encode('true')
const FALSE = String.UTF8.encode('false')
const NULL = String.UTF8.encode('null')

/** The last top-level member of this name, -1 for none. */
function memberOf(name: Segment): i32 {
  for (let i = memberCount - 1; i >= 0; i--) if (name.matches(keyStart(i), keyEnd(i), keyEscaped(i))) return i
  return -1
}

const found = new Slice()

/** Finds the field in the record; the number of its member, -1 for a nested one, -2 where there is none. */
function locate(field: Field, record: Record): i32 {
  const member = memberOf(field.literal)
  if (member >= 0) {
    found.start = valueStart(member)
    found.end = valueEnd(member)
    return member
  }
  if (field.path.segments.length < 2) return -2
  const slice = record.find(field.path)
  found.start = slice.start
  found.end = slice.end
  return slice.kind == Kind.Missing ? -2 : -1
}

/** Casts the field, as far as the record has it; false where the record has failed. */
function castField(field: Field, record: Record): bool {
  const member = locate(field, record)
  if (member == -2) return true
  const start = found.start
  const end = found.end
  const from = values.length
  const outcome = castValue(field, start, end, values)
  if (outcome == Outcome.Same) return true
  if (outcome == Outcome.Written) {
    addEdit(start, end, from, values.length - from, NO_MEMBER)
    return true
  }
  values.at = values.start + from
  const otherwise = outcome == Outcome.Empty ? field.onEmpty : field.onFailure
  if (otherwise == Otherwise.Null) {
    values.bytes(changetype<usize>(NULL), 4)
    addEdit(start, end, from, 4, NO_MEMBER)
  } else if (otherwise == Otherwise.Absent) addEdit(start, end, from, 0, member as usize)
  else if (otherwise == Otherwise.Fail) {
    const what = 'the field ' + field.name + ' is not ' + ARTICLES[field.type] + ': '
    if (outcome == Outcome.Empty) record.fail(what + 'it is empty')
    else record.fail(what + excerpt(start, end) + (field.expected.length > 0 ? '; expected ' + field.expected : ''))
    return false
  }
  return true
}

const ARTICLES: string[] = ['an integer', 'a decimal', 'a number', 'a boolean', 'a date', 'a timestamp', 'a text']

export function map(record: Record): void {
  if (record.kind != Kind.Object) {
    record.fail('the value is not a JSON object')
    return
  }
  clearEdits()
  for (let i = 0; i < fields.length; i++) if (!castField(fields[i], record)) return
  writeEdits(record)
}

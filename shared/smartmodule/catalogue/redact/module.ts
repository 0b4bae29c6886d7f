/** dps/redact: hides fields, and what in texts looks like an e-mail address, a card number or an IBAN: masked, or as a pseudonym. */
import { Config, Kind, Path, Record, Segment, Slice, Writer, closeOf, escapeTo, hasBackslash, keyEnd, keyEscaped, keyStart, kindAt, memberCount, skipChecked, skipSpace, textOf, unescape, valueEnd, valueStart } from 'dps'
import { NO_MEMBER, addEdit, clearEdits, roomForEdits, values, writeEdits } from 'dps/edits'
import { hmac, setKey } from 'dps/sha256'

const enum Action { Mask, Hash, Null, Drop }
const ACTIONS: string[] = ['mask', 'hash', 'null', 'drop']

class Field {
  path: Path
  literal: Segment
  action: Action
  constructor(name: string, action: Action) {
    this.path = new Path(name)
    this.literal = new Segment(name)
    this.action = action
  }
}

let fields: Field[] = []
let hasEmail = false
let hasCard = false
let hasIban = false
/** What becomes of a finding: masked or hashed. */
let isHashed = false

const STARS = String.UTF8.encode('***')
const NULL = String.UTF8.encode('null')

function actionOf(text: string): i32 {
  for (let i = 0; i < ACTIONS.length; i++) if (ACTIONS[i] == text) return i
  return -1
}

export function init(config: Config): void {
  fields = []
  hasEmail = hasCard = hasIban = false
  isHashed = false
  let needsKey = false
  const given = config.get('fields')
  if (given.kind == Kind.Object) {
    const end = given.end
    let p = skipSpace(given.start + 1, end)
    while (load<u8>(p) == 34) {
      const close = closeOf(p + 1)
      const name = textOf(p, close + 1)
      const value = skipSpace(skipSpace(close + 1, end) + 1, end)
      const after = skipChecked(value)
      const action = kindAt(value) == Kind.String ? actionOf(textOf(value, after)) : -1
      if (action < 0) return config.refuse('config.fields.' + name + ' must be one of ' + ACTIONS.join(', '))
      const field = new Field(name, action as Action)
      if (field.action == Action.Drop && field.path.segments.length > 1) return config.refuse('config.fields.' + name + ': only top-level fields can be dropped; null hides a nested one')
      if (field.action == Action.Hash) needsKey = true
      fields.push(field)
      p = skipSpace(after, end)
      if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
    }
  } else if (given.kind != Kind.Missing) return config.refuse('config.fields must be an object of field: action')
  for (let i = 0; ; i++) {
    const item = config.get('detect.' + i.toString())
    if (item.kind == Kind.Missing) break
    const name = item.kind == Kind.String ? textOf(item.start, item.end) : ''
    if (name == 'email') hasEmail = true
    else if (name == 'card') hasCard = true
    else if (name == 'iban') hasIban = true
    else return config.refuse('config.detect.' + i.toString() + ' must be one of email, card, iban')
  }
  const found = config.get('found')
  if (found.kind != Kind.Missing) {
    const action = found.kind == Kind.String ? actionOf(textOf(found.start, found.end)) : -1
    if (action != Action.Mask && action != Action.Hash) return config.refuse('config.found must be mask or hash')
    isHashed = action == Action.Hash
    if (isHashed) needsKey = true
  }
  const key = config.get('key')
  if (needsKey && (key.kind != Kind.String || key.end - key.start < 18)) return config.refuse('config.key must be a text of at least 16 characters: pseudonyms are made with it')
  if (key.kind == Kind.String) {
    const bytes = String.UTF8.encode(textOf(key.start, key.end))
    setKey(changetype<usize>(bytes), bytes.byteLength)
  }
  roomForEdits(fields.length)
  if (fields.length == 0 && !hasEmail && !hasCard && !hasIban) config.refuse('config needs fields or detect')
}

let plain: usize = 0
let plainCapacity: usize = 0

/** The content of a text without escapes, from `plain` on; returns its end. */
function plainOf(start: usize, end: usize): usize {
  const length = end - start
  if (plainCapacity < length + 8) {
    plainCapacity = length * 2 + 64
    plain = plain == 0 ? heap.alloc(plainCapacity) : heap.realloc(plain, plainCapacity)
  }
  return unescape(start, end, plain)
}

/** Writes what hides the value of a field. */
function hide(action: Action, start: usize, end: usize, writer: Writer): void {
  if (action == Action.Null) writer.bytes(changetype<usize>(NULL), 4)
  else if (action == Action.Mask) {
    writer.byte(34)
    writer.bytes(changetype<usize>(STARS), 3)
    writer.byte(34)
  } else {
    // A text by what it says, anything else by how it is written.
    let p = start
    let stop = end
    if (kindAt(start) == Kind.String) {
      stop = plainOf(start + 1, end - 1)
      p = plain
    }
    writer.room(66)
    writer.byte(34)
    writer.at = hmac(p, stop - p, writer.at)
    writer.byte(34)
  }
}

// @ts-ignore: decorator
@inline
function isDigit(c: u32): bool { return c - 48 < 10 }
// @ts-ignore: decorator
@inline
function isLetter(c: u32): bool { return (c | 32) - 97 < 26 }
function isLocal(c: u32): bool { return isDigit(c) || isLetter(c) || c == 46 || c == 95 || c == 37 || c == 43 || c == 45 }
function isHost(c: u32): bool { return isDigit(c) || isLetter(c) || c == 46 || c == 45 }

/** Where the finding that starts at `p` ends; 0 where none does. `from` is where the text begins. */
function emailAt(p: usize, from: usize, end: usize): usize {
  if (p > from && isLocal(load<u8>(p - 1))) return 0
  let at = p
  while (at < end && isLocal(load<u8>(at))) at++
  if (at == p || at >= end || load<u8>(at) != 64) return 0
  let q = at + 1
  while (q < end && isHost(load<u8>(q))) q++
  while (q > at + 1 && (load<u8>(q - 1) == 46 || load<u8>(q - 1) == 45)) q--
  // The last label: two letters or more behind a dot.
  let dot = q
  while (dot > at + 1 && isLetter(load<u8>(dot - 1))) dot--
  return q - dot >= 2 && dot > at + 2 && load<u8>(dot - 1) == 46 ? q : 0
}

/** 13 to 19 digits, in groups or not, whose last one is right by Luhn's rule (ISO/IEC 7812-1). */
function cardAt(p: usize, from: usize, end: usize): usize {
  if (!isDigit(load<u8>(p)) || (p > from && (isDigit(load<u8>(p - 1)) || isLetter(load<u8>(p - 1))))) return 0
  let digits = 0
  let last: usize = 0
  // The sum with every second digit doubled, counted from either end: which one is right is known at the end.
  let odd = 0
  let even = 0
  let q = p
  while (q < end && digits <= 19) {
    const c: u32 = load<u8>(q)
    if (isDigit(c)) {
      const value = (c - 48) as i32
      const doubled = value * 2 > 9 ? value * 2 - 9 : value * 2
      if (digits % 2 == 0) {
        even += doubled
        odd += value
      } else {
        even += value
        odd += doubled
      }
      digits++
      last = ++q
    } else if ((c == 32 || c == 45) && q + 1 < end && isDigit(load<u8>(q + 1))) q++
    else break
  }
  if (digits < 13 || digits > 19 || (last < end && isLetter(load<u8>(last)))) return 0
  const sum = digits % 2 == 0 ? even : odd
  return sum % 10 == 0 ? last : 0
}

/** Two letters, two digits and 11 to 30 letters or digits, in groups or not, that are right by ISO 13616 (a rest of 1 by 97). */
function ibanAt(p: usize, from: usize, end: usize): usize {
  if (p > from && (isDigit(load<u8>(p - 1)) || isLetter(load<u8>(p - 1)))) return 0
  if (end - p < 15 || !isLetter(load<u8>(p)) || !isLetter(load<u8>(p, 1)) || !isDigit(load<u8>(p, 2)) || !isDigit(load<u8>(p, 3))) return 0
  let q = p + 4
  let count = 0
  let rest = 0
  let found: usize = 0
  while (q < end && count < 30) {
    const c: u32 = load<u8>(q)
    if (c == 32 && q + 1 < end && (isDigit(load<u8>(q + 1)) || isLetter(load<u8>(q + 1)))) {
      q++
      continue
    }
    if (!isDigit(c) && !isLetter(c)) break
    rest = isDigit(c) ? (rest * 10 + (c - 48)) % 97 : (rest * 100 + ((c | 32) - 87)) % 97
    count++
    q++
    const isWhole = q >= end || !(isDigit(load<u8>(q)) || isLetter(load<u8>(q)))
    if (count < 11 || !isWhole) continue
    let check = rest
    for (let i = 0; i < 4; i++) {
      const d: u32 = load<u8>(p + i)
      check = isDigit(d) ? (check * 10 + (d - 48)) % 97 : (check * 100 + ((d | 32) - 87)) % 97
    }
    if (check == 1) found = q
  }
  return found
}

function findingAt(p: usize, from: usize, end: usize): usize {
  if (hasIban) {
    const stop = ibanAt(p, from, end)
    if (stop != 0) return stop
  }
  if (hasCard) {
    const stop = cardAt(p, from, end)
    if (stop != 0) return stop
  }
  return hasEmail ? emailAt(p, from, end) : 0
}

/** Writes a text without what was found in it; false, and nothing is written, where nothing was. Both ends are of its content. */
function writeText(start: usize, end: usize, writer: Writer): bool {
  let from = start
  let stop = end
  if (hasBackslash(start, end)) {
    stop = plainOf(start, end)
    from = plain
  }
  let copied = from
  let hasFound = false
  for (let p = from; p < stop; ) {
    const after = findingAt(p, from, stop)
    if (after == 0) {
      p++
      continue
    }
    if (!hasFound) writer.byte(34)
    hasFound = true
    putEscaped(copied, p, writer)
    if (isHashed) {
      writer.room(64)
      writer.at = hmac(p, after - p, writer.at)
    } else writer.bytes(changetype<usize>(STARS), 3)
    p = after
    copied = after
  }
  if (!hasFound) return false
  putEscaped(copied, stop, writer)
  writer.byte(34)
  return true
}

function putEscaped(start: usize, end: usize, writer: Writer): void {
  writer.room((end - start) * 6)
  writer.at = escapeTo(start, end, writer.at)
}

/** Writes the whole value with its texts redacted, and what is no text as it is. True when anything was found. */
function writeRedacted(start: usize, end: usize, writer: Writer): bool {
  let copied = start
  let hasFound = false
  for (let p = start; p < end; ) {
    if (load<u8>(p) != 34) {
      p++
      continue
    }
    const close = closeOf(p + 1)
    scratch.clear()
    if (writeText(p + 1, close, scratch)) {
      writer.bytes(copied, p - copied)
      writer.bytes(scratch.start, scratch.length)
      copied = close + 1
      hasFound = true
    }
    p = close + 1
  }
  writer.bytes(copied, end - copied)
  return hasFound
}

const scratch = new Writer()

function memberOf(name: Segment): i32 {
  for (let i = memberCount - 1; i >= 0; i--) if (name.matches(keyStart(i), keyEnd(i), keyEscaped(i))) return i
  return -1
}

function hideField(field: Field, record: Record): void {
  const member = memberOf(field.literal)
  let start: usize = 0
  let end: usize = 0
  if (member >= 0) {
    start = valueStart(member)
    end = valueEnd(member)
  } else {
    if (field.path.segments.length < 2) return
    const slice: Slice = record.find(field.path)
    if (slice.kind == Kind.Missing) return
    start = slice.start
    end = slice.end
  }
  if (field.action == Action.Drop) return addEdit(start, end, 0, 0, member as usize)
  if (kindAt(start) == Kind.Null) return
  const from = values.length
  hide(field.action, start, end, values)
  addEdit(start, end, from, values.length - from, NO_MEMBER)
}

export function map(record: Record): void {
  if (fields.length > 0) {
    if (record.kind != Kind.Object) return record.fail('the value is not a JSON object')
    clearEdits()
    for (let i = 0; i < fields.length; i++) hideField(fields[i], record)
    writeEdits(record)
  }
  if (!hasEmail && !hasCard && !hasIban) return
  const writer = record.writer()
  if (writeRedacted(record.start, record.end, writer)) record.commit(writer)
}

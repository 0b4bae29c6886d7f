/** dps/redact: hides fields, and what in texts looks like an e-mail address, a card number or an IBAN: masked, or as a pseudonym. */
import { Config, Items, Kind, Members, Path, Record, Segment, Writer, closeOf, escapeTo, hasBackslash, keyEnd, keyEscaped, keyStart, kindAt, memberCount, skipChecked, skipSpace, textOf, unescape, valueEnd, valueStart } from 'dps'
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
    const members = new Members(given.start, given.end)
    while (members.next()) {
      const name = members.name
      const action = kindAt(members.start) == Kind.String ? actionOf(textOf(members.start, members.end)) : -1
      if (action < 0) return config.refuse('config.fields.' + name + ' must be one of ' + ACTIONS.join(', '))
      const field = new Field(name, action as Action)
      if (field.action == Action.Drop && field.path.segments.length > 1) return config.refuse('config.fields.' + name + ': only top-level fields can be dropped; null hides a nested one')
      if (field.action == Action.Hash) needsKey = true
      fields.push(field)
    }
  } else if (given.kind != Kind.Missing) return config.refuse('config.fields must be an object of field: action')
  const detect = config.get('detect')
  const items = new Items(detect.start, detect.end)
  for (let i = 0; items.next(); i++) {
    const name = kindAt(items.start) == Kind.String ? textOf(items.start, items.end) : ''
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
  // The longest name of a host that ends in a label of letters alone, or in one of punycode.
  let found: usize = 0
  let label = at + 1
  let dots = 0
  let isWord = true
  for (let q = at + 1; q <= end; q++) {
    const c: u32 = q < end ? load<u8>(q) : 0
    const isPart = isHost(c)
    if (!isPart || c == 46 || c == 45) {
      const length = q - label
      const isPunycode = length > 4 && (load<u32>(label) | 0x2020) == 0x2d2d6e78
      if (dots > 0 && ((isWord && length >= 2) || (isPunycode && c != 45))) found = q
      if (!isPart) return found
      if (c == 46) {
        if (length == 0) return found
        dots++
        label = q + 1
        isWord = true
        continue
      }
    }
    if (!isLetter(c)) isWord = false
  }
  return found
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
      q++
      const isEnd = q >= end || !(isDigit(load<u8>(q)) || isLetter(load<u8>(q)))
      // The longest one that is right: more digits may follow behind a space.
      if (isEnd && digits >= 13 && digits <= 19 && (digits % 2 == 0 ? even : odd) % 10 == 0) last = q
    } else if ((c == 32 || c == 45) && q + 1 < end && isDigit(load<u8>(q + 1))) q++
    else break
  }
  return last
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
    // What stands directly behind a finding begins anew.
    const after = findingAt(p, copied, stop)
    if (after == 0) {
      p++
      continue
    }
    if (!hasFound) writer.byte(34)
    hasFound = true
    putEscaped(copied, p, writer)
    if (writer.length > OUTPUT_MAX) {
      isTooLarge = true
      return false
    }
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

/** In pieces: room is made for the longest escapes. */
function putEscaped(start: usize, end: usize, writer: Writer): void {
  while (start < end) {
    const stop = min(start + PIECE, end)
    writer.room((stop - start) * 6)
    writer.at = escapeTo(start, stop, writer.at)
    start = stop
  }
}

const PIECE: usize = 4096
/** Pseudonyms are longer than what they hide, and memory is bounded. */
const OUTPUT_MAX: usize = 8 << 20
let isTooLarge = false

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

/** Hides the field's values in an object or array from the path's segment `depth` on; a name that is repeated names all its values. */
function hideBelow(field: Field, depth: i32, start: usize, end: usize): void {
  if (depth == field.path.segments.length) return hideValue(field, start, end, NO_MEMBER)
  const segment = field.path.segments[depth]
  const kind = kindAt(start)
  if (kind != Kind.Object && kind != Kind.Array) return
  let p = skipSpace(start + 1, end)
  for (let index = 0; load<u8>(p) != 125 && load<u8>(p) != 93; index++) {
    let isNamed = index == segment.index
    if (kind == Kind.Object) {
      const close = closeOf(p + 1)
      isNamed = segment.matches(p + 1, close, hasBackslash(p + 1, close))
      p = skipSpace(skipSpace(close + 1, end) + 1, end)
    }
    const after = skipChecked(p)
    if (isNamed) hideBelow(field, depth + 1, p, after)
    p = skipSpace(after, end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
}

function hideValue(field: Field, start: usize, end: usize, member: usize): void {
  if (field.action == Action.Drop) return addEdit(start, end, 0, 0, member)
  if (kindAt(start) == Kind.Null) return
  const from = values.length
  hide(field.action, start, end, values)
  addEdit(start, end, from, values.length - from, NO_MEMBER)
}

/** Hides a field wherever it is: under its whole name, or along its path. */
function hideField(field: Field, record: Record): void {
  const isPath = field.path.segments.length > 1
  for (let i = 0; i < memberCount; i++) {
    if (field.literal.matches(keyStart(i), keyEnd(i), keyEscaped(i))) hideValue(field, valueStart(i), valueEnd(i), i as usize)
    else if (isPath && field.path.segments[0].matches(keyStart(i), keyEnd(i), keyEscaped(i))) hideBelow(field, 1, valueStart(i), valueEnd(i))
  }
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
  isTooLarge = false
  const hasFound = writeRedacted(record.start, record.end, writer)
  if (isTooLarge) record.fail('the record would become too large with all that is to be hidden in it')
  else if (hasFound) record.commit(writer)
}

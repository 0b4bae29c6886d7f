/** Dotted paths (`customer.address.city`, `items.0.sku`) into a checked document. */
import { Kind, closeOf, kindAt, skipChecked, skipSpace } from './json'
import { hasBackslash, hasEscapedKeys, keyEnd, keyEscaped, keyStart, memberCount, shape, valueEnd, valueStart } from './last-document'
import { unescape } from './text'

/** The result of `find`: the bytes of a value inside the record, valid until the next record. */
export class Slice {
  start: usize = 0
  end: usize = 0
  kind: Kind = Kind.Missing
}

/** One name of a path, as UTF-8 bytes, and as an array index where it is one. */
export class Segment {
  bytes: ArrayBuffer
  index: i32 = -1
  length: usize = 0
  /** Where the member of this name was in the documents of a shape. */
  shape: u32 = 0
  member: i32 = -1
  constructor(name: string) {
    this.bytes = String.UTF8.encode(name)
    this.length = this.bytes.byteLength
    // 01 is a name, and no index.
    let index = name.length > 0 && name.length < 10 && (name.length == 1 || name.charCodeAt(0) != 48) ? 0 : -1
    for (let i = 0; i < name.length && index >= 0; i++) {
      const c = name.charCodeAt(i) - 48
      index = c >= 0 && c < 10 ? index * 10 + c : -1
    }
    this.index = index
  }

  /** Becomes these bytes, as a name alone. */
  take(p: usize, length: usize): void {
    if ((this.bytes.byteLength as usize) < length) this.bytes = new ArrayBuffer((length * 2 + 16) as i32)
    memory.copy(changetype<usize>(this.bytes), p, length)
    this.length = length
    this.index = -1
    this.shape = 0
  }

  /** True when the checked key content [p, end) is this name. */
  matches(p: usize, end: usize, escaped: bool): bool {
    const length = this.length
    if (!escaped) {
      if (end - p != length) return false
      const own = changetype<usize>(this.bytes)
      // Names are short: a loop beats a call.
      for (let i: usize = 0; i < length; i++) if (load<u8>(p + i) != load<u8>(own + i)) return false
      return true
    }
    const scratch = heap.alloc(end - p + 8)
    const stop = unescape(p, end, scratch)
    const same = stop - scratch == length && memory.compare(scratch, changetype<usize>(this.bytes), length) == 0
    heap.free(scratch)
    return same
  }
}

/**
 * A path, split once at start-up. Build it in `init`, never per record. A top-level member whose name is the whole text wins: names may
 * contain dots, as dps/flatten's do.
 */
export class Path {
  segments: Segment[] = []
  /** The whole text as one name; null for one without a dot. */
  whole: Segment | null = null
  constructor(text: string) {
    const names = text.split('.')
    for (let i = 0; i < names.length; i++) this.segments.push(new Segment(names[i]))
    if (names.length > 1) this.whole = new Segment(text)
  }
}

/** Index of the top-level member with this name, the last one when it is repeated (as in JSON.parse), -1 when there is none. */
// @ts-ignore: decorator
@inline
export function findMember(segment: Segment): i32 {
  return shape != 0 && segment.shape == shape ? segment.member : searchMember(segment)
}

function searchMember(segment: Segment): i32 {
  let i = memberCount - 1
  const length = segment.length
  // Most keys have another length: looking at that first, here, costs less than a call for each.
  while (i >= 0 && ((!hasEscapedKeys && keyEnd(i) - keyStart(i) != length) || !segment.matches(keyStart(i), keyEnd(i), keyEscaped(i)))) i--
  segment.shape = shape
  segment.member = i
  return i
}

/** Whether two members of the last parsed object have the same name, however it is written: escapes count as what they stand for. */
export function isSameName(a: i32, b: i32): bool {
  if (keyEscaped(a) || keyEscaped(b)) {
    const first = heap.alloc(keyEnd(a) - keyStart(a) + 8)
    const second = heap.alloc(keyEnd(b) - keyStart(b) + 8)
    const size = unescape(keyStart(a), keyEnd(a), first) - first
    const isSame = unescape(keyStart(b), keyEnd(b), second) - second == size && memory.compare(first, second, size) == 0
    heap.free(first)
    heap.free(second)
    return isSame
  }
  const length = keyEnd(a) - keyStart(a)
  return keyEnd(b) - keyStart(b) == length && memory.compare(keyStart(a), keyStart(b), length) == 0
}

/** Up to here each name is compared with each: that is quicker than a table of them. */
const PAIRED_MAX = 16
/** Names by their hashes (open addressing): a member's number plus 1, 0 for a free place. Kept from record to record. */
let places: StaticArray<u32> = new StaticArray<u32>(0)
/** A name without its escapes. */
let plain: usize = 0
let plainCapacity: usize = 0

function nameHash(i: i32): u32 {
  let p = keyStart(i)
  let end = keyEnd(i)
  if (keyEscaped(i)) {
    if (plainCapacity < end - p + 8) {
      plainCapacity = (end - p) * 2 + 64
      plain = plain == 0 ? heap.alloc(plainCapacity) : heap.realloc(plain, plainCapacity)
    }
    end = unescape(p, end, plain)
    p = plain
  }
  let hash: u32 = 0x811c9dc5
  for (; p < end; p++) hash = (hash ^ load<u8>(p)) * 0x01000193
  return hash ^ (hash >>> 15)
}

/** Places looked at for each member beyond which the names must have been chosen to have the same hashes. */
const LOOKS_MAX = 8
/** By member, where its name without escapes starts; behind the last one, where that ends. */
let starts: StaticArray<usize> = new StaticArray<usize>(0)

function compareNames(a: i32, b: i32): i32 {
  const first = starts[a + 1] - starts[a]
  const second = starts[b + 1] - starts[b]
  const order = memory.compare(starts[a], starts[b], first < second ? first : second)
  return order != 0 ? order : ((first > second) as i32) - ((first < second) as i32)
}

/** Like `twinMember`, in a time that no choice of names makes longer: they are sorted. */
function twinOfSorted(): i32 {
  let bytes: usize = 8
  for (let i = 0; i < memberCount; i++) bytes += keyEnd(i) - keyStart(i)
  const names = heap.alloc(bytes)
  starts = new StaticArray<usize>(memberCount + 1)
  const order = new StaticArray<i32>(memberCount)
  let to = names
  for (let i = 0; i < memberCount; i++) {
    order[i] = i
    starts[i] = to
    if (keyEscaped(i)) to = unescape(keyStart(i), keyEnd(i), to)
    else {
      memory.copy(to, keyStart(i), keyEnd(i) - keyStart(i))
      to += keyEnd(i) - keyStart(i)
    }
  }
  starts[memberCount] = to
  order.sort(compareNames)
  let twin = -1
  for (let i = 1; twin < 0 && i < memberCount; i++) if (compareNames(order[i - 1], order[i]) == 0) twin = order[i]
  heap.free(names)
  return twin
}

/** A member of the last parsed object that has the same name as another one; -1 if there is none. */
export function twinMember(): i32 {
  if (memberCount <= PAIRED_MAX) {
    for (let i = 1; i < memberCount; i++) for (let k = 0; k < i; k++) if (isSameName(k, i)) return i
    return -1
  }
  let size = 64
  while (size < memberCount * 2) size <<= 1
  if (places.length < size) places = new StaticArray<u32>(size)
  else memory.fill(changetype<usize>(places), 0, (size as usize) << 2)
  const mask = (size - 1) as u32
  let looks = LOOKS_MAX * memberCount
  for (let i = 0; i < memberCount; i++) {
    let at = nameHash(i) & mask
    for (; unchecked(places[at]) != 0; at = (at + 1) & mask) {
      if (isSameName((unchecked(places[at]) - 1) as i32, i)) return i
      if (--looks < 0) return twinOfSorted()
    }
    unchecked((places[at] = (i + 1) as u32))
  }
  return -1
}

/** Whether any two members of the last parsed object have the same name. */
export function hasTwins(): bool { return twinMember() >= 0 }

/** Fills `into` with the value at `path` of the last parsed document whose top level is an object. */
export function findPath(path: Path, into: Slice): bool {
  into.kind = Kind.Missing
  const whole = path.whole
  if (whole !== null) {
    const member = findMember(whole)
    if (member >= 0) {
      into.start = valueStart(member)
      into.end = valueEnd(member)
      into.kind = kindAt(into.start)
      return true
    }
  }
  const first = findMember(path.segments[0])
  if (first < 0) return false
  let start = valueStart(first)
  let end = valueEnd(first)
  for (let i = 1; i < path.segments.length; i++) {
    if (!findIn(start, path.segments[i], into)) return false
    start = into.start
    end = into.end
  }
  into.start = start
  into.end = end
  into.kind = kindAt(start)
  return true
}

/** Fills `into` with the member, or the item, of the checked object or array at `p`; its kind is left out. */
export function findIn(p: usize, segment: Segment, into: Slice): bool {
  const kind = kindAt(p)
  into.kind = Kind.Missing
  if (kind == Kind.Array) {
    if (segment.index < 0) return false
    p = skipSpace(p + 1, usize.MAX_VALUE)
    for (let i = 0; load<u8>(p) != 93; i++) {
      const after = skipChecked(p)
      if (i == segment.index) {
        into.start = p
        into.end = after
        return true
      }
      // Only what another step says of an array that is none ends like this.
      if (after == p) return false
      p = skipSpace(after, usize.MAX_VALUE)
      if (load<u8>(p) == 44) p = skipSpace(p + 1, usize.MAX_VALUE)
    }
    return false
  }
  if (kind != Kind.Object) return false
  let found = false
  p = skipSpace(p + 1, usize.MAX_VALUE)
  while (load<u8>(p) == 34) {
    const key = p + 1
    const close = closeOf(key)
    p = skipSpace(close + 1, usize.MAX_VALUE)
    p = skipSpace(p + 1, usize.MAX_VALUE)
    const after = skipChecked(p)
    if (segment.matches(key, close, hasBackslash(key, close))) {
      into.start = p
      into.end = after
      found = true
    }
    p = skipSpace(after, usize.MAX_VALUE)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, usize.MAX_VALUE)
  }
  return found
}

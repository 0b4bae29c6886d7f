/** dps/map-fields: renames, drops, sets, re-cases and trims fields of a JSON object, nested ones by dotted paths. */
import { NOTHING, Node, clearNodes, dropAt, isStructural, joinTwins, nodeAt, renameAt, root, setAt, sets, settleTwins } from './node'
import { Config, Items, Kind, Members, Record, Segment, Writer, closeOf, hasBackslash, keyEnd, keyEscaped, keyStart, kindAt, memberCount, skipChecked, skipSpace, textOf, valueEnd, valueStart } from 'dps'

function parentOf(path: string): string {
  const dot = path.lastIndexOf('.')
  return dot < 0 ? '' : path.substring(0, dot)
}

function copyOf(start: usize, end: usize): ArrayBuffer {
  const buffer = new ArrayBuffer((end - start) as i32)
  memory.copy(changetype<usize>(buffer), start, end - start)
  return buffer
}

let problem: string = ''

function texts(config: Config, name: string): string[] {
  const list: string[] = []
  const slice = config.get(name)
  if (slice.kind == Kind.Missing) return list
  if (slice.kind != Kind.Array) {
    config.refuse('config.' + name + ' must be an array of field names')
    return list
  }
  const items = new Items(slice.start, slice.end)
  while (items.next()) {
    if (kindAt(items.start) != Kind.String) {
      config.refuse('config.' + name + '.' + list.length.toString() + ' must be a field name')
      break
    }
    list.push(textOf(items.start, items.end))
  }
  return list
}

export function init(config: Config): void {
  clearNodes()
  problem = ''
  const rename = config.get('rename')
  if (rename.kind == Kind.Object) {
    const members = new Members(rename.start, rename.end)
    const names = new Map<string, string>()
    while (members.next()) {
      const key = members.name
      if (kindAt(members.start) != Kind.String) problem = 'config.rename.' + key + ' must be a field name'
      else {
        const to = textOf(members.start, members.end)
        if (parentOf(to) != parentOf(key)) problem = 'config.rename.' + key + ' must stay in the same object: ' + to + ' is elsewhere'
        if (names.has(to)) problem = 'config.rename.' + key + ' must be another name: ' + names.get(to) + ' becomes ' + to + ' too'
        names.set(to, key)
        renameAt(key, to)
      }
    }
  } else if (rename.kind != Kind.Missing) config.refuse('config.rename must be an object of old: new names')
  const set = config.get('set')
  if (set.kind == Kind.Object) {
    const members = new Members(set.start, set.end)
    while (members.next()) setAt(members.name, copyOf(members.start, members.end))
  } else if (set.kind != Kind.Missing) config.refuse('config.set must be an object of field: value')
  const drop = texts(config, 'drop')
  for (let i = 0; i < drop.length; i++) dropAt(drop[i])
  const upper = texts(config, 'uppercase')
  for (let i = 0; i < upper.length; i++) nodeAt(upper[i]).upper = true
  const lower = texts(config, 'lowercase')
  for (let i = 0; i < lower.length; i++) nodeAt(lower[i]).lower = true
  const trim = texts(config, 'trim')
  for (let i = 0; i < trim.length; i++) nodeAt(trim[i]).trim = true
  if (problem.length > 0) config.refuse(problem)
  joinTwins()
}

/** The node for a key without escapes, or null. */
function plainNodeFor(parent: Node, key: usize, close: usize): Node | null {
  const children = parent.children
  for (let i = 0, count = children.length; i < count; i++) {
    const node = unchecked(children[i])
    if (node.name.matches(key, close, false)) return node
  }
  return null
}

/** The node for a key, or null. Keys with escapes are compared decoded. */
function nodeFor(parent: Node, key: usize, close: usize): Node | null {
  const plain = plainNodeFor(parent, key, close)
  if (plain !== null) return plain
  const children = parent.children
  if (children.length == 0 || !hasBackslash(key, close)) return null
  for (let i = 0; i < children.length; i++) if (children[i].name.matches(key, close, true)) return children[i]
  return null
}

/** True when [p, end) is all ASCII without a backslash, so that it can be re-cased byte by byte. */
function isPlain(p: usize, end: usize): bool {
  const backslash = i8x16.splat(92)
  for (; p + 16 <= end; p += 16) {
    const v = v128.load(p)
    if (i8x16.bitmask(v128.or(v, i8x16.eq(v, backslash)))) return false
  }
  for (; p < end; p++) {
    const c = load<u8>(p)
    if (c >= 128 || c == 92) return false
  }
  return true
}

/** Writes the value of one field as its node demands, and with what is set in it. */
function writeValue(node: Node, setting: Node, start: usize, end: usize, writer: Writer): void {
  const kind = kindAt(start)
  if (kind == Kind.Object && (node.children.length > 0 || setting.children.length > 0)) {
    writeObject(node, setting, start, end, writer)
    return
  }
  if (kind != Kind.String || !(node.upper || node.lower || node.trim)) {
    writer.bytes(start, end - start)
    return
  }
  let p = start + 1
  let stop = end - 1
  if (!isPlain(p, stop)) {
    let text = textOf(start, end)
    // AssemblyScript's `trim()` stops half-way through the white space in front.
    if (node.trim) text = text.trimStart().trimEnd()
    if (node.upper) text = text.toUpperCase()
    if (node.lower) text = text.toLowerCase()
    writer.text(text)
    return
  }
  if (node.trim) {
    while (p < stop && load<u8>(p) == 32) p++
    while (stop > p && load<u8>(stop - 1) == 32) stop--
  }
  writer.room(stop - p + 18)
  store<u8>(writer.at++, 34)
  const to = writer.at
  const length = stop - p
  if (node.upper || node.lower) {
    // Letters between the bounds get their case bit flipped.
    const low = i8x16.splat(node.lower ? 64 : 96)
    const high = i8x16.splat(node.lower ? 91 : 123)
    const bit = i8x16.splat(32)
    for (let i: usize = 0; i < length; i += 16) {
      const v = v128.load(p + i)
      v128.store(to + i, v128.xor(v, v128.and(v128.and(i8x16.gt_s(v, low), i8x16.lt_s(v, high)), bit)))
    }
  } else memory.copy(to, p, length)
  writer.at = to + length
  writer.byte(34)
}

/** Writes one member under its (new) name, after a `,` unless it is the first; nothing if it is dropped, set or replaced. */
function writeMember(parent: Node, setting: Node, key: usize, close: usize, start: usize, end: usize, writer: Writer, first: bool): bool {
  const node = nodeFor(parent, key, close)
  if (node !== null && node.drop) return first
  let to: Segment | null = null
  if (node !== null) to = node.renamedTo
  if (to === null && isReplaced(parent, key, close)) return first
  let within: Node | null = null
  if (setting.children.length > 0) {
    if (to === null) within = nodeFor(setting, key, close)
    else within = plainNodeFor(setting, changetype<usize>(to.bytes), changetype<usize>(to.bytes) + to.length)
  }
  if (within !== null) {
    if (within.set !== null) return first
    within.isThere = true
  }
  if (!first) writer.byte(44)
  if (to !== null) writer.bytes(changetype<usize>(node!.renamed!), node!.renamed!.byteLength)
  else writer.bytes(key - 1, close - key + 2)
  writer.byte(58)
  if (node === null && within === null) writer.bytes(start, end - start)
  else writeValue(node === null ? NOTHING : node, within === null ? NOTHING : within, start, end, writer)
  return false
}

/** True when another member that is present is renamed to this name. */
function isReplaced(parent: Node, key: usize, close: usize): bool {
  const children = parent.children
  for (let i = 0; i < children.length; i++) {
    const node = children[i]
    if (node.renamedTo !== null && node.isThere && node.renamedTo!.matches(key, close, hasBackslash(key, close))) return true
  }
  return false
}

/** Marks which fields of the node the object has. */
function markPresent(node: Node, start: usize, end: usize): void {
  const children = node.children
  for (let i = 0; i < children.length; i++) children[i].isThere = false
  let p = skipSpace(start + 1, end)
  while (load<u8>(p) == 34) {
    const close = closeOf(p + 1)
    const child = nodeFor(node, p + 1, close)
    if (child !== null) child.isThere = true
    let value = skipSpace(close + 1, end)
    value = skipSpace(value + 1, end)
    p = skipSpace(skipChecked(value), end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
}

/** Writes the fields of `set`, and the objects that contain them where those are missing: all of them in an object that `isNew`. */
function writeSets(setting: Node, isNew: bool, writer: Writer, first: bool): void {
  for (let i = 0; i < setting.children.length; i++) {
    const child = setting.children[i]
    if (child.set === null && ((!isNew && child.isThere) || !hasSets(child))) continue
    if (!first) writer.byte(44)
    first = false
    writer.quoted(changetype<usize>(child.name.bytes), child.name.bytes.byteLength)
    writer.byte(58)
    if (child.set !== null) writer.bytes(changetype<usize>(child.set!), child.set!.byteLength)
    else {
      writer.byte(123)
      writeSets(child, true, writer, true)
      writer.byte(125)
    }
  }
}

function hasSets(node: Node): bool {
  for (let i = 0; i < node.children.length; i++) if (node.children[i].set !== null || hasSets(node.children[i])) return true
  return false
}

function hasRenames(node: Node): bool {
  for (let i = 0; i < node.children.length; i++) if (node.children[i].renamed !== null) return true
  return false
}

/** Writes an object as its node demands, and with what is set in it. */
function writeObject(node: Node, setting: Node, start: usize, end: usize, writer: Writer): void {
  if (hasRenames(node)) markPresent(node, start, end)
  for (let i = 0; i < setting.children.length; i++) setting.children[i].isThere = false
  writer.byte(123)
  let first = true
  let p = skipSpace(start + 1, end)
  while (load<u8>(p) == 34) {
    const key = p + 1
    const close = closeOf(key)
    let value = skipSpace(close + 1, end)
    value = skipSpace(value + 1, end)
    const after = skipChecked(value)
    first = writeMember(node, setting, key, close, value, after, writer, first)
    p = skipSpace(after, end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
  writeSets(setting, false, writer, first)
  writer.byte(125)
}

/** Writes the record when only values change: the bytes between them are copied in runs. */
function spliceValues(record: Record, writer: Writer): void {
  let copied = record.start
  for (let i = 0; i < memberCount; i++) {
    const node = keyEscaped(i) ? nodeFor(root, keyStart(i), keyEnd(i)) : plainNodeFor(root, keyStart(i), keyEnd(i))
    if (node === null) continue
    writer.bytes(copied, valueStart(i) - copied)
    writeValue(node, NOTHING, valueStart(i), valueEnd(i), writer)
    copied = valueEnd(i)
  }
  writer.bytes(copied, record.end - copied)
}

export function map(record: Record): void {
  if (record.kind != Kind.Object) {
    record.fail('the value is not a JSON object')
    return
  }
  settleTwins()
  const writer = record.writer()
  writer.room(record.end - record.start + 64)
  if (isStructural) writeObject(root, sets, skipSpace(record.start, record.end), record.end, writer)
  else spliceValues(record, writer)
  record.commit(writer)
}

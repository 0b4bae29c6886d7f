/** dps/map-fields: renames, drops, sets, re-cases and trims fields of a JSON object, nested ones by dotted paths. */
import { clearNodes, nodeAt, renameAt, root, settleTwins, Node } from './node'
import { Config, Kind, Members, Record, Segment, Writer, closeOf, hasBackslash, keyEnd, keyEscaped, keyStart, kindAt, memberCount, skipChecked, skipSpace, textOf, valueEnd, valueStart } from 'dps'

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
  for (let i = 0; ; i++) {
    const item = config.get(name + '.' + i.toString())
    if (item.kind == Kind.Missing) break
    if (item.kind != Kind.String) {
      config.refuse('config.' + name + '.' + i.toString() + ' must be a field name')
      break
    }
    list.push(textOf(item.start, item.end))
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
    while (members.next()) nodeAt(members.name, true).set = copyOf(members.start, members.end)
  } else if (set.kind != Kind.Missing) config.refuse('config.set must be an object of field: value')
  const drop = texts(config, 'drop')
  for (let i = 0; i < drop.length; i++) nodeAt(drop[i], true).drop = true
  const upper = texts(config, 'uppercase')
  for (let i = 0; i < upper.length; i++) nodeAt(upper[i], false).upper = true
  const lower = texts(config, 'lowercase')
  for (let i = 0; i < lower.length; i++) nodeAt(lower[i], false).lower = true
  const trim = texts(config, 'trim')
  for (let i = 0; i < trim.length; i++) nodeAt(trim[i], false).trim = true
  if (problem.length > 0) config.refuse(problem)
  present = new StaticArray<bool>(widest(root))
}

function widest(node: Node): i32 {
  let most = node.children.length
  for (let i = 0; i < node.children.length; i++) {
    const below = widest(node.children[i])
    if (below > most) most = below
  }
  return most
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
  for (let p = key; p < close; p++) {
    if (load<u8>(p) == 92) {
      for (let i = 0; i < children.length; i++) if (children[i].name.matches(key, close, true)) return children[i]
      break
    }
  }
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

/** Writes the value of one field as its node demands. */
function writeValue(node: Node, start: usize, end: usize, writer: Writer): void {
  const kind = kindAt(start)
  if (kind == Kind.Object && node.children.length > 0) {
    writeObject(node, start, end, writer)
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
function writeMember(parent: Node, node: Node | null, key: usize, close: usize, start: usize, end: usize, writer: Writer, first: bool): bool {
  if (node !== null && (node.drop || node.set !== null)) return first
  const name = node !== null && node.renamed !== null ? node.renamed : null
  if (name === null && isReplaced(parent, key, close)) return first
  if (name !== null && isSet(parent, node!.renamedTo!)) return first
  if (!first) writer.byte(44)
  if (name !== null) writer.bytes(changetype<usize>(name), name.byteLength)
  else writer.bytes(key - 1, close - key + 2)
  writer.byte(58)
  if (node !== null) writeValue(node, start, end, writer)
  else writer.bytes(start, end - start)
  return false
}

/** True when another member that is present is renamed to this name. */
function isReplaced(parent: Node, key: usize, close: usize): bool {
  const children = parent.children
  for (let i = 0; i < children.length; i++) {
    const node = children[i]
    if (node.renamedTo !== null && i < present.length && present[i] && node.renamedTo!.matches(key, close, hasBackslash(key, close))) return true
  }
  return false
}

/** Per child of the object being written, whether its member is present; sized for the largest object of the config. */
let present: StaticArray<bool> = new StaticArray<bool>(0)

function isSet(parent: Node, name: Segment): bool {
  const bytes = changetype<usize>(name.bytes)
  const children = parent.children
  for (let i = 0; i < children.length; i++) {
    if (children[i].set !== null && children[i].name.matches(bytes, bytes + name.bytes.byteLength, false)) return true
  }
  return false
}

function markPresent(parent: Node, start: usize, end: usize): void {
  const children = parent.children
  for (let i = 0; i < children.length; i++) present[i] = false
  let p = skipSpace(start + 1, end)
  while (load<u8>(p) == 34) {
    const close = closeOf(p + 1)
    for (let i = 0; i < children.length; i++) if (children[i].name.matches(p + 1, close, hasBackslash(p + 1, close))) present[i] = true
    let value = skipSpace(close + 1, end)
    value = skipSpace(value + 1, end)
    p = skipSpace(skipChecked(value), end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
}

/** Writes the fields of `set`, and the objects that contain them where those are missing. */
function writeSets(node: Node, writer: Writer, first: bool, start: usize, end: usize): bool {
  for (let i = 0; i < node.children.length; i++) {
    const child = node.children[i]
    const missing = child.set === null && hasSets(child) && !child.drop && !isThere(child, start, end)
    if (child.set === null && !missing) continue
    if (!first) writer.byte(44)
    first = false
    writer.quoted(changetype<usize>(child.name.bytes), child.name.bytes.byteLength)
    writer.byte(58)
    if (child.set !== null) writer.bytes(changetype<usize>(child.set!), child.set!.byteLength)
    else {
      writer.byte(123)
      writeSets(child, writer, true, 0, 0)
      writer.byte(125)
    }
  }
  return first
}

function hasSets(node: Node): bool {
  for (let i = 0; i < node.children.length; i++) if (node.children[i].set !== null || hasSets(node.children[i])) return true
  return false
}

function isThere(node: Node, start: usize, end: usize): bool {
  if (start == 0) return false
  let p = skipSpace(start + 1, end)
  while (load<u8>(p) == 34) {
    const close = closeOf(p + 1)
    if (node.name.matches(p + 1, close, hasBackslash(p + 1, close))) return true
    let value = skipSpace(close + 1, end)
    value = skipSpace(value + 1, end)
    p = skipSpace(skipChecked(value), end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
  return false
}

function hasRenames(node: Node): bool {
  for (let i = 0; i < node.children.length; i++) if (node.children[i].renamed !== null) return true
  return false
}

function clearPresent(node: Node): void {
  for (let i = 0; i < node.children.length; i++) present[i] = false
}

/** Writes an object as its node demands. */
function writeObject(node: Node, start: usize, end: usize, writer: Writer): void {
  if (hasRenames(node)) markPresent(node, start, end)
  else clearPresent(node)
  writer.byte(123)
  let first = true
  let p = skipSpace(start + 1, end)
  while (load<u8>(p) == 34) {
    const key = p + 1
    const close = closeOf(key)
    let value = skipSpace(close + 1, end)
    value = skipSpace(value + 1, end)
    const after = skipChecked(value)
    const child = nodeFor(node, key, close)
    first = writeMember(node, child, key, close, value, after, writer, first)
    // Writing the nested object has overwritten the marks.
    if (child !== null && child.children.length > 0 && hasRenames(node)) markPresent(node, start, end)
    p = skipSpace(after, end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
  writeSets(node, writer, first, start, end)
  writer.byte(125)
}

/** Writes the record when only values change: the bytes between them are copied in runs. */
function spliceValues(record: Record, writer: Writer): void {
  let copied = record.start
  for (let i = 0; i < memberCount; i++) {
    const node = keyEscaped(i) ? nodeFor(root, keyStart(i), keyEnd(i)) : plainNodeFor(root, keyStart(i), keyEnd(i))
    if (node === null) continue
    writer.bytes(copied, valueStart(i) - copied)
    writeValue(node, valueStart(i), valueEnd(i), writer)
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
  if (root.structural) writeObject(root, skipSpace(record.start, record.end), record.end, writer)
  else spliceValues(record, writer)
  record.commit(writer)
}

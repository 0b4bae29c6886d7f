/** What dps/map-fields does to fields, as a tree of their names. */
import { Segment, Writer, findMember } from 'dps'

/** What happens to one field, and to the fields below it. */
export class Node {
  name: Segment
  children: Node[] = []
  drop: bool = false
  /** New name, quoted and escaped, or null. */
  renamed: ArrayBuffer | null = null
  renamedTo: Segment | null = null
  /** Complete JSON value to set, or null. */
  set: ArrayBuffer | null = null
  upper: bool = false
  lower: bool = false
  trim: bool = false
  /** True when the object's members change, not only their values: the object is then written member by member. */
  structural: bool = false
  constructor(name: string) { this.name = new Segment(name) }

  child(name: string): Node {
    const segment = new Segment(name)
    const bytes = changetype<usize>(segment.bytes)
    for (let i = 0; i < this.children.length; i++) {
      if (this.children[i].name.matches(bytes, bytes + segment.bytes.byteLength, false)) return this.children[i]
    }
    const node = new Node(name)
    this.children.push(node)
    return node
  }

  /** Takes over from a field what is to be done to it; its new name is `Twin`'s matter. */
  take(other: Node): void {
    this.drop = other.drop
    this.set = other.set
    this.upper = other.upper
    this.lower = other.lower
    this.trim = other.trim
    other.drop = other.upper = other.lower = other.trim = false
    other.set = null
  }
}

export let root: Node = new Node('')

const scratch = new Writer()

/** A name as a JSON string. */
function quoted(name: string): ArrayBuffer {
  scratch.clear()
  scratch.text(name)
  const bytes = new ArrayBuffer(scratch.length as i32)
  memory.copy(changetype<usize>(bytes), scratch.start, scratch.length)
  return bytes
}

/** A dotted path as it stands for two fields: where a record has a member of the whole name, that is meant, else the nested one. */
class Twin {
  path: string
  nested: Node
  whole: Node
  isWhole: bool = false
  /** The new names, and how they are written; null for none. */
  nestedTo: Segment | null = null
  nestedText: ArrayBuffer | null = null
  wholeTo: Segment | null = null
  wholeText: ArrayBuffer | null = null
  constructor(path: string, nested: Node) {
    this.path = path
    this.nested = nested
    this.whole = root.child(path)
  }

  turn(): void {
    this.isWhole = !this.isWhole
    const from = this.isWhole ? this.nested : this.whole
    const to = this.isWhole ? this.whole : this.nested
    to.take(from)
    if (this.nestedTo === null) return
    from.renamed = null
    from.renamedTo = null
    to.renamed = this.isWhole ? this.wholeText : this.nestedText
    to.renamedTo = this.isWhole ? this.wholeTo : this.nestedTo
  }
}

let twins: Twin[] = []

export function clearNodes(): void {
  root = new Node('')
  twins = []
}

/** The node of a dotted path; marks its parents structural when asked. */
export function nodeAt(path: string, structural: bool): Node {
  const names = path.split('.')
  let node = root
  for (let i = 0; i < names.length; i++) {
    if (structural) node.structural = true
    node = node.child(names[i])
  }
  if (names.length > 1) twinAt(path, node)
  return node
}

function twinAt(path: string, nested: Node): Twin {
  for (let i = 0; i < twins.length; i++) if (twins[i].path == path) return twins[i]
  const twin = new Twin(path, nested)
  twins.push(twin)
  return twin
}

/** Renames the field of a path; `to` is a path in the same object. */
export function renameAt(path: string, to: string): void {
  const node = nodeAt(path, true)
  const last = to.substring(to.lastIndexOf('.') + 1)
  node.renamed = quoted(last)
  node.renamedTo = new Segment(last)
  if (path.indexOf('.') < 0) return
  const twin = twinAt(path, node)
  twin.nestedTo = node.renamedTo
  twin.nestedText = node.renamed
  twin.wholeTo = new Segment(to)
  twin.wholeText = quoted(to)
}

/** For the record at hand: which field each dotted path means. */
export function settleTwins(): void {
  for (let i = 0; i < twins.length; i++) {
    const twin = unchecked(twins[i])
    if (findMember(twin.whole.name) >= 0 != twin.isWhole) twin.turn()
  }
}

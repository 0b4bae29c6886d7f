/** What dps/map-fields does to fields, as two trees of their names: as in front of the step, and as after all options but `set`. */
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
  /** Whether the object being written has this member, or, of a field of `set`, whether it is written already. */
  isThere: bool = false
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

/** What nothing happens to. */
export const NOTHING = new Node('')
/** What is done to fields by the names that they come with. */
export let root: Node = new Node('')
/** What `set` sets, by the names that fields have then. */
export let sets: Node = new Node('')
/** True when members change, not only their values: the record is then written member by member. */
export let isStructural: bool = false

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
  /** Of a field of `set`: the member that is renamed to the whole name, or null. */
  renamedFrom: Segment | null = null
  constructor(path: string, nested: Node, whole: Node) {
    this.path = path
    this.nested = nested
    this.whole = whole
  }

  settle(): void {
    const isWhole = findMember(this.whole.name) >= 0 || (this.renamedFrom !== null && findMember(this.renamedFrom!) >= 0)
    if (isWhole != this.isWhole) this.turn()
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
/** Those of `set`. */
let setTwins: Twin[] = []

export function clearNodes(): void {
  root = new Node('')
  sets = new Node('')
  isStructural = false
  twins = []
  setTwins = []
}

function nodeIn(tree: Node, path: string, known: Twin[]): Node {
  const names = path.split('.')
  let node = tree
  for (let i = 0; i < names.length; i++) node = node.child(names[i])
  if (names.length > 1) twinAt(path, known, node, tree)
  return node
}

function twinAt(path: string, known: Twin[], nested: Node, tree: Node): Twin {
  for (let i = 0; i < known.length; i++) if (known[i].path == path) return known[i]
  const twin = new Twin(path, nested, tree.child(path))
  known.push(twin)
  return twin
}

/** The node of a path that changes a value alone. */
export function nodeAt(path: string): Node { return nodeIn(root, path, twins) }

/** Drops the field of a path. */
export function dropAt(path: string): void {
  isStructural = true
  nodeAt(path).drop = true
}

/** Sets the field of a path to a complete JSON value. */
export function setAt(path: string, value: ArrayBuffer): void {
  isStructural = true
  nodeIn(sets, path, setTwins).set = value
}

/** Renames the field of a path; `to` is a path in the same object. */
export function renameAt(path: string, to: string): void {
  isStructural = true
  const node = nodeAt(path)
  const last = to.substring(to.lastIndexOf('.') + 1)
  node.renamed = quoted(last)
  node.renamedTo = new Segment(last)
  if (path.indexOf('.') < 0) return
  const twin = twinAt(path, twins, node, root)
  twin.nestedTo = node.renamedTo
  twin.nestedText = node.renamed
  twin.wholeTo = new Segment(to)
  twin.wholeText = quoted(to)
}

/** Before the first record, when all is said: which members get the whole names of fields that are set. */
export function joinTwins(): void {
  for (let i = 0; i < setTwins.length; i++) {
    const name = setTwins[i].whole.name
    const bytes = changetype<usize>(name.bytes)
    for (let k = 0; k < twins.length; k++) {
      const to = twins[k].wholeTo
      if (to !== null && !twins[k].nested.drop && to.matches(bytes, bytes + name.length, false)) setTwins[i].renamedFrom = twins[k].whole.name
    }
  }
}

/** For the record at hand: which field each dotted path means. */
export function settleTwins(): void {
  for (let i = 0; i < twins.length; i++) unchecked(twins[i]).settle()
  for (let i = 0; i < setTwins.length; i++) unchecked(setTwins[i]).settle()
}

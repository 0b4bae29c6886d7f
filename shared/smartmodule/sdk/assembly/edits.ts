/** Several changes of one record, written in one pass: everything between the changed values stays byte for byte. */
import { keyStart, memberCount, valueEnd } from './known-members'
import { isSameName } from './path'
import { Record, Writer } from './record'

/** Per edit of the record: where its value starts and ends, where the new one is in `values`, its length, and the member to leave out. */
const EDIT_WORDS = 5
export const NO_MEMBER: usize = 0xffffffff
let edits: StaticArray<usize> = new StaticArray<usize>(0)
let editCount = 0
/** The new values, one behind the other. */
export const values = new Writer()

/** Adds an edit, in any order: they are kept in the order of the record's bytes, and one inside of another is left out. */
export function addEdit(start: usize, end: usize, from: usize, length: usize, member: usize): void {
  if ((editCount + 1) * EDIT_WORDS > edits.length) {
    const more = new StaticArray<usize>(edits.length * 2 + EDIT_WORDS)
    memory.copy(changetype<usize>(more), changetype<usize>(edits), edits.length * sizeof<usize>())
    edits = more
  }
  let i = editCount
  while (i > 0 && edits[(i - 1) * EDIT_WORDS] > start) {
    for (let k = 0; k < EDIT_WORDS; k++) edits[i * EDIT_WORDS + k] = edits[(i - 1) * EDIT_WORDS + k]
    i--
  }
  edits[i * EDIT_WORDS] = start
  edits[i * EDIT_WORDS + 1] = end
  edits[i * EDIT_WORDS + 2] = from
  edits[i * EDIT_WORDS + 3] = length
  edits[i * EDIT_WORDS + 4] = member
  editCount++
}

/** Copies the record's bytes from `copied` to `stop` with the edits in between, from edit `next` on; returns the next edit. */
function splice(writer: Writer, copied: usize, stop: usize, next: i32): i32 {
  for (; next < editCount && edits[next * EDIT_WORDS] < stop; next++) {
    const start = edits[next * EDIT_WORDS]
    if (start < copied) continue
    writer.bytes(copied, start - copied)
    writer.bytes(values.start + edits[next * EDIT_WORDS + 2], edits[next * EDIT_WORDS + 3])
    copied = edits[next * EDIT_WORDS + 1]
  }
  writer.bytes(copied, stop - copied)
  return next
}

function isLeftOut(member: i32): bool {
  for (let i = 0; i < editCount; i++) {
    const other = edits[i * EDIT_WORDS + 4]
    if (other == NO_MEMBER) continue
    // An earlier member of the same name would take its place.
    if (isSameName(other as i32, member)) return true
  }
  return false
}

/** Makes room for so many edits of one record. */
export function roomForEdits(most: i32): void {
  edits = new StaticArray<usize>(most * EDIT_WORDS)
}

/** Forgets all edits. */
export function clearEdits(): void {
  editCount = 0
  values.clear()
}

/** Writes the record with all edits. */
export function writeEdits(record: Record): void {
  if (editCount == 0) return
  const writer = record.writer()
  writer.room(record.end - record.start + values.length + 64)
  let hasLeftOut = false
  for (let i = 0; i < editCount; i++) if (edits[i * EDIT_WORDS + 4] != NO_MEMBER) hasLeftOut = true
  if (!hasLeftOut) splice(writer, record.start, record.end, 0)
  else {
    writer.byte(123)
    let isFirst = true
    for (let i = 0; i < memberCount; i++) {
      if (isLeftOut(i)) continue
      if (!isFirst) writer.byte(44)
      isFirst = false
      let next = 0
      while (next < editCount && edits[next * EDIT_WORDS] < keyStart(i)) next++
      splice(writer, keyStart(i) - 1, valueEnd(i), next)
    }
    writer.byte(125)
  }
  record.commit(writer)
}

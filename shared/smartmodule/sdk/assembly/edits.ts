/** Several changes of one record, written in one pass: everything between the changed values stays byte for byte. */
import { keyStart, memberCount, valueEnd } from './last-document'
import { isSameName } from './path'
import { Record, Writer } from './record'

/** Per edit of the record: where its value starts and ends, where the new one is in `values`, its length, and the member to leave out. */
const EDIT_WORDS = 5
export const NO_MEMBER: usize = 0xffffffff
let edits: StaticArray<usize> = new StaticArray<usize>(0)
let editCount = 0
/** Up to so many edits each is put in its place among them; more are sorted, because moving them takes the square of their number. */
const PLACED_MAX = 64
let isSorted = true
/** Most edits of a record, and most bytes of their values: an instance's memory is bounded. Names may be repeated without end. */
const EDITS_MAX = 250_000
const VALUES_MAX: usize = 8 << 20
let isTooMuch = false
/** The new values, one behind the other. */
export const values = new Writer()

/** Adds an edit, in any order: they are written in the order of the record's bytes, and one inside of another is left out. */
export function addEdit(start: usize, end: usize, from: usize, length: usize, member: usize): void {
  if (editCount == EDITS_MAX || values.length > VALUES_MAX) {
    isTooMuch = true
    values.clear()
  }
  if (isTooMuch) return
  if ((editCount + 1) * EDIT_WORDS > edits.length) {
    const more = new StaticArray<usize>(min(edits.length * 2 + EDIT_WORDS, EDITS_MAX * EDIT_WORDS))
    memory.copy(changetype<usize>(more), changetype<usize>(edits), edits.length * sizeof<usize>())
    edits = more
  }
  let i = editCount
  if (i > 0 && edits[(i - 1) * EDIT_WORDS] > start) {
    if (i > PLACED_MAX) isSorted = false
    else
      do {
        for (let k = 0; k < EDIT_WORDS; k++) edits[i * EDIT_WORDS + k] = edits[(i - 1) * EDIT_WORDS + k]
        i--
      } while (i > 0 && edits[(i - 1) * EDIT_WORDS] > start)
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

/** What `edits` was before it was sorted last. */
let spare: StaticArray<usize> = new StaticArray<usize>(0)

/** Puts the edits in the order of the record's bytes; those that start at the same byte stay in theirs. */
function sortEdits(): void {
  isSorted = true
  const order = new Uint64Array(editCount)
  for (let i = 0; i < editCount; i++) order[i] = ((edits[i * EDIT_WORDS] as u64) << 32) | (i as u64)
  order.sort()
  if (spare.length < editCount * EDIT_WORDS) spare = new StaticArray<usize>(editCount * EDIT_WORDS)
  for (let i = 0; i < editCount; i++) {
    const from = (order[i] as i32) * EDIT_WORDS
    for (let k = 0; k < EDIT_WORDS; k++) spare[i * EDIT_WORDS + k] = edits[from + k]
  }
  const sorted = spare
  spare = edits
  edits = sorted
}

/** By member, whether it is left out. */
let leftOut: StaticArray<bool> = new StaticArray<bool>(0)

/** Fills `leftOut`; false where no member is. All of a name are: an earlier one would take the place of the last. */
function findLeftOut(): bool {
  let isAny = false
  for (let i = 0; i < editCount; i++) {
    const other = edits[i * EDIT_WORDS + 4]
    if (other == NO_MEMBER) continue
    if (!isAny) {
      if (leftOut.length < memberCount) leftOut = new StaticArray<bool>(memberCount)
      else memory.fill(changetype<usize>(leftOut), 0, memberCount)
      isAny = true
    }
    // Once for each name: few are in the config, however often they are in the record.
    if (leftOut[other as i32]) continue
    for (let k = 0; k < memberCount; k++) if (!leftOut[k] && isSameName(other as i32, k)) leftOut[k] = true
  }
  return isAny
}

/** Makes room for so many edits of one record. */
export function roomForEdits(most: i32): void {
  edits = new StaticArray<usize>(most * EDIT_WORDS)
}

/** Forgets all edits. */
export function clearEdits(): void {
  editCount = 0
  isSorted = true
  isTooMuch = false
  values.clear()
}

/** Writes the record with all edits; one with too many of them fails. */
export function writeEdits(record: Record): void {
  if (isTooMuch) return record.fail('more than 250,000 values of the record would change, or would become longer than 8 MiB together')
  if (editCount == 0) return
  if (!isSorted) sortEdits()
  const writer = record.writer()
  writer.room(record.end - record.start + values.length + 64)
  if (!findLeftOut()) splice(writer, record.start, record.end, 0)
  else {
    writer.byte(123)
    let isFirst = true
    let next = 0
    for (let i = 0; i < memberCount; i++) {
      if (leftOut[i]) continue
      if (!isFirst) writer.byte(44)
      isFirst = false
      while (next < editCount && edits[next * EDIT_WORDS] < keyStart(i)) next++
      next = splice(writer, keyStart(i) - 1, valueEnd(i), next)
    }
    writer.byte(125)
  }
  record.commit(writer)
}

/** Cuts a large records section into slices of whole records: a hundred inflated megabytes are processed a few at a time. */
import { readVarint, readVarlong, type Cursor } from './varint.ts'

/** A view of `count` records; the deltas are the offsets of the first and the last one, relative to the batch's base offset. */
export type SectionSlice = { section: Buffer; count: number; firstDelta: number; lastDelta: number }

/** The records whose offset delta is below `endDelta`, as a view of the section. Throws RangeError as `slicesOf` does. */
export function sectionBefore(section: Buffer, count: number, endDelta: number): { section: Buffer; count: number } {
  let records = 0
  let end = 0
  for (const slice of slicesOf(section, count, 0)) {
    if (slice.firstDelta >= endDelta) break
    records++
    end += slice.section.length
  }
  return { section: section.subarray(0, end), count: records }
}

/**
 * Slices of a section (KIP-98, "Record") of at most `bytesMax` bytes each; a larger record becomes its own slice. Throws RangeError when
 * the lengths of the records don't add up.
 */
export function* slicesOf(section: Buffer, count: number, bytesMax: number): Generator<SectionSlice> {
  const cursor: Cursor = { at: 0 }
  let from = 0
  let records = 0
  let last = 0
  const slice = (end: number): SectionSlice => {
    const firstDelta = deltaAt(section, from)
    const lastDelta = records === 1 ? firstDelta : deltaAt(section, last)
    return { section: section.subarray(from, end), count: records, firstDelta, lastDelta }
  }
  for (let record = 0; record < count; record++) {
    const start = cursor.at
    const length = readVarint(section, cursor)
    const end = cursor.at + length
    if (length < 0 || end > section.length) throw new RangeError('a record runs past the end of its section')
    if (records > 0 && end - from > bytesMax) {
      yield slice(start)
      from = start
      records = 0
    }
    last = start
    records++
    cursor.at = end
  }
  if (records > 0) yield slice(cursor.at)
}

/** The offset delta of the record that starts at `at`. Only the first and the last record of a slice are looked into so far. */
function deltaAt(section: Buffer, at: number): number {
  const cursor: Cursor = { at }
  readVarint(section, cursor)
  // Attributes come before the deltas.
  cursor.at++
  readVarlong(section, cursor)
  return readVarint(section, cursor)
}

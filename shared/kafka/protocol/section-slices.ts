/** A large records section in slices of whole records, so that what inflates to a hundred megabytes is worked on a few at a time. */
import { readVarint, readVarlong, type Cursor } from './varint.ts'

/** `count` records; the offsets of the first and the last one are those deltas after the batch's base offset. */
export type SectionSlice = { section: Buffer; count: number; firstDelta: number; lastDelta: number }

/** The records before the one whose offset is `endDelta` after the batch's base offset. Throws RangeError as `slicesOf` does. */
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
 * Cuts a section (KIP-98, "Record") before the record that would make a slice larger than `bytesMax`; a larger record is a slice of its
 * own. Throws RangeError when the lengths of the records don't add up.
 */
export function* slicesOf(section: Buffer, count: number, bytesMax: number): Generator<SectionSlice> {
  const cursor: Cursor = { at: 0 }
  let from = 0
  let records = 0
  let firstDelta = 0
  let lastDelta = 0
  for (let record = 0; record < count; record++) {
    const start = cursor.at
    const length = readVarint(section, cursor)
    const end = cursor.at + length
    if (length < 0 || end > section.length) throw new RangeError('a record runs past the end of its section')
    // Attributes come before the deltas.
    cursor.at++
    readVarlong(section, cursor)
    const delta = readVarint(section, cursor)
    if (records > 0 && end - from > bytesMax) {
      yield { section: section.subarray(from, start), count: records, firstDelta, lastDelta }
      from = start
      records = 0
    }
    if (records === 0) firstDelta = delta
    lastDelta = delta
    records++
    cursor.at = end
  }
  if (records > 0) yield { section: section.subarray(from, cursor.at), count: records, firstDelta, lastDelta }
}

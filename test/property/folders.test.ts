/** Rows of a range by the hour or day of their records: every row in one part, the part of its time, in order. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRowBuffer, endRow, reserve, takeRows } from '../../shared/connectors/encode/row-buffer.ts'
import { timeParts, withTime } from '../../shared/connectors/storage-bucket/time-parts.ts'
import type { Rows } from '../../shared/connectors/sink.ts'

type Row = { text: string; timeMs: number }

function rowsOf(rows: readonly Row[], from: number): Rows {
  const buffer = createRowBuffer()
  for (const [index, { text, timeMs }] of rows.entries()) {
    const bytes = Buffer.from(`${text}\n`)
    reserve(buffer, bytes.length)
    buffer.bytes.set(bytes, buffer.used)
    buffer.used += bytes.length
    endRow(buffer, from + index, timeMs)
  }
  return takeRows(buffer)
}

/** What a reader of the rows sees: by `ends` alone. */
const seen = ({ bytes, count, ends, offsets, times }: Rows) =>
  Array.from({ length: count }, (_, row) => ({
    text: Buffer.from(bytes.subarray(row === 0 ? 0 : ends[row - 1], ends[row]))
      .toString()
      .slice(0, -1),
    offset: offsets[row],
    timeMs: times[row],
  }))

const row = fc.record({
  text: fc.string({ maxLength: 8 }).map((text) => text.replaceAll('\n', '')),
  timeMs: fc.oneof(
    fc.integer({ min: Date.parse('1969-12-30T00:00:00Z'), max: Date.parse('1970-01-04T00:00:00Z') }),
    fc.constantFrom(-1, -(2 ** 63), 2 ** 63, Date.parse('9999-12-31T23:59:59.999Z')),
  ),
})

describe('parts by time', () => {
  it.each(['dt={date}', '{year}/{month}/{day}', 'h={hour}', 'dt={date}/{hour}', 'd={day}'])(
    'of %s hold every row once, where it belongs',
    (template) => {
      fc.assert(
        fc.property(fc.array(fc.array(row, { maxLength: 12 }), { maxLength: 4 }), (pieces) => {
          const all = pieces.map((piece, index) => rowsOf(piece, index * 100))
          const parts = timeParts(all, template)
          for (const { folder, rows } of parts) for (const each of rows.flatMap(seen)) expect(withTime(template, each.timeMs!)).toBe(folder)
          // Two objects of one range in one folder would have one key.
          expect(new Set(parts.map(({ folder }) => folder)).size).toBe(parts.length)
          const found = parts.flatMap(({ rows }) => rows.flatMap(seen))
          expect(found.toSorted((a, b) => a.offset! - b.offset!)).toEqual(all.flatMap(seen))
          for (const { rows } of parts) {
            const offsets = rows.flatMap(seen).map(({ offset }) => offset!)
            expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
          }
        }),
      )
    },
  )

  it('are one, as it is, where keys show no time', () => {
    const piece = rowsOf(
      [
        { text: 'a', timeMs: 0 },
        { text: 'b', timeMs: 1e12 },
      ],
      0,
    )
    expect(timeParts([piece], '{pipeline}/p={partition}')).toEqual([{ folder: '{pipeline}/p={partition}', rows: [piece] }])
  })

  it('show their time in UTC', () => {
    expect(withTime('y={year}/m={month}/d={day}/h={hour}/{date}', Date.parse('2026-03-04T05:06:07Z'))).toBe(
      'y=2026/m=03/d=04/h=05/2026-03-04',
    )
  })
})

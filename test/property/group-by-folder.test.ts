/** The rows of a range, split by the folders of their records: every row is in exactly one part, the right one, in order. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRowBuffer, endRow, reserve, takeRows } from '../../shared/connectors/encode/row-buffer.ts'
import { FOLDERS_MAX, NO_VALUE, partsByFolder, type FolderPart } from '../../shared/connectors/storage-bucket/group-by-folder.ts'
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

/** The rows as a reader sees them, by `ends` alone. */
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

function parts(pieces: Rows[], template: string): FolderPart[] {
  const found = partsByFolder(pieces, template)
  if (!('parts' in found)) throw new Error(found.faults.map(({ message }) => message).join())
  return found.parts
}

/** Asserts that every row is there once, in the folder that `wanted` gives, in order. */
function assertParts(all: Rows[], found: FolderPart[], wanted: (row: { text: string; timeMs: number }) => string): void {
  for (const { folder, rows } of found)
    for (const { text, timeMs } of rows.flatMap(seen)) expect(wanted({ text, timeMs: timeMs! })).toBe(folder)
  // Two objects of one range in one folder would have the same key.
  expect(new Set(found.map(({ folder }) => folder)).size).toBe(found.length)
  const rows = found.flatMap((part) => part.rows.flatMap(seen))
  expect(rows.toSorted((a, b) => a.offset! - b.offset!)).toEqual(all.flatMap(seen))
  for (const part of found) {
    const offsets = part.rows.flatMap(seen).map(({ offset }) => offset!)
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
  }
}

const inCalendar = (ms: number) => Math.min(Math.max(ms, 0), Date.parse('9999-12-31T23:59:59.999Z'))
/** The expected folder, by the getters of Date. */
function shown(template: string, ms: number): string {
  const at = new Date(ms)
  const two = (value: number) => String(value).padStart(2, '0')
  const [year, month, day] = [String(at.getUTCFullYear()).padStart(4, '0'), two(at.getUTCMonth() + 1), two(at.getUTCDate())]
  const texts: Record<string, string> = { year, month, day, hour: two(at.getUTCHours()), date: `${year}-${month}-${day}` }
  return template.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => texts[name]!)
}

describe('folders by the record’s time', () => {
  it.each(['dt={date}', '{year}/{month}/{day}', 'h={hour}', 'dt={date}/{hour}', 'd={day}'])(
    'hold every row once, in the right folder, by the template %s',
    (template) => {
      fc.assert(
        fc.property(fc.array(fc.array(row, { maxLength: 12 }), { maxLength: 4 }), (pieces) => {
          const all = pieces.map((piece, index) => rowsOf(piece, index * 100))
          assertParts(all, parts(all, template), ({ timeMs }) => shown(template, inCalendar(timeMs)))
        }),
      )
    },
  )

  it('are a single one with the rows unchanged when the template uses nothing of the records', () => {
    const piece = rowsOf(
      [
        { text: 'a', timeMs: 0 },
        { text: 'b', timeMs: 1e12 },
      ],
      0,
    )
    expect(parts([piece], '{pipeline}/p={partition}')).toEqual([{ folder: '{pipeline}/p={partition}', rows: [piece] }])
  })
})

describe('folders by a member of the record', () => {
  const at = fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
  const document = fc.record(
    {
      city: fc.oneof(fc.string({ unit: 'binary', maxLength: 4 }), fc.integer(), fc.boolean(), fc.constant(null)),
      created: at,
      other: fc.jsonValue({ maxDepth: 1 }),
    },
    { requiredKeys: [] },
  )

  it('hold every row once, in a folder whose name decodes to the member', () => {
    fc.assert(
      fc.property(fc.array(fc.array(document, { maxLength: 12 }), { maxLength: 3 }), (pieces) => {
        const all = pieces.map((piece, index) =>
          rowsOf(
            piece.map((each) => ({ text: JSON.stringify({ in: each }), timeMs: 0 })),
            index * 100,
          ),
        )
        const found = parts(all, '{pipeline}/city={value.in.city}')
        for (const { folder } of found) expect(folder.slice('{pipeline}/'.length)).toMatch(/^[^/.][^/]*$/)
        assertParts(all, found, ({ text }) => {
          const { city } = JSON.parse(text).in as { city?: unknown }
          const none = city === undefined || city === null || city === ''
          const folder = found.find((part) => part.rows.some((rows) => seen(rows).some((each) => each.text === text)))!.folder
          if (!none) expect(decodeURIComponent(folder.slice('{pipeline}/city='.length))).toBe(String(city))
          else expect(folder).toBe(`{pipeline}/city=${NO_VALUE}`)
          return folder
        })
      }),
    )
  })

  it.each(['dt={value.created|date}', '{value.created|year}/{value.created|month}/{value.created|day}/h={value.created|hour}'])(
    'follow the time in the member by the template %s, from text or milliseconds',
    (template) => {
      const plain = template.replaceAll('value.created|', '')
      fc.assert(
        fc.property(fc.array(at, { maxLength: 20 }), fc.boolean(), (times, isText) => {
          const texts = times.map((each) => JSON.stringify({ created: isText ? each.toISOString() : each.getTime() }))
          const all = [
            rowsOf(
              texts.map((text) => ({ text, timeMs: 0 })),
              0,
            ),
          ]
          assertParts(all, times.length === 0 ? [] : parts(all, template), ({ text }) =>
            shown(plain, new Date(JSON.parse(text).created as string).getTime()),
          )
        }),
      )
    },
  )

  it('accept dates, time zones, and digits below the millisecond', () => {
    const texts = ['"2026-02-28"', '"2026-03-01T01:30:00.123456789+02:00"', '"2026-02-28 23:59:59.999999+00"', '1772323199999']
    const all = [
      rowsOf(
        texts.map((text) => ({ text: `{"at":${text}}`, timeMs: 0 })),
        0,
      ),
    ]
    expect(parts(all, 'dt={value.at|date}').map(({ folder }) => folder)).toEqual(['dt=2026-02-28'])
  })

  it.each(['{"at":"soon"}', '{"at":"2026-02-30"}', '{"at":true}', '{"at":{}}', '{"at":1e99}'])(
    'refuse %s when a time is needed',
    (text) => {
      const found = partsByFolder(
        [
          rowsOf(
            [
              { text: '{}', timeMs: 0 },
              { text, timeMs: 0 },
            ],
            5,
          ),
        ],
        '{value.at|date}',
      )
      expect(found).toMatchObject({ faults: [{ offset: 6n, code: 'no_folder', message: expect.stringContaining('"at"') }] })
    },
  )

  it('are limited in number: records of further folders are refused', () => {
    const texts = Array.from({ length: FOLDERS_MAX + 2 }, (_, index) => ({ text: `{"id":${index % (FOLDERS_MAX + 1)}}`, timeMs: 0 }))
    expect(parts([rowsOf(texts.slice(0, FOLDERS_MAX), 0)], '{value.id}')).toHaveLength(FOLDERS_MAX)
    const found = partsByFolder([rowsOf(texts, 0)], '{value.id}')
    expect('faults' in found && found.faults.map(({ offset }) => offset)).toEqual([BigInt(FOLDERS_MAX)])
  })

  it.each([
    ['an invalid escape', '{"c":"a\\x"}'],
    ['an incomplete escape', '{"c":"\\u12"}'],
    ['more bytes than a key allows', `{"c":"${'水'.repeat(40)}"}`],
  ])('refuse only the record with %s', (_what, text) => {
    const found = partsByFolder(
      [
        rowsOf(
          [
            { text: '{"c":"b"}', timeMs: 0 },
            { text, timeMs: 0 },
          ],
          5,
        ),
      ],
      '{value.c}',
    )
    expect(found).toMatchObject({ faults: [{ offset: 6n, code: 'no_folder' }] })
  })

  it('keep the last nanosecond of a day in the folder of that day', () => {
    const texts = ['2026-12-31T23:59:59.999999999Z', '1969-12-31T23:59:59.999999999Z'].map((at) => ({
      text: JSON.stringify({ at }),
      timeMs: 0,
    }))
    expect(parts([rowsOf(texts, 0)], '{value.at|date}').map(({ folder }) => folder)).toEqual(['2026-12-31', '1969-12-31'])
  })

  it('are not limited in number when they are of times only', () => {
    const hours = Array.from({ length: 1500 }, (_, index) => ({ text: '{}', timeMs: index * 3_600_000 }))
    expect(parts([rowsOf(hours, 0)], '{date}/{hour}')).toHaveLength(1500)
  })
})

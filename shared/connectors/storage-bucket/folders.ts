/** Rows of one range by the hour or day of their records, where the key's template tells times apart. What a record's time is never changes, so that a replay makes the same parts. */
import type { Rows } from '../sink.ts'

const HOUR_MS = 3_600_000
/** The last millisecond of the year 9999: a producer may write any 64-bit number. */
const LAST_MS = 253_402_300_799_999

/** A time that a calendar has: records without one (-1), and those from before 1970, count as its first day. */
const inCalendar = (timeMs: number): number => Math.min(Math.max(timeMs, 0), LAST_MS)

/** Rows that go into one object, and its folder: the template with the parts of their time. */
export type TimePart = { folder: string; rows: Rows[] }

/** How long the times are that the template puts into one folder, in milliseconds; undefined when it shows none. */
function grainOf(template: string): number | undefined {
  if (template.includes('{hour}')) return HOUR_MS
  return /\{(date|year|month|day)\}/.test(template) ? 24 * HOUR_MS : undefined
}

/** The template with the parts of a time, UTC. */
export function withTime(template: string, timeMs: number): string {
  const [date, time] = new Date(inCalendar(timeMs)).toISOString().split('T') as [string, string]
  const [year, month, day] = date.split('-') as [string, string, string]
  const parts: Record<string, string> = { date, year, month, day, hour: time.slice(0, 2) }
  return template.replace(/\{(date|year|month|day|hour)\}/g, (_whole, name: string) => parts[name]!)
}

/**
 * No copies: the rows of a part are views. Parts are in the order of their first rows, one a folder: a template without a year, for one, puts
 * the same day of every year into one.
 */
export function timeParts(pieces: readonly Rows[], template: string): TimePart[] {
  const grainMs = grainOf(template)
  if (grainMs === undefined) return [{ folder: template, rows: [...pieces] }]
  const parts = new Map<string, TimePart>()
  for (const piece of pieces) {
    for (let from = 0, to = 0; from < piece.count; from = to) {
      const slot = Math.floor(inCalendar(piece.times[from]!) / grainMs)
      for (to = from + 1; to < piece.count && Math.floor(inCalendar(piece.times[to]!) / grainMs) === slot; to++);
      const folder = withTime(template, slot * grainMs)
      const part = parts.get(folder) ?? { folder, rows: [] }
      parts.set(folder, part)
      part.rows.push(from === 0 && to === piece.count ? piece : sliceOf(piece, from, to))
    }
  }
  return [...parts.values()]
}

function sliceOf({ bytes, ends, offsets, times }: Rows, from: number, to: number): Rows {
  const start = from === 0 ? 0 : ends[from - 1]!
  return {
    bytes: bytes.subarray(start, ends[to - 1]),
    count: to - from,
    ends: ends.slice(from, to).map((end) => end - start),
    offsets: offsets.subarray(from, to),
    times: times.subarray(from, to),
  }
}

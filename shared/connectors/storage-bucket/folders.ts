/**
 * Rows of one range by their folders, where the key's template tells records apart: by their own time, or by a member of their values. What
 * a record's folder is depends on the record alone, so that a replay makes the same parts.
 */
import { daysOf, unitsOf } from '../../model/times.ts'
import { ABSENT, createMemberScanner, ESCAPED, NESTED, NULL, STRING, unescapeText, type MemberScanner } from '../encode/json-members.ts'
import type { RefusedRecord, Rows } from '../sink.ts'

/** Parts of a key that are the same for all records of a range. */
export const RANGE_PARTS = ['stream', 'pipeline', 'partition'] as const
const TIME_PARTS = ['date', 'year', 'month', 'day', 'hour'] as const
type TimePart = (typeof TIME_PARTS)[number]

/** What stands for a member that a record does not have; Hive's name, which readers of partitioned folders know. */
export const NO_VALUE = '__HIVE_DEFAULT_PARTITION__'
/** Folders that members may make of one range, each with an object of its own; records of further ones are refused. */
export const FOLDERS_MAX = 10_000
/** Of a member as a part of a key: a store's key has 1,024 bytes at most, a folder's name in a file system 255. */
const VALUE_BYTES_MAX = 200

/** The last millisecond of the year 9999: a producer may write any 64-bit number. */
const LAST_MS = 253_402_300_799_999
const HOUR_MS = 3_600_000

/** A time that a calendar has: records without one (-1), and those from before 1970, count as its first day. */
const inCalendar = (timeMs: number): number => Math.min(Math.max(timeMs, 0), LAST_MS)

/** `{date}` is of the record's own time, `{value.created|date}` of its member; `{value.city}` is the member itself. */
type Part =
  | { kind: 'fixed'; text: string }
  | { kind: 'time'; part: TimePart }
  | { kind: 'member'; path: string[]; part: TimePart | undefined }

const isTimePart = (name: string): name is TimePart => (TIME_PARTS as readonly string[]).includes(name)
const PART = /\{([^}]*)\}/g
const MEMBER = /^value\.([^{}|]+)(?:\|([a-z]+))?$/

function partOf(name: string): Part | undefined {
  if ((RANGE_PARTS as readonly string[]).includes(name)) return { kind: 'fixed', text: `{${name}}` }
  if (isTimePart(name)) return { kind: 'time', part: name }
  const [, path, part] = MEMBER.exec(name) ?? []
  if (path === undefined || (part !== undefined && !isTimePart(part))) return undefined
  const members = path.split('.')
  return members.includes('') ? undefined : { kind: 'member', path: members, part: part as TimePart | undefined }
}

/** The template's parts; undefined where one of them is none. Parts of the range stay as they are. */
export function parseTemplate(template: string): Part[] | undefined {
  // A brace that is left over was meant to be a part.
  if (/[{}]/.test(template.replaceAll(PART, ''))) return undefined
  const parts: Part[] = []
  let at = 0
  for (const found of template.matchAll(PART)) {
    const part = partOf(found[1]!)
    if (!part) return undefined
    parts.push({ kind: 'fixed', text: template.slice(at, found.index) }, part)
    at = found.index + found[0].length
  }
  return [...parts, { kind: 'fixed', text: template.slice(at) }]
}

/** No part that file systems take for this folder or the one above. */
export const isInside = (path: string): boolean => !path.split('/').some((part) => part === '..' || part === '.')

export const PART_NAMES = [...RANGE_PARTS, ...TIME_PARTS, 'value.member', 'value.member|date'].map((name) => `{${name}}`)

/** True where records have to be looked into. */
export const hasMembers = (template: string): boolean => parseTemplate(template)?.some(({ kind }) => kind === 'member') ?? false

/** That part of a time, in UTC. */
function timeText(part: TimePart, timeMs: number): string {
  const [date, time] = new Date(timeMs).toISOString().split('T') as [string, string]
  if (part === 'date') return date
  if (part === 'hour') return time.slice(0, 2)
  return date.split('-')[['year', 'month', 'day'].indexOf(part)]!
}

/** A value as a part of a key that makes no folders; readers of partitioned folders undo the percent signs. */
const asFolder = (text: string): string => encodeURIComponent(text.toWellFormed()).replace(/^\.+/, (dots) => '%2E'.repeat(dots.length))

class Misfit extends Error {}

/** Milliseconds since 1970 of a member: a date or time as text, or a number of milliseconds. */
function timeOf(text: string, isText: boolean, path: string): number {
  const days = isText ? daysOf(text) : undefined
  const nanos = isText && days === undefined ? unitsOf(text.replace(/(\.\d{9})\d+/, '$1'), 9) : undefined
  const ms =
    days !== undefined ? days * 24 * HOUR_MS : nanos !== undefined ? floorMs(nanos) : isText ? Number.NaN : Math.floor(Number(text))
  if (!(ms >= FIRST_MS && ms <= LAST_MS))
    throw new Misfit(`the member "${path}" is no time: text such as 2026-11-22T10:00:00Z, or milliseconds`)
  return ms
}

/** Before any rounding: the last nanosecond of a day belongs to it. */
const floorMs = (nanos: bigint): number => Number((nanos - (((nanos % MS) + MS) % MS)) / MS)
const MS = 1_000_000n
/** The first millisecond of the year 1. */
const FIRST_MS = -62_135_596_800_000

function unescaped(source: Uint8Array, from: number, to: number, path: string): string {
  try {
    return unescapeText(source, from, to)
  } catch {
    throw new Misfit(`the member "${path}" holds an escape that JSON does not know`)
  }
}

/** Reads one member of each document it is given. */
function createMemberReader(path: string[], part: TimePart | undefined): (source: Uint8Array, from: number, to: number) => string {
  const scanners: MemberScanner[] = path.map((name) => createMemberScanner([name], true))
  const shown = path.join('.')
  return (source, from, to) => {
    let [start, end, sort] = [from, to, NESTED]
    for (const scanner of scanners) {
      if (sort !== NESTED || scanner.scan(source, start, end) !== undefined) return NO_VALUE
      sort = scanner.sorts[0]!
      start = scanner.starts[0]!
      end = scanner.ends[0]!
    }
    if (sort === ABSENT || sort === NULL || start === end) return NO_VALUE
    if (sort === NESTED) throw new Misfit(`the member "${shown}" is an object or array, which names no folder`)
    const text = sort === ESCAPED ? unescaped(source, start, end, shown) : Buffer.from(source.subarray(start, end)).toString('utf8')
    if (part) return timeText(part, timeOf(text, sort === STRING || sort === ESCAPED, shown))
    const folder = asFolder(text)
    if (folder.length > VALUE_BYTES_MAX)
      throw new Misfit(`the member "${shown}" takes ${folder.length} bytes of a key, more than ${VALUE_BYTES_MAX}`)
    return folder
  }
}

/** The folder of every row; one that has none throws a Misfit. */
function createFolderOf(template: string): (rows: Rows, row: number) => string {
  const parts = parseTemplate(template)!
  const texts = parts.map((part): ((rows: Rows, row: number) => string) => {
    if (part.kind === 'fixed') return () => part.text
    if (part.kind === 'time') return ({ times }, row) => timeText(part.part, inCalendar(times[row]!))
    const read = createMemberReader(part.path, part.part)
    return ({ bytes, ends }, row) => read(bytes, row === 0 ? 0 : ends[row - 1]!, ends[row]!)
  })
  const join = (rows: Rows, row: number) => texts.map((text) => text(rows, row)).join('')
  if (parts.some(({ kind }) => kind === 'member')) return join
  // Records mostly come in the order of their times: one look a hour.
  let slot = -1
  let folder = ''
  return (rows, row) => {
    const own = Math.floor(inCalendar(rows.times[row]!) / HOUR_MS)
    if (own !== slot) folder = join(rows, row)
    slot = own
    return folder
  }
}

/** Rows that go into one object, and its folder: the template with the parts of its records. */
export type FolderPart = { folder: string; rows: Rows[] }
export type FolderParts = { parts: FolderPart[] } | { faults: RefusedRecord[] }

/** Parts are in the order of their first rows, one a folder. */
export function partsByFolder(pieces: readonly Rows[], template: string): FolderParts {
  if (parseTemplate(template)!.every(({ kind }) => kind === 'fixed')) return { parts: [{ folder: template, rows: [...pieces] }] }
  const folderOf = createFolderOf(template)
  const byMember = hasMembers(template)
  const faults: RefusedRecord[] = []
  const folders = new Map<string, { index: number; rows: number; bytes: number }>()
  const placesOf = pieces.map((piece) => {
    const places = new Uint32Array(piece.count)
    for (let row = 0; row < piece.count; row++) {
      try {
        const name = folderOf(piece, row)
        let folder = folders.get(name)
        if (!folder) {
          if (byMember && folders.size >= FOLDERS_MAX)
            throw new Misfit(`the key ${template} makes more than ${FOLDERS_MAX} folders at once`)
          folders.set(name, (folder = { index: folders.size, rows: 0, bytes: 0 }))
        }
        places[row] = folder.index
        folder.rows++
        folder.bytes += piece.ends[row]! - (row === 0 ? 0 : piece.ends[row - 1]!)
      } catch (error) {
        if (!(error instanceof Misfit)) throw error
        faults.push({ offset: BigInt(piece.offsets[row]!), code: 'no_folder', message: error.message })
      }
    }
    return places
  })
  if (faults.length > 0) return { faults }
  if (folders.size <= 1) return { parts: [...folders.keys()].map((folder) => ({ folder, rows: [...pieces] })) }
  const targets = [...folders.values()].map(({ rows, bytes }): Rows => ({
    bytes: new Uint8Array(bytes),
    count: rows,
    ends: new Uint32Array(rows),
    offsets: new Float64Array(rows),
    times: new Float64Array(rows),
  }))
  const next = new Uint32Array(targets.length)
  for (const [index, piece] of pieces.entries()) {
    for (let row = 0; row < piece.count; row++) {
      const place = placesOf[index]![row]!
      const target = targets[place]!
      const to = next[place]!++
      const start = row === 0 ? 0 : piece.ends[row - 1]!
      const at = to === 0 ? 0 : target.ends[to - 1]!
      target.bytes.set(piece.bytes.subarray(start, piece.ends[row]), at)
      target.ends[to] = at + piece.ends[row]! - start
      target.offsets[to] = piece.offsets[row]!
      target.times[to] = piece.times[row]!
    }
  }
  return { parts: [...folders.keys()].map((folder, index) => ({ folder, rows: [targets[index]!] })) }
}

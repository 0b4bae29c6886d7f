/**
 * Groups the rows of a range by folder, if the key's template depends on the record: on its timestamp, or on a member of its value. A
 * record's folder depends on the record alone, so that writing the range again makes the same parts.
 */
import { daysOf, unitsOf } from '../../model/times.ts'
import { ABSENT, createMemberScanner, ESCAPED, NESTED, NULL, STRING, unescapeText, type MemberScanner } from '../../model/json-members.ts'
import type { RefusedRecord, Rows } from '../sink.ts'

/** Parts of a key that are the same for all records of a range. */
const RANGE_PARTS = ['stream', 'pipeline', 'partition'] as const
const TIME_PARTS = ['date', 'year', 'month', 'day', 'hour'] as const
type TimePart = (typeof TIME_PARTS)[number]

/** Used for a member that a record does not have. It is Hive's name, which readers of partitioned folders know. */
export const NO_VALUE = '__HIVE_DEFAULT_PARTITION__'
/** Most folders that members may make of one range, each with its own object; records that would need more are refused. */
export const FOLDERS_MAX = 10_000
/** Most bytes of a member in a key: a store's key has at most 1,024 bytes, a folder's name in a file system 255. */
const VALUE_BYTES_MAX = 200

/** The last millisecond of the year 9999. Timestamps need a limit: a producer may write any 64-bit number. */
const LAST_MS = 253_402_300_799_999
const HOUR_MS = 3_600_000

/** Limits a timestamp to the years 1970 to 9999: records without one (-1), or from before 1970, count as the first day of 1970. */
const inCalendar = (timeMs: number): number => Math.min(Math.max(timeMs, 0), LAST_MS)

/** `{date}` comes from the record's timestamp, `{value.created|date}` from a member; `{value.city}` is the member itself. */
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

/** The template's parts; undefined if one of them is unknown. Parts of the range stay in the text as placeholders. */
export function parseTemplate(template: string): Part[] | undefined {
  // A leftover brace belongs to a mistyped part.
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

/** Whether no part is `.` or `..`, which file systems take for this folder or its parent. */
export const isInside = (path: string): boolean => !path.split('/').some((part) => part === '..' || part === '.')

/** What may stand in braces in a folder’s name. */
export const PART_NAMES = [...RANGE_PARTS, ...TIME_PARTS, 'value.member', 'value.member|date'].map((name) => `{${name}}`)

/** Whether the folder depends on members, so that each record's value has to be scanned. */
export const hasMembers = (template: string): boolean => parseTemplate(template)?.some(({ kind }) => kind === 'member') ?? false

/** Whether the folder depends on the record, on its timestamp or on members, so that rows have to be grouped. */
export const hasFolders = (template: string): boolean => parseTemplate(template)?.some(({ kind }) => kind !== 'fixed') ?? false

/** That part of a time, in UTC. */
function timeText(part: TimePart, timeMs: number): string {
  const [date, time] = new Date(timeMs).toISOString().split('T') as [string, string]
  if (part === 'date') return date
  if (part === 'hour') return time.slice(0, 2)
  return date.split('-')[['year', 'month', 'day'].indexOf(part)]!
}

/** A value as part of a key, without slashes or leading dots; readers of partitioned folders decode the percent-encoding. */
const asFolder = (text: string): string => encodeURIComponent(text.toWellFormed()).replace(/^\.+/, (dots) => '%2E'.repeat(dots.length))

class Misfit extends Error {}

/** A member's time in milliseconds since 1970. The member is a date or time as text, or a number of milliseconds. */
function timeOf(text: string, isText: boolean, path: string): number {
  const days = isText ? daysOf(text) : undefined
  const nanos = isText && days === undefined ? unitsOf(text.replace(/(\.\d{9})\d+/, '$1'), 9) : undefined
  const ms =
    days !== undefined ? days * 24 * HOUR_MS : nanos !== undefined ? floorMs(nanos) : isText ? Number.NaN : Math.floor(Number(text))
  if (!(ms >= FIRST_MS && ms <= LAST_MS))
    throw new Misfit(`the member "${path}" is not a time: it must be text such as 2026-11-22T10:00:00Z, or milliseconds`)
  return ms
}

/** Rounds down, so that the last nanosecond of a day stays in that day. */
const floorMs = (nanos: bigint): number => Number((nanos - (((nanos % MS) + MS) % MS)) / MS)
const MS = 1_000_000n
/** The first millisecond of the year 1. */
const FIRST_MS = -62_135_596_800_000

function unescaped(source: Uint8Array, from: number, to: number, path: string): string {
  try {
    return unescapeText(source, from, to)
  } catch {
    throw new Misfit(`the member "${path}" contains an escape that is not valid JSON`)
  }
}

/** Returns a function that reads this member of a document. */
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
    if (sort === NESTED) throw new Misfit(`the member "${shown}" is an object or array, which can't name a folder`)
    const text = sort === ESCAPED ? unescaped(source, start, end, shown) : Buffer.from(source.subarray(start, end)).toString('utf8')
    if (part) return timeText(part, timeOf(text, sort === STRING || sort === ESCAPED, shown))
    const folder = asFolder(text)
    if (folder.length > VALUE_BYTES_MAX)
      throw new Misfit(`the member "${shown}" takes ${folder.length} bytes of the key; at most ${VALUE_BYTES_MAX} are allowed`)
    return folder
  }
}

/** Returns a function that gives a row's folder, or throws a Misfit if it has none. */
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
  // Records mostly come in order of time, so the folder is computed only when the hour changes.
  let slot = -1
  let folder = ''
  return (rows, row) => {
    const own = Math.floor(inCalendar(rows.times[row]!) / HOUR_MS)
    if (own !== slot) folder = join(rows, row)
    slot = own
    return folder
  }
}

/** The rows of one object, and its folder: the template with the parts that depend on records filled in. */
export type FolderPart = { folder: string; rows: Rows[] }
/** Rows by their folder, or the rows that have none. */
export type FolderParts = { parts: FolderPart[] } | { faults: RefusedRecord[] }

/** One part per folder, in the order of their first rows. */
export function partsByFolder(pieces: readonly Rows[], template: string): FolderParts {
  if (!hasFolders(template)) return { parts: [{ folder: template, rows: [...pieces] }] }
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
            throw new Misfit(`the key ${template} makes more than ${FOLDERS_MAX} folders in one range`)
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

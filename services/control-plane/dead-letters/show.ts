/** Bytes as the API shows them: all of them in base64, and also as text or JSON if possible. */
import type { DeadLetterRow } from '../store/dead-letters.ts'
import { deadLetterId } from '../store/dead-letters.ts'
import { parseExactly } from '../../../shared/model/exact-json.ts'
import { FRAMING_BYTES } from '../../../shared/model/framing.ts'

/** Undefined for bytes that are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** How many more bytes one response may show in full. */
export type ShownBytes = { left: number }
/** Response bytes per byte shown: once in base64, once as text or JSON. */
const SHOWN_TIMES = 2.5
/** How much is shown of bytes that there is no room for. */
const BEGINNING_BYTES = 4096

export const shownBytes = (): ShownBytes => ({ left: (16 << 20) / SHOWN_TIMES })

/** Deducts the bytes from the room; false if they do not fit. */
function isRoomFor(bytes: number, room: ShownBytes | undefined): boolean {
  if (!room) return true
  if (bytes > BEGINNING_BYTES && bytes > room.left) {
    room.left -= BEGINNING_BYTES
    return false
  }
  room.left -= bytes
  return true
}

export function showKey(key: Buffer | null, room?: ShownBytes) {
  if (key === null) return null
  if (!isRoomFor(key.length, room)) return { base64: key.toString('base64', 0, BEGINNING_BYTES), text: null, truncated: true as const }
  return { base64: key.toString('base64'), text: textOf(key) ?? null }
}

/** The value as JSON, after the schema registry's prefix; null where it is none, or too deep to be shown. */
function jsonIn(value: Buffer): unknown {
  const bare = value.length >= FRAMING_BYTES && value[0] === 0 ? value.subarray(FRAMING_BYTES) : value
  try {
    const json = parseExactly(textOf(bare) ?? '')
    return isDeeperThan(json, JSON_DEPTH_MAX) ? null : json
  } catch {
    // Not JSON: only base64 is shown.
    return null
  }
}

/**
 * `json` is null if the value is not JSON, nor becomes it by `decode`. If `room` is given and too small, only the value's beginning is shown,
 * with `truncated`.
 */
export function showValue(value: Buffer | null, room?: ShownBytes, decode?: Decode) {
  if (value === null) return null
  if (!isRoomFor(value.length, room)) return { base64: value.toString('base64', 0, BEGINNING_BYTES), json: null, truncated: true as const }
  return { base64: value.toString('base64'), json: jsonIn(decoded(value, decode)) }
}

/** Makes JSON of a value of an Avro or Protobuf stream. Throws for one that it can't read. */
export type Decode = (value: Buffer) => Buffer

function decoded(value: Buffer, decode: Decode | undefined): Buffer {
  try {
    return decode ? decode(value) : value
  } catch {
    // Why it can't be read may be why it is a dead letter.
    return value
  }
}

/** Deeper values are not shown as JSON, because they could crash a client that parses recursively. */
const JSON_DEPTH_MAX = 64

function isDeeperThan(value: unknown, most: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return false
}

export function showHeader([key, value]: [string, Buffer | null], room?: ShownBytes) {
  if (value && !isRoomFor(value.length, room))
    return { key, base64: value.toString('base64', 0, BEGINNING_BYTES), truncated: true as const }
  return { key, base64: value?.toString('base64') ?? null }
}

export const showDeadLetter = (row: DeadLetterRow, decode: Decode | undefined) => ({
  id: deadLetterId(row),
  partition: row.partition,
  offset: Number(row.record_offset),
  step: row.step,
  module: row.module,
  version: row.version,
  revision: row.revision,
  error: { code: row.error_code, message: row.error_message },
  attempts: row.attempts,
  redrives: row.redrives,
  failed_at: row.failed_at,
  key: showKey(row.key),
  value: showValue(row.value, undefined, decode),
  headers: row.headers,
  // Copies of a dead letter are never shown, only the dead letter itself.
  status: row.status === 'copy' ? 'pending' : row.status,
  job_id: row.job_id,
})

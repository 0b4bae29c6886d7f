/** Keys, values and headers as the API shows them: all of their bytes in base64, and also as text or JSON if possible. */
import { parseExactly } from '../../../shared/model/exact-json.ts'
import { FRAMING_BYTES, isFramed } from '../../../shared/model/framing.ts'
import { BEGINNING_BYTES, isRoomFor, textOf, type ShownBytes } from './bytes.ts'

export function showKey(key: Buffer | null, room?: ShownBytes) {
  if (key === null) return null
  if (!isRoomFor(key.length, room)) return { base64: key.toString('base64', 0, BEGINNING_BYTES), text: null, truncated: true as const }
  return { base64: key.toString('base64'), text: textOf(key) ?? null }
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

/** The value as JSON, after the schema registry's prefix; null where it is none, or too deep to be shown. */
function jsonIn(value: Buffer): unknown {
  const bare = isFramed(value) ? value.subarray(FRAMING_BYTES) : value
  try {
    const json = parseExactly(textOf(bare) ?? '')
    return isDeeperThan(json, JSON_DEPTH_MAX) ? null : json
  } catch {
    // Not JSON: only base64 is shown.
    return null
  }
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

/**
 * `json` is null if the value is not JSON, nor becomes it by `decode`. If `room` is given and too small, only the value's beginning is shown,
 * with `truncated`.
 */
export function showValue(value: Buffer | null, room?: ShownBytes, decode?: Decode) {
  if (value === null) return null
  const beginning = () => ({ base64: value.toString('base64', 0, BEGINNING_BYTES), json: null, truncated: true as const })
  // A value of a few kilobytes may become megabytes of JSON: what there is no room for is not decoded either.
  if (decode && room && room.left <= 0) return beginning()
  const json = decoded(value, decode)
  if (isRoomFor(Math.max(value.length, json.length), room)) return { base64: value.toString('base64'), json: jsonIn(json) }
  // Decoding one after the other to find that out would be the work that this bounds.
  if (decode && room) room.left = Math.min(room.left, 0)
  return beginning()
}

export function showHeader([key, value]: [string, Buffer | null], room?: ShownBytes) {
  if (value && !isRoomFor(value.length, room))
    return { key, base64: value.toString('base64', 0, BEGINNING_BYTES), truncated: true as const }
  return { key, base64: value?.toString('base64') ?? null }
}

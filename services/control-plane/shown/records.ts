/** Keys, values and headers as the API shows them: all of their bytes in base64, and also as text or JSON if possible. */
import { isUtf8 } from 'node:buffer'
import { FRAMING_BYTES, isFramed } from '../../../shared/model/framing.ts'
import { jsonDepth } from '../../../shared/model/json-text.ts'
import { BEGINNING_BYTES, isRoomFor, textOf, type ShownBytes } from './bytes.ts'
import { asPrinted } from './print-json.ts'

export function showKey(key: Buffer | null, room?: ShownBytes) {
  if (key === null) return null
  if (!isRoomFor(key.length, room)) return { base64: key.toString('base64', 0, BEGINNING_BYTES), text: null, truncated: true as const }
  return { base64: key.toString('base64'), text: textOf(key) ?? null }
}

/** Deeper values are not shown as JSON, because they could crash a client that parses recursively. */
const JSON_DEPTH_MAX = 64

/** What is behind the schema registry's prefix. */
const bareOf = (value: Buffer): Buffer => (isFramed(value) ? value.subarray(FRAMING_BYTES) : value)

/** The value as JSON, as it is in the topic; null where it is none, or too deep to be shown. */
function jsonIn(value: Buffer): unknown {
  const bare = bareOf(value)
  const depth = isUtf8(bare) ? jsonDepth(bare) : -1
  return depth < 0 || depth > JSON_DEPTH_MAX ? null : asPrinted(bare)
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

/** The value as `decode` makes it, as far as there is room for both; undefined where there is not. */
function fitting(value: Buffer, room?: ShownBytes, decode?: Decode): Buffer | undefined {
  // A value of a few kilobytes may become megabytes of JSON: what there is no room for is not decoded either.
  if (decode && room && room.left <= 0) return undefined
  const json = decoded(value, decode)
  if (isRoomFor(Math.max(value.length, json.length), room)) return json
  // Decoding one after the other to find that out would be the work that this bounds.
  if (decode && room) room.left = Math.min(room.left, 0)
  return undefined
}

const showBeginning = (value: Buffer) => ({ base64: value.toString('base64', 0, BEGINNING_BYTES), json: null, truncated: true as const })

/**
 * For `printJson`. `json` is null if the value is not JSON and `decode` makes none of it. If `room` is too small, only the value's
 * beginning is shown, with `truncated`.
 */
export function showValue(value: Buffer | null, room?: ShownBytes, decode?: Decode) {
  if (value === null) return null
  const json = fitting(value, room, decode)
  return json ? { base64: value.toString('base64'), json: jsonIn(json) } : showBeginning(value)
}

export function showHeader([key, value]: [string, Buffer | null], room?: ShownBytes) {
  if (value && !isRoomFor(value.length, room))
    return { key, base64: value.toString('base64', 0, BEGINNING_BYTES), truncated: true as const }
  return { key, base64: value?.toString('base64') ?? null }
}

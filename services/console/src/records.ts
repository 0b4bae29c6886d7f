/** Records as they are shown: the bytes as text, exact, and the difference between two of them member by member. */
import { ExactNumber, parseAsWritten, writeJson } from '../../../clients/typescript/src/core/exact-json.ts'
import type { TraceRecord } from '../../../clients/typescript/src/generated/types.ts'
import { Mistyped } from './typed-text.ts'

/** Bytes in front of a value that name its schema: a zero, and four of the schema's id. */
const FRAME_BYTES = 5
const SHOWN_CHARACTERS = 20_000

type Value = TraceRecord['value']

const bytesOf = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (each) => each.codePointAt(0)!)
const decoder = new TextDecoder('utf-8', { fatal: true })

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** What a file holds. Throws Mistyped where that is not UTF-8: it would be another text. */
export async function textOfFile(file: File): Promise<string> {
  const text = textOf(new Uint8Array(await file.arrayBuffer()))
  if (text === undefined) throw new Mistyped('/file', 'is not UTF-8')
  return text
}

/** A header's value. */
export const headerText = (base64: string | null): string => (base64 === null ? '' : (textOf(bytesOf(base64)) ?? base64))

/** A value as JSON with all its digits; undefined where it is none. */
export function jsonOf(value: Value): unknown {
  if (value === null) return undefined
  const bytes = bytesOf(value.base64)
  const text = textOf(bytes[0] === 0 && bytes.length > FRAME_BYTES ? bytes.subarray(FRAME_BYTES) : bytes)
  try {
    if (text !== undefined) return parseAsWritten(text)
  } catch {
    // Shown as text, or as what the service has decoded it to.
  }
  return value.json ?? undefined
}

/** A value as text to read. */
export function shownValue(value: Value): string {
  if (value === null) return 'null (a tombstone)'
  const json = jsonOf(value)
  const text = json === undefined ? (textOf(bytesOf(value.base64)) ?? `base64 ${value.base64}`) : writeJson(json, 2)
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}

/** In one line that may break between members, cut; never within a number, which would be another one. */
export function glimpse(value: Value, characters = 160): string {
  if (value === null) return 'null'
  const json = jsonOf(value)
  const text = json === undefined ? (textOf(bytesOf(value.base64)) ?? value.base64) : writeJson(json, 1).replace(/\n */g, ' ')
  return text.length > characters ? `${text.slice(0, characters).replace(/(?<=[:,[] ?)[-\d][\d.Ee+-]*$/, '')}…` : text
}

export type Change = { path: string; before: string | undefined; after: string | undefined }

/** An object of JSON. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)

/** Adds what differs between two values, member by member. */
export function collect(path: string, before: unknown, after: unknown, into: Change[]): void {
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      collect(path === '' ? name : `${path}.${name}`, before[name], after[name], into)
    return
  }
  const [was, is] = [before === undefined ? undefined : writeJson(before), after === undefined ? undefined : writeJson(after)]
  if (was !== is) into.push({ path: path === '' ? 'value' : path, before: was, after: is })
}

/** What is different, member by member; key and headers too. */
export function changesBetween(before: TraceRecord, after: TraceRecord): Change[] {
  const found: Change[] = []
  collect('', jsonOf(before.value) ?? before.value?.base64, jsonOf(after.value) ?? after.value?.base64, found)
  const keys = [before.key?.text ?? before.key?.base64, after.key?.text ?? after.key?.base64]
  if (keys[0] !== keys[1]) found.push({ path: '(key)', before: keys[0], after: keys[1] })
  const headers = [writeJson(before.headers), writeJson(after.headers)]
  if (headers[0] !== headers[1]) found.push({ path: '(headers)', before: headers[0], after: headers[1] })
  return found
}

/**
 * A body as JSON: how many values it may have, which names it can't have, and whether JavaScript would round its integers. Looked at before
 * the text is parsed, which alone would hold the main thread for seconds.
 */
import { invalidRequest } from '../service-error.ts'
import { LIMITS } from '../../../shared/model/limits.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** , [ and { begin a value each. */
const BEGINNINGS = new Set([0x2c, 0x5b, 0x7b])

/** Where the text behind a quote ends; the end of the document where it does not. */
function endOfText(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end
    while (json.charCodeAt(before - 1) === BACKSLASH && before > from) before--
    if ((end - before) % 2 === 0) return end
  }
  return json.length
}

/** Whether the document has more arrays, objects, members and elements than that. Of text that is not JSON it says nothing of use. */
export function hasMoreValues(json: string, countMax: number): boolean {
  let count = 0
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfText(json, at + 1)
    else if (BEGINNINGS.has(code) && ++count > countMax) return true
  }
  return false
}

/** A name that may be `__proto__`, in any way to write it. */
const PERHAPS_PROTO = /__proto__|\\u00[567]/i

/** The parsed document. Throws 400, as for any body that is not JSON. */
export function parseJsonBody(json: string): unknown {
  if (hasMoreValues(json, LIMITS.body_values_max))
    throw invalidRequest([{ path: '', message: `the body has more than ${LIMITS.body_values_max} values` }])
  try {
    return PERHAPS_PROTO.test(json) ? JSON.parse(json, withoutProto) : JSON.parse(json)
  } catch (error) {
    throw Object.assign(error as Error, { status: 400 })
  }
}

const LONG_INTEGER = /\d{16}/g

/** Whether a number of the document has 16 digits in a row, which JavaScript may round; those in texts do not count. */
export function hasLongNumber(json: string): boolean {
  // Where the text before ends, and the next one starts: each is looked for once, however many long numbers there are.
  let end = 0
  let start = json.indexOf('"')
  for (const { index } of json.matchAll(LONG_INTEGER)) {
    while (start >= 0 && start < index) {
      end = endOfText(json, start + 1) + 1
      start = json.indexOf('"', end)
    }
    if (end <= index) return true
  }
  return false
}

function withoutProto(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new SyntaxError('a member is named __proto__')
  return value
}

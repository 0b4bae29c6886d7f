/**
 * A body as JSON: how many values and escapes it may have, how deep it may nest, and which names it can't have. Looked at before the text
 * is parsed, which alone would hold the main thread for seconds.
 */
import { invalidRequest } from '../service-error.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { pointer } from '../../../shared/model/json-pointer.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Where the text behind a quote ends; the end of the document where it does not. */
export function endOfText(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end
    while (json.charCodeAt(before - 1) === BACKSLASH && before > from) before--
    if ((end - before) % 2 === 0) return end
  }
  return json.length
}

/** What a document may have: arrays, objects, members and elements; levels; backslashes. */
export type Bounds = { values: number; nesting: number; escapes: number }

function hasMoreEscapes(json: string, countMax: number): boolean {
  let count = 0
  for (let at = json.indexOf('\\'); at >= 0; at = json.indexOf('\\', at + 2)) if (++count > countMax) return true
  return false
}

/** Of which the document has more than that, if of any. Of text that is not JSON it says nothing of use. */
export function excessOf(json: string, bounds: Bounds): keyof Bounds | undefined {
  if (hasMoreEscapes(json, bounds.escapes)) return 'escapes'
  let [count, depth] = [0, 0]
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfText(json, at + 1)
    else if (code === COMMA) count++
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      count++
      if (++depth > bounds.nesting) return 'nesting'
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--
    if (count > bounds.values) return 'values'
  }
  return undefined
}

const BOUNDS: Bounds = { values: LIMITS.body_values_max, nesting: LIMITS.nesting_max, escapes: LIMITS.body_escapes_max }
const EXCESSES: Record<keyof Bounds, string> = {
  values: `has more than ${BOUNDS.values} values`,
  nesting: `nests deeper than ${BOUNDS.nesting} levels`,
  escapes: `has more than ${BOUNDS.escapes} escapes in its texts`,
}

/** Throws 400 where the document has more of something than a body may. */
export function assertBounded(json: string): void {
  const excess = excessOf(json, BOUNDS)
  if (excess) throw invalidRequest([{ path: '', message: `the body ${EXCESSES[excess]}` }])
}

/** Whether a name may be `__proto__`, in any way to write it. Texts are searched faster than by an expression. */
const perhapsProto = (json: string): boolean =>
  json.includes('__proto__') || ['5', '6', '7'].some((digit) => json.includes(`\\u00${digit}`))

/** Lines are counted up to here, as a body may have millions. */
const LINES_MAX = 100_000

/** What V8 says of text that is not JSON, with line and column in place of its position, and without the text that it quotes. */
function syntaxFaultOf(message: string, json: string): string {
  const what = message.replace(/ in JSON(?= at position)/, '').replace(/( at position |, ").*$/s, '')
  const position = Number(/ at position (\d+)/.exec(message)?.[1] ?? -1)
  const before = json.slice(0, position).split('\n', LINES_MAX)
  const location = before.length < LINES_MAX ? `line ${before.length}, column ${before.at(-1)!.length + 1}` : `character ${position + 1}`
  return what.charAt(0).toLowerCase() + what.slice(1) + (position < 0 ? '' : ` at ${location}`)
}

/** The document of bounded text, parsed. Throws 400 for what is not JSON, and for a member named `__proto__`. */
export function parseJsonBody(json: string): unknown {
  let body: unknown
  try {
    body = JSON.parse(json)
  } catch (error) {
    throw invalidRequest([{ path: '', message: `the body is not valid JSON: ${syntaxFaultOf(reasonOf(error), json)}` }], error)
  }
  if (perhapsProto(json)) assertNoProto(body, [])
  return body
}

/** A reviver would take three times as long as this. */
function assertNoProto(value: unknown, path: readonly string[]): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) throw invalidRequest([{ path: pointer(path), message: 'must not have a member named __proto__' }])
  for (const [name, each] of Object.entries(value)) assertNoProto(each, [...path, name])
}

/**
 * The records of a pushed body. The service needs no values of them, only that they are JSON and where each is: making values of a megabyte
 * of small ones takes up to a quarter of a second, looking at its bytes a few milliseconds.
 */
import { isUtf8 } from 'node:buffer'
import type { Context } from 'koa'
import { INVALID_REQUEST_STATUSES } from '../../../shared/errors/codes.ts'
import { jsonDepth } from '../../../shared/model/json-text.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import type { Pace } from '../concurrency/pacing.ts'
import { invalidRequest, ServiceError } from '../service-error.ts'
import { bytesOf, lineSpans, type PushedRecords } from '../http/raw-records.ts'

const refusal = (message: string, path = '') => invalidRequest([{ path, message }])

/** By media type: each line is a record, or each element of an array, or the document. Throws 400 or 415. */
export async function pushedRecords(ctx: Pick<Context, 'is'>, body: Buffer, pace: Pace): Promise<PushedRecords> {
  const isLines = ctx.is('application/x-ndjson') !== false
  if (!isLines && !ctx.is('application/json'))
    throw new ServiceError('invalid_request', 'the Content-Type must be application/json or application/x-ndjson', {
      status: INVALID_REQUEST_STATUSES.unsupportedMediaType,
    })
  if (!isUtf8(body)) throw refusal('the body is not UTF-8')
  const { records, depth } = await (isLines ? linesIn(body, pace) : elementsIn(body, pace))
  // The list of them counts as a level.
  if (depth + 1 > LIMITS.nesting_max) throw refusal(`the body nests deeper than ${LIMITS.nesting_max} levels`)
  if (records.spans.length === 0) throw refusal('must hold at least one record')
  return records
}

/** `depth`: of the record that nests deepest. */
type Found = { records: PushedRecords; depth: number }

async function linesIn(body: Buffer, pace: Pace): Promise<Found> {
  const spans = lineSpans(body, '')
  let depth = 0
  await pace.turns(spans.length / 2, (index) => {
    const [from, to] = [spans[2 * index]!, spans[2 * index + 1]!]
    const own = jsonDepth(body, from, to)
    if (own < 0) throw refusal('is not valid JSON', `/${index}`)
    depth = Math.max(depth, own)
    return to - from
  })
  return { records: { bytes: body, spans }, depth }
}

async function elementsIn(body: Buffer, pace: Pace): Promise<Found> {
  const elements: number[] = []
  let depth = -1
  await pace.turns(1, () => {
    depth = jsonDepth(body, 0, body.length, elements)
    return body.length
  })
  if (depth < 0) throw refusal('the body is not valid JSON')
  const isArray = elements.length > 0 || isEmptyArray(body)
  if (!isArray) return { records: { bytes: body, spans: Int32Array.from([0, body.length]) }, depth }
  if (elements.length / 2 > LIMITS.write_records_max) throw refusal(`must hold at most ${LIMITS.write_records_max} records`, '/')
  return { records: { bytes: body, spans: Int32Array.from(elements) }, depth: depth - 1 }
}

/** Whether a JSON document without elements is an array. */
const isEmptyArray = (body: Buffer): boolean => body.subarray(body.findIndex((byte) => byte > 0x20))[0] === 0x5b

/** Slack's is a few hundred bytes. */
const CHALLENGE_BYTES_MAX = 16 << 10

/** The challenge to return when Slack verifies a URL (https://docs.slack.dev/reference/events/url_verification); it is not a record. */
export function challengeIn(records: PushedRecords): string | undefined {
  const [first, second] = [bytesOf(records, 0), records.spans.length > 2]
  if (second || first.length > CHALLENGE_BYTES_MAX) return undefined
  const document: unknown = JSON.parse(first.toString('utf8'))
  if (typeof document !== 'object' || document === null) return undefined
  const { type, challenge } = document as { type?: unknown; challenge?: unknown }
  return type === 'url_verification' && typeof challenge === 'string' ? challenge : undefined
}

/** Bodies of requests: received a few at once for an account, and parsed by their media type. */
import { isAscii } from 'node:buffer'
import type { Context } from 'koa'
import bodyParser from 'koa-bodyparser'
import type { Contract } from '../../../shared/api/contract.ts'
import { NDJSON } from '../../../shared/api/stream-records.ts'
import { INVALID_REQUEST_STATUSES } from '../../../shared/errors/codes.ts'
import { jsonDepth } from '../../../shared/model/json-text.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { invalidRequest, ServiceError } from '../service-error.ts'
import { assertUtf8, parseElements, parseLines, type RawRecords } from './raw-records.ts'
import { createFewAtOnce } from '../concurrency/few-at-once.ts'
import { assertBounded, parseJsonBody } from './json-body.ts'
import { withDigits } from './exact-numbers.ts'
import { assertDepth } from '../middleware/validate.ts'
import { createPacer } from '../concurrency/pacing.ts'

/** Most bodies; their reading needs no turn. */
const SMALL_BODY_BYTES = 16 << 10
const isSmallBody = (ctx: Context): boolean =>
  ctx.request.length !== undefined && ctx.request.length <= SMALL_BODY_BYTES && ctx.get('Content-Encoding') === ''
/** Bodies that take a while to parse and to validate. */
const PACED_BYTES_MIN = 16 << 10
const bodyKind = ({ bodyBytesMax = 0 }: Contract): 'ordinary' | 'large' => (bodyBytesMax > LIMITS.body_bytes_max ? 'large' : 'ordinary')

/**
 * For each account, requests with a body of more than `LIMITS.body_bytes_max` that are being answered: they wait for workshops, and their
 * bodies stay in memory meanwhile.
 */
const HELD_MAX = 16

/** Does the work on a body of so many bytes, one step after the other. */
type InSteps = (bytes: number, steps: readonly (() => void)[]) => Promise<void>

const atOnce: InSteps = async (_bytes, steps) => {
  for (const step of steps) step()
}

/** Reads bodies of accounts: what a client sends slowly, or never to its end, stays in memory meanwhile. */
export function createBodyReader(pacer = createPacer()) {
  const few = { ordinary: createFewAtOnce({ atOnce: 32, waitingMax: 256 }), large: createFewAtOnce({ atOnce: 2 }) }
  const held = createFewAtOnce({ atOnce: HELD_MAX, waitingMax: 0 })
  return {
    /** `work` with the body that was read. Throws ServiceError `rate_limit_exceeded` when the account has too many large ones. */
    holding<T>(ctx: Context, accountId: string, work: () => Promise<T>): Promise<T> {
      const { rawBody } = ctx.request
      const isLarge = (typeof rawBody === 'string' || Buffer.isBuffer(rawBody)) && rawBody.length > LIMITS.body_bytes_max
      return isLarge ? held.during(accountId, work) : work()
    },
    /**
     * As `readBody`, and then `validate`. The thread goes on to others between the steps, and what they take counts for the account, which
     * rests before its next one. Throws ServiceError `rate_limit_exceeded` when too many of the account's bodies are being received.
     */
    async read<T>(ctx: Context, contract: Contract, accountId: string, validate: () => T) {
      // A step that looks at all of the body is a turn of its own.
      const inTurns: InSteps = (bytes, steps) =>
        bytes < PACED_BYTES_MIN
          ? atOnce(bytes, steps)
          : pacer.during(accountId, (pace) =>
              pace.turns(steps.length, (index) => {
                steps[index]!()
                return bytes
              }),
            )
      let input: T | undefined
      const read = () => readBody(ctx, contract, inTurns, () => (input = validate()))
      const records = await (isSmallBody(ctx) ? read() : few[bodyKind(contract)].during(accountId, read))
      return { records, input: input as T }
    },
  }
}

/**
 * Reads and parses the body by its media type, up to the operation's size limit, and then does `validate`. Returns raw records if the
 * operation passes them on.
 */
export async function readBody(
  ctx: Context,
  contract: Contract,
  inSteps = atOnce,
  validate: () => void = () => {},
): Promise<RawRecords | undefined> {
  const accepted = contract.consumes ?? ['application/json']
  const hasBody = ctx.request.length !== 0 && (ctx.request.length !== undefined || ctx.get('Transfer-Encoding') !== '')
  if (hasBody && !ctx.is([...accepted])) {
    throw new ServiceError('invalid_request', `the Content-Type must be ${accepted.join(' or ')}`, {
      status: INVALID_REQUEST_STATUSES.unsupportedMediaType,
    })
  }
  const charset = ctx.request.charset.toLowerCase()
  if (hasBody && charset !== '' && charset !== 'utf-8' && charset !== 'utf8') {
    throw new ServiceError('invalid_request', 'the charset must be utf-8', { status: INVALID_REQUEST_STATUSES.unsupportedMediaType })
  }
  const limit = `${contract.bodyBytesMax ?? LIMITS.body_bytes_max}b`
  const isJson = hasBody && Boolean(ctx.is('application/json'))
  let records: RawRecords | undefined
  if (contract.passesRecordsOn) {
    records = hasBody ? await readRecords(ctx, limit) : undefined
    validate()
  } else if (isJson) {
    const bytes = await readBytes(ctx, ['application/json'], limit)
    let text = ''
    await inSteps(bytes.length, [
      () => assertBounded((text = textIn(bytes))),
      () => Object.assign(ctx.request, { rawBody: text, body: parseJsonBody(text) }),
      () => (ctx.request.body = withDigits(text, ctx.request.body, contract.exactMembers)),
      validate,
    ])
  } else {
    const parse = bodyParser({ enableTypes: ['form'], formLimit: limit })
    await parse(ctx as never, async () => {})
    if (!hasBody) ctx.request.body = undefined
    validate()
  }
  return records
}

/** Without a byte order mark. Malformed bytes would become replacement characters, and be stored as such. */
function textIn(bytes: Buffer): string {
  // A large text of this kind is kept outside of V8's heap, which is then collected less often.
  if (isAscii(bytes)) return bytes.toString('latin1')
  assertUtf8(bytes)
  return new TextDecoder().decode(bytes)
}

/** The body's text, for a handler that uses parts of it byte for byte. */
export const textFor = (ctx: Context, { passesTextOn }: Contract): { text?: string } =>
  passesTextOn && typeof ctx.request.rawBody === 'string' ? { text: ctx.request.rawBody } : {}

/** Levels around a record: the object of the body and the list in it. */
const AROUND_RECORD = 2

/** The depth of the record that nests deepest, read from the bytes: walking through a parsed megabyte of small values takes 250 ms. */
function depthOf({ bytes, spans }: RawRecords): number {
  let deepest = 0
  for (let at = 0; at < spans.length; at += 2) deepest = Math.max(deepest, jsonDepth(bytes, spans[at], spans[at + 1]))
  return deepest
}

/** Throws 400 where the body nests too deep, naming the first record that does. */
function assertRecordDepth(depth: number, raw: RawRecords | undefined): void {
  if (depth <= LIMITS.nesting_max) return
  const most = LIMITS.nesting_max - AROUND_RECORD
  for (let at = 0; raw && at < raw.spans.length; at += 2)
    if (jsonDepth(raw.bytes, raw.spans[at], raw.spans[at + 1]) > most)
      throw invalidRequest([{ path: `/records/${at / 2}`, message: `nests deeper than ${most} levels` }])
  assertDepth(depth)
}

async function linesOf(bytes: Buffer): ReturnType<typeof parseElements> {
  const raw = await parseLines(bytes)
  return { rest: {}, raw, depth: AROUND_RECORD + depthOf(raw) }
}

/** The body as it came. Decoding it to a text here, as the parser does by default, would keep the thread for as long as all the rest. */
async function readBytes(ctx: Context, types: string[], limit: string): Promise<Buffer> {
  // Without an encoding the parser hands on bytes; its types leave the option out.
  const options = { enableTypes: ['text'], textLimit: limit, encoding: null, extendTypes: { text: types } }
  const parse = bodyParser(options)
  await parse(ctx as never, async () => {})
  const { body } = ctx.request
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0)
}

async function readRecords(ctx: Context, limit: string): Promise<RawRecords | undefined> {
  const bytes = await readBytes(ctx, [NDJSON, 'application/json'], limit)
  const isLines = ctx.is(NDJSON) !== false
  const { rest, raw, depth } = isLines ? await linesOf(bytes) : await parseElements(bytes)
  // The schema checks what surrounds the records and that there is at least one, so the first record is enough for it.
  ctx.request.body = raw ? { ...(rest as object), records: raw.values.slice(0, 1) } : rest
  assertRecordDepth(depth, raw)
  return raw
}

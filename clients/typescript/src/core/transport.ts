/**
 * One request: token, timeout, retries. What may be sent again is decided by the operation and by what came back: reads and operations that
 * honour an Idempotency-Key always, every other request only where it is certain that it was not done.
 */
import { ApiError, ConnectionError, reasonOf } from './errors.ts'
import { parseAsWritten, parseJson, writeJson } from './exact-json.ts'
import { pause, unlessAborted } from './pause.ts'
import { createTokens, type Token } from './tokens.ts'

export type ClientOptions = {
  /** Where the service is, such as `https://api.example.com`; a path in front of `/v1` is kept. */
  url: string
  apiKey: string
  apiSecret: string
  /** Attempts after the first one (default: 8, which is 15 to 30 seconds where the service can't be reached). */
  retriesMax?: number
  /** Time limit of one attempt, in milliseconds (default: 180,000, longer than any operation takes but `manifests.apply`). */
  timeoutMs?: number
  /**
   * Numbers of answers and records keep the form they were written in: 12.50 is an ExactNumber, not 12.5. For programs that pass records on
   * or show them.
   */
  keepsNumbersAsWritten?: boolean
  /** Ends every request of this client. */
  signal?: AbortSignal | undefined
  fetch?: typeof globalThis.fetch
}

export type Query = Record<string, string | number | bigint | boolean | undefined>
export type CallOptions = {
  query?: Query | undefined
  body?: unknown
  /** Lines of JSON instead of one document. */
  lines?: string
  /** A POST that changes nothing. */
  isRead?: boolean
  /** The operation honours Idempotency-Key; one is made where none is given. */
  isIdempotent?: boolean
  idempotencyKey?: string | undefined
  /** Do it only if the resource still has this ETag; else an ApiError with the code `precondition_failed`. */
  ifMatch?: string | undefined
  /** Called with the ETag of the resource as it is answered. */
  onTag?: ((tag: string) => void) | undefined
  signal?: AbortSignal | undefined
}
/** Names of options, which no operation has in its query. */
const OPTIONS = ['ifMatch', 'onTag', 'idempotencyKey', 'signal']
export type Transport = {
  /** The answer's body; undefined where there is none. Throws ApiError and ConnectionError. */
  call<T>(method: string, path: string, options?: CallOptions): Promise<T>
  /** The answer itself, for a stream of events; not tried again. */
  open(path: string, query: Query, headers: Record<string, string>, signal: AbortSignal): Promise<Response>
  /** JSON of the service. Throws SyntaxError. */
  parse(text: string): unknown
  retriesMax: number
  /** The client's own. */
  signal: AbortSignal | undefined
}

const RETRY_MS = 200
const RETRY_MAX_MS = 10_000
/** How long a request waits for an earlier attempt of its own: the service takes about 90 seconds at most for the slowest, a deployment. */
const IN_PROGRESS_MAX_MS = 120_000

/** With jitter, so that clients which were refused together do not come back together. */
export const backoff = (attempt: number): number => Math.min(RETRY_MS * 2 ** attempt, RETRY_MAX_MS) * (0.5 + Math.random() / 2)

/** There is no token: the request itself was not sent. */
class NotSent extends Error {}

/** A part of a path. Throws TypeError for what would name another resource. */
export function segment(id: string): string {
  if (id === '' || id === '.' || id === '..') throw new TypeError(`${JSON.stringify(id)} is not an id`)
  return encodeURIComponent(id)
}

/** Throws TypeError for what no request could be sent to, which would be tried in vain for half a minute. */
function baseOf(url: string): string {
  const protocol = URL.canParse(url) ? new URL(url).protocol : ''
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(`${url} is not an address as https://api.example.com`)
  return `${url.replace(/\/+$/, '')}/v1`
}

/** The service redirects no request, and one that followed would become a GET: where a browser hides a redirect, its status is 0. */
const isSuccess = (status: number): boolean => status >= 200 && status < 300

const both = (a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined =>
  a && b ? AbortSignal.any([a, b]) : (a ?? b)

export function createTransport({ url, apiKey, apiSecret, retriesMax = 8, timeoutMs = 180_000, ...options }: ClientOptions): Transport {
  const base = baseOf(url)
  const unreachable = (error: unknown) => new ConnectionError(`can't reach ${base}: ${reasonOf(error)}`, error)
  const send = options.fetch ?? globalThis.fetch
  const parse = options.keepsNumbersAsWritten ? parseAsWritten : parseJson

  const tokens = createTokens(() =>
    attempt<Token>(`${base}/auth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ api_key: apiKey, api_secret: apiSecret }),
    }),
  )

  /** One attempt, the answer's body included. */
  async function attempt<T>(target: string, init: RequestInit, signal?: AbortSignal, onTag?: (tag: string) => void): Promise<T> {
    const late = AbortSignal.timeout(timeoutMs)
    let status: number
    let headers: Headers
    let text: string
    try {
      const answer = await send(target, { ...init, redirect: 'manual', signal: both(late, signal) ?? late })
      ;[status, headers, text] = [answer.status, answer.headers, await answer.text()]
    } catch (error) {
      if (signal?.aborted) throw error
      throw late.aborted ? new ConnectionError(`no answer within ${timeoutMs / 1000} s`, error) : unreachable(error)
    }
    let body: unknown
    try {
      body = text === '' ? undefined : parse(text)
    } catch {
      body = undefined
    }
    // An answer without a length may end anywhere, and is then as good as none.
    if (body === undefined && isSuccess(status) && headers.get('content-type')?.startsWith('application/json'))
      throw unreachable(new Error('the answer ended early'))
    if (body === undefined && text !== '') throw new ApiError(status, undefined, headers)
    if (!isSuccess(status)) throw new ApiError(status, body, headers)
    const tag = headers.get('etag')
    if (tag !== null) onTag?.(tag)
    return body as T
  }

  /** With a token; once more with another one where the service refuses it. */
  async function authorised<T>(signal: AbortSignal | undefined, work: (authorization: string) => Promise<T>): Promise<T> {
    const tokenOrNot = (): Promise<string> =>
      unlessAborted(tokens.get(), signal).catch((cause: unknown) => {
        throw signal?.aborted ? cause : new NotSent('there is no token', { cause })
      })
    const token = await tokenOrNot()
    try {
      return await work(`Bearer ${token}`)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error
      tokens.refuse(token)
      return work(`Bearer ${await tokenOrNot()}`)
    }
  }

  return {
    parse,
    retriesMax,
    signal: options.signal,
    call<T>(
      method: string,
      path: string,
      { query, body, lines, isRead = false, isIdempotent = false, idempotencyKey, ifMatch, onTag, ...own }: CallOptions = {},
    ) {
      const signal = both(options.signal, own.signal)
      const key = isIdempotent ? (idempotencyKey ?? crypto.randomUUID()) : undefined
      const headers: Record<string, string> = {
        ...(lines !== undefined ? { 'content-type': 'application/x-ndjson' } : {}),
        ...(body !== undefined ? { 'content-type': 'application/json' } : {}),
        ...(key !== undefined ? { 'idempotency-key': key } : {}),
        ...(ifMatch !== undefined ? { 'if-match': ifMatch } : {}),
      }
      const content = lines ?? (body === undefined ? undefined : writeJson(body))
      const isSafe = method === 'GET' || isRead || isIdempotent
      return withRetries({ retriesMax, isSafe, hasKey: isIdempotent, signal }, () =>
        authorised(signal, (authorization) =>
          attempt<T>(
            base + withQuery(path, query),
            { method, headers: { ...headers, authorization }, ...(content === undefined ? {} : { body: content }) },
            signal,
            onTag,
          ),
        ),
      )
    },
    open: (path, query, headers, signal) =>
      authorised(signal, async (authorization) => {
        const init: RequestInit = { headers: { ...headers, authorization }, redirect: 'manual', signal }
        const answer = await send(base + withQuery(path, query), init).catch((error: unknown) => {
          throw signal.aborted ? error : unreachable(error)
        })
        if (answer.status === 200 && answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer
        throw new ApiError(answer.status, safely(await answer.text(), parse), answer.headers)
      }).catch((error: unknown) => {
        throw error instanceof NotSent ? error.cause : error
      }),
  }
}

type Retried = { retriesMax: number; isSafe: boolean; hasKey: boolean; signal: AbortSignal | undefined }

/** `isSafe`: it may be sent again even if it may have been done. */
async function withRetries<T>({ retriesMax, isSafe, hasKey, signal }: Retried, work: () => Promise<T>): Promise<T> {
  let tried = 0
  let waitsUntil: number | undefined
  /** Why an earlier attempt got no answer. */
  let lost: unknown
  for (;;) {
    try {
      return await work()
    } catch (thrown) {
      const error: unknown = thrown instanceof NotSent ? thrown.cause : thrown
      if (hasKey && error instanceof ApiError && error.status === 409 && error.retryAfterMs !== undefined) {
        // The attempt before this one is still being worked on.
        waitsUntil ??= Date.now() + IN_PROGRESS_MAX_MS
        if (Date.now() >= waitsUntil) throw lost ?? error
        await pause(error.retryAfterMs, signal)
        continue
      }
      const wait = retryAfter(error, thrown instanceof NotSent || isSafe)
      if (wait === undefined || tried >= retriesMax) throw error
      if (error instanceof ConnectionError) lost = error
      await pause(wait ?? backoff(tried), signal)
      tried++
    }
  }
}

/** Milliseconds to wait before another attempt, null where the service does not say; undefined where there is to be none. */
function retryAfter(error: unknown, isSafe: boolean): number | null | undefined {
  if (error instanceof ConnectionError) return isSafe ? null : undefined
  if (!(error instanceof ApiError)) return undefined
  const { status, retryAfterMs } = error
  if (status === 429 || (isSafe && [502, 503, 504].includes(status))) return retryAfterMs ?? null
  return undefined
}

function withQuery(path: string, query: Query = {}): string {
  const misplaced = OPTIONS.find((name) => Object.hasOwn(query, name))
  if (misplaced !== undefined) throw new TypeError(`${misplaced} is an option, which comes behind the query: (…, {}, { ${misplaced} })`)
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return `${path}${given.length > 0 ? `?${new URLSearchParams(given)}` : ''}`
}

function safely(text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/**
 * One request: token, timeout, retries. What may be sent again is decided by the method and by what came back: reads always, writes with an
 * Idempotency-Key always, every other request only where the service says that it was not done (429).
 */
import { ApiError, ConnectionError } from './errors.ts'
import { parseJson, writeJson } from './exact-json.ts'
import { createTokens, type Token } from './tokens.ts'

export type ClientOptions = {
  /** Where the service is, such as `https://api.example.com`; a path in front of `/v1` is kept. */
  url: string
  apiKey: string
  apiSecret: string
  /** Attempts after the first one (default: 4). */
  retriesMax?: number
  /** Of one attempt, in milliseconds (default: 30,000). */
  timeoutMs?: number
  fetch?: typeof globalThis.fetch
}

export type Query = Record<string, string | number | bigint | boolean | undefined>
export type CallOptions = {
  query?: Query | undefined
  body?: unknown
  /** Lines of JSON instead of one document. */
  lines?: string
  /** The operation honours Idempotency-Key; one is made where none is given. */
  isIdempotent?: boolean
  idempotencyKey?: string | undefined
  /** The resource's ETag: done only if it is still this one. */
  ifMatch?: string | undefined
  signal?: AbortSignal | undefined
}
export type Transport = {
  /** The answer's body; undefined where there is none. Throws ApiError and ConnectionError. */
  call<T>(method: string, path: string, options?: CallOptions): Promise<T>
  /** The answer itself, for a stream of events; not tried again. */
  open(path: string, query: Query, headers: Record<string, string>, signal: AbortSignal): Promise<Response>
}

const RETRY_MS = 200
const RETRY_MAX_MS = 10_000

/** With jitter, so that clients which were refused together do not come back together. */
const backoff = (attempt: number): number => Math.min(RETRY_MS * 2 ** attempt, RETRY_MAX_MS) * (0.5 + Math.random() / 2)

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }
    const timer = setTimeout(done, ms)
    const stop = () => {
      clearTimeout(timer)
      reject(signal!.reason instanceof Error ? signal!.reason : new Error('the request was aborted'))
    }
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}

export function createTransport({ url, apiKey, apiSecret, retriesMax = 4, timeoutMs = 30_000, ...options }: ClientOptions): Transport {
  const base = `${url.replace(/\/+$/, '')}/v1`
  const send = options.fetch ?? globalThis.fetch

  const tokens = createTokens(() =>
    withRetries(true, undefined, () =>
      attempt<Token>(`${base}/auth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ api_key: apiKey, api_secret: apiSecret }),
      }),
    ),
  )

  /** One attempt. `signal` is the caller's. */
  async function attempt<T>(target: string, init: RequestInit, signal?: AbortSignal): Promise<T> {
    const late = AbortSignal.timeout(timeoutMs)
    const all = signal ? AbortSignal.any([late, signal]) : late
    let status: number
    let headers: Headers
    let text: string
    try {
      const answer = await send(target, { ...init, signal: all })
      ;[status, headers, text] = [answer.status, answer.headers, await answer.text()]
    } catch (error) {
      if (signal?.aborted) throw error
      throw new ConnectionError(late.aborted ? `no answer within ${timeoutMs / 1000} s` : `can't reach ${base}`, error)
    }
    let body: unknown
    try {
      body = text === '' ? undefined : parseJson(text)
    } catch {
      throw new ApiError(status >= 400 ? status : 502, undefined, headers)
    }
    if (status >= 400) throw new ApiError(status, body, headers)
    return body as T
  }

  /** `isSafe`: it may be sent again even if it may have been done. */
  async function withRetries<T>(isSafe: boolean, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    for (let tried = 0; ; tried++) {
      try {
        return await work()
      } catch (error) {
        const isRefused = error instanceof ApiError && error.status === 429
        const isAway = error instanceof ConnectionError || (error instanceof ApiError && [502, 503, 504].includes(error.status))
        if (tried >= retriesMax || !(isRefused || (isAway && isSafe))) throw error
        const asked = error instanceof ApiError ? error.retryAfterMs : undefined
        await pause(asked ?? backoff(tried), signal)
      }
    }
  }

  /** With a token; once more with another one where the service refuses it. */
  async function authorised<T>(work: (authorization: string) => Promise<T>): Promise<T> {
    const token = await tokens.get()
    try {
      return await work(`Bearer ${token}`)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error
      tokens.refuse(token)
      return work(`Bearer ${await tokens.get()}`)
    }
  }

  const targetOf = (path: string, query: Query = {}): string => {
    const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
    return `${base}${path}${given.length > 0 ? `?${new URLSearchParams(given)}` : ''}`
  }

  return {
    call<T>(method: string, path: string, { query, body, lines, isIdempotent, idempotencyKey, ifMatch, signal }: CallOptions = {}) {
      const key = idempotencyKey ?? (isIdempotent ? crypto.randomUUID() : undefined)
      const headers: Record<string, string> = {
        ...(lines !== undefined ? { 'content-type': 'application/x-ndjson' } : {}),
        ...(body !== undefined ? { 'content-type': 'application/json' } : {}),
        ...(key !== undefined ? { 'idempotency-key': key } : {}),
        ...(ifMatch !== undefined ? { 'if-match': ifMatch } : {}),
      }
      const content = lines ?? (body === undefined ? undefined : writeJson(body))
      return withRetries(method === 'GET' || key !== undefined, signal, () =>
        authorised((authorization) =>
          attempt<T>(
            targetOf(path, query),
            { method, headers: { ...headers, authorization }, ...(content === undefined ? {} : { body: content }) },
            signal,
          ),
        ),
      )
    },
    open: (path, query, headers, signal) =>
      authorised(async (authorization) => {
        const answer = await send(targetOf(path, query), { headers: { ...headers, authorization }, signal }).catch((error: unknown) => {
          throw signal.aborted ? error : new ConnectionError(`can't reach ${base}`, error)
        })
        if (answer.status === 200) return answer
        const text = await answer.text()
        throw new ApiError(answer.status, safely(text), answer.headers)
      }),
  }
}

function safely(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** What can go wrong: an answer of the service, or none at all. */

/** One fault of a request: a JSON pointer into it, and what is wrong there; line and column in a source. */
export type Detail = { path: string; message: string; line?: number; column?: number; text?: string }

/** Longer waits are not worth a program's time. */
const WAIT_MAX_MS = 120_000

/** Retry-After in milliseconds: seconds or a date (RFC 9110 §10.2.3). */
function waitOf(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), WAIT_MAX_MS)
}

/** What an answer of another server is, in a few words. */
function shortOf(status: number, headers: Headers): string {
  if (status === 0) return 'a redirect'
  const place = headers.get('location')
  if (status >= 300 && status < 400 && place) return `${status}, which leads to ${place}`
  return `${status} ${headers.get('content-type')?.replace(/;.*/s, '') ?? ''}`.trim()
}

/** The service refused the request, or failed. */
export class ApiError extends Error {
  /** Such as `not_found` or `invalid_request`; `unexpected_answer` where it was not the service that answered. */
  readonly code: string
  readonly status: number
  readonly details: readonly Detail[]
  /** Names the request in the service's logs. */
  readonly requestId: string | undefined
  /** How long the service asks to wait before the next attempt. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, body: unknown, headers: Headers) {
    const error = (typeof body === 'object' && body !== null ? (body as { error?: Partial<ApiError> }).error : undefined) ?? {}
    super(typeof error.message === 'string' ? error.message : `not the service's answer (${shortOf(status, headers)})`)
    this.name = 'ApiError'
    this.status = status
    this.code = typeof error.code === 'string' ? error.code : 'unexpected_answer'
    this.details = Array.isArray(error.details) ? (error.details as Detail[]) : []
    this.requestId = headers.get('x-request-id') ?? undefined
    this.retryAfterMs = waitOf(headers.get('retry-after'))
  }
}

/** Why a request got no answer: `fetch failed` by itself says nothing. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return String(cause)
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
}

/** No answer came: the service can't be reached, or took too long. `cause` says why. */
export class ConnectionError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'ConnectionError'
  }
}

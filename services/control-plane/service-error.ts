/** The error that handlers throw: a code of the table, a public message, and optionally details for the log only. */
import { ERROR_CODES, type ErrorCode } from '../../shared/errors/codes.ts'
import type { Scope } from '../../shared/model/limits.ts'
import { cutText, REASON_CHARACTERS_MAX } from '../../shared/model/text.ts'

/** One fault of a request; `path` is a JSON pointer (RFC 6901) into the body, or /query/<name>, /path/<name>, /header/<name>. */
export type Detail = {
  path: string
  message: string
  /** Line and column of a fault in a source, from 1, and what stands in that line. */
  line?: number
  column?: number
  text?: string | undefined
}

/** Optional parts of a ServiceError; `status` replaces the status of the code. */
export type ServiceErrorOptions = {
  status?: number
  details?: Detail[]
  headers?: Record<string, string>
  internal?: string
  cause?: unknown
}

/** An error that becomes an HTTP response with its code, message and details. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: Detail[] | undefined
  readonly headers: Record<string, string>
  /** For the log only. */
  readonly internal: string | undefined

  /** `message` is public: what happened and what to do, without secrets or internals. */
  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.status = options.status ?? ERROR_CODES[code].status
    this.details = options.details
    this.headers = options.headers ?? {}
    this.internal = options.internal
  }
}

const DETAILS_IN_MESSAGE = 5
/** A path has names that the client chose, of up to a body's size. */
const PATH_CHARACTERS_MAX = 500

/** A 400 error whose details name every fault, and whose message names the first five. */
export function invalidRequest(faults: Detail[], cause?: unknown): ServiceError {
  const details = faults.map((fault) => ({
    ...fault,
    path: cutText(fault.path, PATH_CHARACTERS_MAX),
    message: cutText(fault.message, REASON_CHARACTERS_MAX),
  }))
  const shown = details.slice(0, DETAILS_IN_MESSAGE).map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  const more = details.length > shown.length ? ` (and ${details.length - shown.length} more)` : ''
  return new ServiceError('invalid_request', `invalid request: ${cutText(shown.join('; '), REASON_CHARACTERS_MAX)}${more}`, {
    details,
    cause,
  })
}

/** A 404 error saying that `what` does not exist. */
export const notFound = (what: string): ServiceError => new ServiceError('not_found', `${what} does not exist`)

/** A 403 error naming a scope that the caller lacks: a member by its role, another by its key. `why`: "to read a stream". */
export const lacksScope = ({ session }: { session?: unknown }, scope: Scope, why?: string): ServiceError =>
  new ServiceError(
    'forbidden',
    `the ${session ? 'member’s role' : 'API key'} lacks the scope ${scope}${why === undefined ? '' : `, which is needed ${why}`}`,
  )

/** A 503 error saying that `what` is not available, with Retry-After 5 s; the cause goes to the log only. */
export const unavailable = (what: string, cause?: unknown): ServiceError =>
  new ServiceError('unavailable', `${what} is not available at the moment, please try again`, {
    headers: { 'Retry-After': '5' },
    cause,
    internal: cause instanceof Error ? cause.message : undefined,
  })

/** The body of an error response: code, message and status, with the request id and, if there are any, the details. */
export function errorEnvelope(error: ServiceError, requestId: string): { error: Record<string, unknown> } {
  return {
    error: {
      code: error.code,
      message: error.message,
      status: error.status,
      request_id: requestId,
      ...(error.details ? { details: error.details } : {}),
    },
  }
}

/** 429 for a caller that has as much under way as it may: it passes within moments. `what`: who has too many of what. */
export const tooManyAtOnce = (what: string): ServiceError =>
  new ServiceError('rate_limit_exceeded', `${what} at once, try again in a second`, { headers: { 'Retry-After': '1' } })

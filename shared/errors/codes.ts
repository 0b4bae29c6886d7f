/** The one table of error codes: what a client sees, its HTTP status, and what it means. Docs are generated from it. */
export const ERROR_CODES = {
  invalid_request: { status: 400, meaning: 'The request is malformed or a parameter is missing or wrong; `details` names each fault.' },
  invalid_credentials: { status: 401, meaning: 'Authentication failed, or the token is invalid, expired or revoked.' },
  forbidden: { status: 403, meaning: 'The key has no permission for the operation.' },
  not_found: { status: 404, meaning: 'The resource does not exist.' },
  conflict: {
    status: 409,
    meaning: 'The request does not fit the present state: a name is taken, a resource is in use, a transition is not possible.',
  },
  precondition_failed: { status: 412, meaning: 'If-Match names another version of the resource.' },
  rate_limit_exceeded: { status: 429, meaning: 'The rate limit is exceeded; Retry-After tells when to come back.' },
  server_error: { status: 500, meaning: 'An internal error; the request id helps us find it.' },
  unavailable: { status: 503, meaning: 'A part of the service is away for the moment; Retry-After tells when to come back.' },
} as const

export type ErrorCode = keyof typeof ERROR_CODES

/** Statuses that share the code invalid_request but say more precisely what is wrong. */
export const INVALID_REQUEST_STATUSES = { methodNotAllowed: 405, tooLarge: 413, unsupportedMediaType: 415 } as const

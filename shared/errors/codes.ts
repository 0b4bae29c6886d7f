/** The table of all error codes that clients see, with HTTP status and meaning. docs/errors.md is generated from it. */
export const ERROR_CODES = {
  invalid_request: { status: 400, meaning: 'The request is malformed or a parameter is missing or wrong; `details` names each fault.' },
  invalid_credentials: { status: 401, meaning: 'Authentication failed, or the token is invalid, expired or revoked.' },
  forbidden: { status: 403, meaning: 'The key or the member’s role lacks the scope, or no key may do this; the message says which.' },
  account_suspended: { status: 403, meaning: 'The account is suspended; the message says why.' },
  quota_exceeded: { status: 403, meaning: 'The account has as much as its type may have; the message names the quota (`GET /account`).' },
  not_found: { status: 404, meaning: 'The resource does not exist.' },
  conflict: {
    status: 409,
    meaning: 'The request conflicts with the current state: a name is taken, a resource is in use, or a transition is not possible.',
  },
  precondition_failed: { status: 412, meaning: 'If-Match names another version of the resource.' },
  rate_limit_exceeded: { status: 429, meaning: 'The rate limit is exceeded; Retry-After says how long to wait.' },
  server_error: { status: 500, meaning: 'An internal error; the request id helps us find it.' },
  unavailable: { status: 503, meaning: 'A part of the service is temporarily unavailable; Retry-After says how long to wait.' },
} as const

/** A code of the table. */
export type ErrorCode = keyof typeof ERROR_CODES

/** More specific statuses that share the code invalid_request. */
export const INVALID_REQUEST_STATUSES = { methodNotAllowed: 405, tooLarge: 413, unsupportedMediaType: 415, expectationFailed: 417 } as const

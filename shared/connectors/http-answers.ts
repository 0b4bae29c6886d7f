/** What a web service says of the records that it was sent, for sinks that speak HTTP. */

/** Temporary failures (RFC 9110, RFC 6585): nothing is wrong with the records sent. */
const TRY_AGAIN = new Set([408, 409, 423, 425, 429])
/** Failures of the address, the method or the caller: no record is to blame, and no repetition helps. */
const CONFIG = new Set([401, 402, 403, 404, 405, 407, 410, 415, 421, 501, 505])

/** What a status means for a sink; `at_fault`: the service works, and refuses these records. */
export function meaningOf(status: number): 'delivered' | 'retry' | 'permanent' | 'at_fault' {
  if (status >= 200 && status < 300) return 'delivered'
  if (CONFIG.has(status) || status < 400) return 'permanent'
  return TRY_AGAIN.has(status) || status >= 500 ? 'retry' : 'at_fault'
}

/** Reads Retry-After (RFC 9110 §10.2.3): seconds, or a date. Returns milliseconds, at most an hour; 0 without the header. */
export function retryAfterMs(value: string | null, nowMs: number): number {
  if (value === null) return 0
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - nowMs
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), 3_600_000) : 0
}

/** Headers of every response that limit what a browser does with it. */
import type { Context, Next } from 'koa'

/** A year (RFC 6797); browsers ignore it over plain HTTP. */
const HSTS = 'max-age=31536000; includeSubDomains'
/** Nothing is loaded or framed; the docs page has its style inline. */
const CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

export async function securityHeaders(ctx: Context, next: Next): Promise<void> {
  ctx.set({
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Content-Security-Policy': CSP,
    'Strict-Transport-Security': HSTS,
    'Cache-Control': 'no-store',
  })
  await next()
}

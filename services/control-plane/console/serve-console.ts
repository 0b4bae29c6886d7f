/** Serves the console under `/console/`, and leads browsers there from `/`. Its pages use the public API alone. */
import type Router from '@koa/router'
import type { Context } from 'koa'
import { notFound } from '../service-error.ts'
import type { ConsoleFiles } from './console-files.ts'

/** Scripts and styles of the console alone; it talks to its own origin. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const NOT_BUILT = 'The console is not built here: run `make build` and start the service again.\n'

/** `admit` limits requests, which need no token. */
export function serveConsole(router: Router, files: ConsoleFiles | undefined, admit: (ctx: Context) => Promise<void>): void {
  /** Relative, so that it holds below any path that a proxy adds. What a page has in its address stays. */
  function lead(ctx: Context): void {
    ctx.status = 302
    ctx.set('Location', `console/${ctx.search}`)
    ctx.type = 'text'
    ctx.body = 'The console is at console/, the API at v1/, its description at openapi.json.\n'
  }
  router.get('/', lead)
  router.get(/^\/console(?:\/.*)?$/, async (ctx) => {
    if (ctx.path === '/console') return lead(ctx)
    const path = ctx.path.slice('/console/'.length)
    const file = files?.file(path)
    if (file) {
      ctx.type = file.type
      if (file.isImmutable) ctx.set('Cache-Control', 'public, max-age=31536000, immutable')
      ctx.body = file.bytes
      return
    }
    await admit(ctx)
    if (path.startsWith('assets/')) throw notFound('the file')
    ctx.set('Content-Security-Policy', CSP)
    ctx.type = files ? 'html' : 'text'
    ctx.status = files ? 200 : 404
    ctx.body = files ? files.page(path.split('/').length - 1) : NOT_BUILT
  })
}

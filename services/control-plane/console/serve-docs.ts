/** Serves the documentation under `/docs/`: static pages of this version, with their own search. */
import type Router from '@koa/router'
import type { Context } from 'koa'
import { notFound } from '../service-error.ts'
import type { BuiltFile } from './built-files.ts'

/** Its own files, and nothing of elsewhere. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** `admit` limits requests, which need no token. */
export function serveDocs(router: Router, files: ReadonlyMap<string, BuiltFile> | undefined, admit: (ctx: Context) => Promise<void>): void {
  router.get(/^\/docs(?:\/.*)?$/, async (ctx) => {
    const path = ctx.path.slice('/docs/'.length)
    const file = files?.get(path === '' || path.endsWith('/') ? `${path}index.html` : path)
    // What is in memory counts towards no limit, as with the console's files.
    if (!file) await admit(ctx)
    else if (!file.type.startsWith('text/html')) ctx.set('Cache-Control', 'public, max-age=300')
    if (!files) throw notFound('the documentation, which `make build` makes,')
    // Relative, so that it holds below any path that a proxy adds.
    const place = ctx.path === '/docs' ? 'docs/' : `${path.slice(path.lastIndexOf('/') + 1)}.html`
    if (ctx.path === '/docs' || (!file && files.has(`${path}.html`))) {
      ctx.status = 302
      ctx.set('Location', place)
      ctx.body = ''
      return
    }
    if (!file) throw notFound('the page')
    ctx.set('Content-Security-Policy', CSP)
    ctx.type = file.type
    ctx.body = file.bytes
  })
}

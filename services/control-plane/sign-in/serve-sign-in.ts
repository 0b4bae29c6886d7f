/**
 * Signing in with an OpenID Connect provider, as browsers do it: `/sign-in` leads to the provider, `/sign-in/callback` back to the console.
 * Only members sign in, to accounts that they have confirmed before: by coming here while they were signed in by a link or password.
 */
import type Router from '@koa/router'
import type { Context } from 'koa'
import { Email } from '../../../shared/api/members.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import type { Deps } from '../deps.ts'
import type { SignInAudit } from '../middleware/audit.ts'
import { notFound, ServiceError } from '../service-error.ts'
import { cookieOf, sessionToken } from '../access/sessions.ts'
import { openSession } from './open-session.ts'
import { provenMembers, type Wanted } from './proven-member.ts'
import { CALLBACK, type Pending, type Provider } from './provider.ts'

/** Why the console says that signing in has failed. */
type Refusal = 'failed' | 'unverified' | 'unknown' | 'suspended' | 'unreachable'

export type ServeSignInOptions = {
  provider: Provider | undefined
  isPlain: boolean
  /** Limits requests, which need no token. */
  admit(ctx: Context): Promise<void>
  audit(ctx: Context): SignInAudit
}

const COOKIE = 'dps_sign_in'
const ACCOUNT_ID = /^[\w-]{1,100}$/
/** How long a person may take at the provider. */
const PENDING_SECONDS = 600

export function serveSignIn(router: Router, deps: Pick<Deps, 'db' | 'credentials' | 'log'>, options: ServeSignInOptions): void {
  const { provider, isPlain, admit, audit } = options
  /** Lax: the browser sends it along when another site, the provider, leads back here. */
  const pendingCookie = (value: string, seconds: number): string =>
    `${COOKIE}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${isPlain ? '' : '; Secure'}`

  /** Relative, so that it holds below any path that a proxy adds. */
  function lead(ctx: Context, location: string, cookies: string[]): void {
    ctx.status = 302
    ctx.set('Location', location)
    ctx.set('Cache-Control', 'no-store')
    ctx.set('Set-Cookie', cookies)
    ctx.body = ''
  }
  const refuse = (ctx: Context, console: string, why: Refusal): void => lead(ctx, `${console}#refused=${why}`, [pendingCookie('', 0)])

  router.get('/sign-in', async (ctx) => {
    if (!provider) throw notFound('the path')
    await admit(ctx)
    try {
      const { url, pending } = await provider.begin()
      // The session's cookie comes along only where a page of this site leads here, and never to the callback.
      const token = sessionToken(ctx)
      const session = token === undefined ? '' : deps.credentials.hashOf(token).toString('hex')
      const account = typeof ctx.query.account_id === 'string' && ACCOUNT_ID.test(ctx.query.account_id) ? ctx.query.account_id : ''
      lead(ctx, url.href, [pendingCookie([pending.state, pending.nonce, pending.verifier, session, account].join('.'), PENDING_SECONDS)])
    } catch (error) {
      deps.log.error({ reason: reasonOf(error) }, 'the OpenID Connect provider can’t be reached')
      refuse(ctx, 'console/', 'unreachable')
    }
  })

  router.get(`/${CALLBACK}`, async (ctx) => {
    if (!provider) throw notFound('the path')
    await admit(ctx)
    const console = '../console/'
    const pending = pendingOf(ctx)
    if (!pending) return refuse(ctx, console, 'failed')
    let claims: Awaited<ReturnType<Provider['finish']>>
    try {
      claims = await provider.finish(ctx.search, pending)
    } catch (error) {
      deps.log.warn({ reason: reasonOf(error) }, 'the answer of the OpenID Connect provider was refused')
      return refuse(ctx, console, 'failed')
    }
    // An address that the provider has not checked may belong to another person.
    if (claims.email === undefined || !claims.isVerified) return refuse(ctx, console, 'unverified')
    const email = Email.safeParse(claims.email).data
    const [member, ...others] = email === undefined ? [] : await provenMembers(deps.db, email, pending)
    if (!member) return refuse(ctx, console, 'unknown')
    if (others.length > 0) {
      const accounts = [member, ...others].map(({ account_id, account_name }) => [account_id, account_name])
      return lead(ctx, `${console}#choose=${new URLSearchParams(accounts).toString()}`, [pendingCookie('', 0)])
    }
    try {
      const { token } = await openSession(deps, member)
      await audit(ctx).signedIn(member)
      lead(ctx, console, [cookieOf(token, isPlain)['Set-Cookie']!, pendingCookie('', 0)])
    } catch (error) {
      deps.log.warn({ reason: reasonOf(error), member_id: member.id }, 'a member was not signed in')
      if (!(error instanceof ServiceError) || error.status >= 500) return refuse(ctx, console, 'failed')
      audit(ctx).refused(member)
      refuse(ctx, console, 'suspended')
    }
  })
}

/** What this browser went to the provider with; undefined where it did not, or too long ago. */
function pendingOf(ctx: Context): (Pending & Wanted) | undefined {
  const [state, nonce, verifier, session, account] = ctx.cookies.get(COOKIE)?.split('.') ?? []
  if (!state || !nonce || !verifier) return undefined
  return { state, nonce, verifier, sessionHash: session ? Buffer.from(session, 'hex') : undefined, accountId: account || undefined }
}

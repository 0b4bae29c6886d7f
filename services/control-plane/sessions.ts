/** Sessions of the console: their cookie, tokens and passwords. A session is a random token, stored as a keyed hash. */
import { hash, verify } from '@node-rs/argon2'
import type { Context } from 'koa'
import { ROLE_SCOPES } from '../../shared/model/limits.ts'
import { invalidCredentials, type Credentials } from './credentials.ts'
import { ServiceError } from './service-error.ts'
import type { ActiveSession, MemberRow } from './store/members.ts'

const SESSION_SECONDS = 7 * 24 * 3600
const LINK_SECONDS = 7 * 24 * 3600
const COOKIE = 'dps_session'
const TOKEN = /^[\w-]{43}$/
const UNSAFE = /^(?:POST|PATCH|PUT|DELETE)$/
/** Of a password that no member has: an unknown address takes as long as a wrong password. */
const NO_PASSWORD = hash('no member has this one')

/** A new token, and what is stored of it. */
function newToken(credentials: Credentials, seconds: number, nowMs: number) {
  const token = credentials.newSecret()
  return { token, token_hash: credentials.hashOf(token), expires_at: new Date(nowMs + seconds * 1000) }
}
export const newSession = (credentials: Credentials, nowMs: number) => newToken(credentials, SESSION_SECONDS, nowMs)
export const newLink = (credentials: Credentials, nowMs: number) => newToken(credentials, LINK_SECONDS, nowMs)

/** The token in the request's cookie, if there is one. */
export function sessionToken(ctx: Context): string | undefined {
  const token = ctx.cookies.get(COOKIE)
  return token !== undefined && TOKEN.test(token) ? token : undefined
}

/**
 * A page of another origin can make a browser send the cookie along with a form, but not this header: it would have to ask first, and is
 * never allowed to. `SameSite=Strict` keeps the cookie from it as well.
 */
export function assertOwnPage(ctx: Context): void {
  if (UNSAFE.test(ctx.method) && ctx.get('X-Requested-By') === '')
    throw new ServiceError('forbidden', 'a request with a session’s cookie needs the header X-Requested-By')
}

/** The header that sets the cookie; `isPlain`: it is sent without TLS too. */
export function cookieOf(token: string, isPlain: boolean): Record<string, string> {
  const secure = isPlain ? '' : '; Secure'
  return { 'Set-Cookie': `${COOKIE}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_SECONDS}${secure}` }
}
/** The header that deletes the cookie. */
export const NO_COOKIE = { 'Set-Cookie': `${COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0` }

/** A password's hash (Argon2id). */
export const hashPassword = (password: string): Promise<string> => hash(password)

/** Throws invalid_credentials unless it is the member's password. */
export async function assertPassword(member: Pick<MemberRow, 'password_hash'> | undefined, password: string): Promise<void> {
  const isRight = await verify(member?.password_hash ?? (await NO_PASSWORD), password)
  if (!member?.password_hash || !isRight) throw invalidCredentials('the address or password is wrong')
}

/** A member as the API shows it. */
export const showMember = ({ id, name, email, role, password_hash, created_at }: MemberRow) => ({
  id,
  name,
  email,
  role,
  has_password: password_hash !== null,
  created_at,
})

/** A session as the API shows it. */
export const showSession = (session: ActiveSession) => ({
  account: { id: session.account_id, name: session.account_name, type: session.account_type },
  scopes: [...ROLE_SCOPES[session.role]],
  member: showMember(session),
  expires_at: session.expires_at,
})

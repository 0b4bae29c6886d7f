/** Sessions of the console: their cookie, tokens and passwords. A session is a random token, stored as a keyed hash. */
import { hash, verify } from '@node-rs/argon2'
import type { Context } from 'koa'
import { ROLE_SCOPES } from '../../../shared/model/limits.ts'
import { invalidCredentials, type Credentials } from './credentials.ts'
import { ServiceError } from '../service-error.ts'
import type { ActiveSession, MemberRow } from '../store/members.ts'

const SESSION_SECONDS = 7 * 24 * 3600
const LINK_SECONDS = 7 * 24 * 3600
const COOKIE = 'dps_session'
const TOKEN = /^[\w-]{43}$/
const UNSAFE = /^(?:POST|PATCH|PUT|DELETE)$/
/** The hash of a password that no member has. */
const NO_PASSWORD = hash('no member has this one')
/** For an address this many passwords are compared, or a multiple: how long it takes must not tell how many accounts know the address. */
const COMPARED_TOGETHER = 4

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

/** Throws invalid_credentials unless it is the password of this hash. */
export async function assertPassword(passwordHash: string, password: string): Promise<void> {
  if (!(await verify(passwordHash, password))) throw invalidCredentials('the password is wrong')
}

/** Of the members with one e-mail address, those with this password. Throws invalid_credentials without any, after an equally long time. */
export async function whosePassword<M extends Pick<MemberRow, 'password_hash'>>(members: readonly M[], password: string): Promise<M[]> {
  const right: M[] = []
  for (const member of members) if (member.password_hash !== null && (await verify(member.password_hash, password))) right.push(member)
  const none = await NO_PASSWORD
  for (let n = members.length; n === 0 || n % COMPARED_TOGETHER !== 0; n++) await verify(none, password)
  if (right.length === 0) throw invalidCredentials('the address or password is wrong')
  return right
}

/** A member as the API shows it. */
export const showMember = ({ id, name, email, role, password_hash, provider_confirmed_at, created_at }: MemberRow) => ({
  id,
  name,
  email,
  role,
  has_password: password_hash !== null,
  has_provider: provider_confirmed_at !== null,
  created_at,
})

/** A session as the API shows it. */
export const showSession = (session: ActiveSession) => ({
  account: { id: session.account_id, name: session.account_name, type: session.account_type },
  scopes: [...ROLE_SCOPES[session.role]],
  member: showMember(session),
  expires_at: session.expires_at,
})

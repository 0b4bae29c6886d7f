/**
 * Bearer token or session cookie → caller. Keys and sessions are cached for two seconds only, so that revoking one takes effect in seconds.
 */
import type { Context } from 'koa'
import type { Database } from '../store/database.ts'
import { ROLE_SCOPES } from '../../../shared/model/limits.ts'
import { findActiveKey, type ActiveKey } from '../store/accounts.ts'
import { findSession } from '../store/members.ts'
import { assertOwnPage, sessionToken } from '../access/sessions.ts'
import { invalidCredentials, type Credentials } from '../access/credentials.ts'
import type { Caller } from '../deps.ts'
import { createAdmittingCache, createMomentCache } from '../caches/moment-cache.ts'
import { ServiceError } from '../service-error.ts'

const BEARER = /^Bearer ([\w-]+\.[\w-]+\.[\w-]*)$/i

export type Authenticate = (ctx: Context) => Promise<Caller>

/** Throws 403 for a key of a suspended account. */
export function assertActive({ suspended_for }: Pick<ActiveKey, 'suspended_for'>): void {
  if (suspended_for !== null) throw new ServiceError('account_suspended', `the account is suspended: ${suspended_for}`)
}

/** `admitUnproven` may refuse to look for a session that a cookie names: anyone can make up one. */
export function createAuthenticate(db: Database, credentials: Credentials, admitUnproven: (ctx: Context) => Promise<void>): Authenticate {
  const keys = createMomentCache((id) => findActiveKey(db, id))
  const sessions = createAdmittingCache((hash) => findSession(db, Buffer.from(hash, 'hex')))

  async function withSession(ctx: Context, token: string): Promise<Caller> {
    const tokenHash = credentials.hashOf(token)
    const session = await sessions(tokenHash.toString('hex'), () => admitUnproven(ctx))
    if (!session) throw invalidCredentials('the session has ended')
    assertOwnPage(ctx)
    assertActive(session)
    const { id, account_id: accountId, account_type: accountType, role } = session
    return { accountId, accountType, actorId: id, scopes: ROLE_SCOPES[role], session: { ...session, tokenHash } }
  }

  return async (ctx) => {
    const header = ctx.get('Authorization')
    const cookie = header === '' ? sessionToken(ctx) : undefined
    if (cookie !== undefined) return withSession(ctx, cookie)
    if (header === '') throw invalidCredentials('the Authorization header is missing')
    const token = BEARER.exec(header)?.[1]
    if (token === undefined) throw invalidCredentials('the Authorization header must be: Bearer <access token>')
    const { keyId, accountId } = credentials.verifyToken(token)
    const key = await keys.get(keyId)
    if (!key || key.account_id !== accountId) throw invalidCredentials('the access token’s API key has been revoked')
    assertActive(key)
    return { accountId, accountType: key.account_type, actorId: keyId, scopes: key.scopes }
  }
}

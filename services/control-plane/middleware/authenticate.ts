/** Bearer token → caller. Keys are cached for only two seconds, so that revoking a key stops its tokens within seconds. */
import type { Context } from 'koa'
import type { Database } from '../store/database.ts'
import { findActiveKey, type ActiveKey } from '../store/accounts.ts'
import { invalidCredentials, type Credentials } from '../credentials.ts'
import type { Caller } from '../deps.ts'
import { ServiceError } from '../service-error.ts'

const CACHE_MS = 2000
const CACHE_ENTRIES_MAX = 10_000
const BEARER = /^Bearer ([\w-]+\.[\w-]+\.[\w-]*)$/i

export type Authenticate = (ctx: Context) => Promise<Caller>

/** Throws 403 for a key of a suspended account. */
export function assertActive({ suspended_for }: Pick<ActiveKey, 'suspended_for'>): void {
  if (suspended_for !== null) throw new ServiceError('account_suspended', `the account is suspended: ${suspended_for}`)
}

export function createAuthenticate(db: Database, credentials: Credentials, now: () => number): Authenticate {
  const cache = new Map<string, { key: Promise<ActiveKey | undefined>; until: number }>()

  function lookUp(keyId: string): Promise<ActiveKey | undefined> {
    const known = cache.get(keyId)
    if (known && known.until > now()) return known.key
    if (cache.size >= CACHE_ENTRIES_MAX) cache.clear()
    const key = findActiveKey(db, keyId)
    cache.set(keyId, { key, until: now() + CACHE_MS })
    // Do not cache a failed look-up.
    key.catch(() => cache.delete(keyId))
    return key
  }

  return async (ctx) => {
    const header = ctx.get('Authorization')
    if (header === '') throw invalidCredentials('the Authorization header is missing')
    const token = BEARER.exec(header)?.[1]
    if (token === undefined) throw invalidCredentials('the Authorization header must be: Bearer <access token>')
    const { keyId, accountId } = credentials.verifyToken(token)
    const key = await lookUp(keyId)
    if (!key || key.account_id !== accountId) throw invalidCredentials('the access token’s API key has been revoked')
    assertActive(key)
    return { accountId, accountType: key.account_type, keyId, scopes: key.scopes }
  }
}

/** Accounts and their API keys. Secrets are stored as keyed hashes only. */
import type { AccountType, Scope } from '../../../shared/model/limits.ts'
import type { Queryable } from './database.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

/** A row of `accounts`. */
export type AccountRow = { id: string; name: string; type: AccountType; created_at: Date }
/** A row of `api_keys`. */
export type KeyRow = {
  id: string
  account_id: string
  name: string
  secret_hash: Buffer
  scopes: Scope[]
  created_at: Date
  revoked_at: Date | null
}

/** A key that is not revoked, with its account's type. */
export type ActiveKey = KeyRow & { account_type: AccountType }

/** How many accounts there are. */
export async function countAccounts(db: Queryable): Promise<number> {
  const [row] = await db('accounts').count<{ count: string }[]>('* as count')
  return Number(row?.count ?? 0)
}

/** Stores an account. */
export async function insertAccount(db: Queryable, account: Omit<AccountRow, 'created_at'>): Promise<void> {
  await db('accounts').insert(account)
}

/** The stored key. Throws a unique violation when an active key of the account has the same name. */
export async function insertKey(db: Queryable, key: Omit<KeyRow, 'created_at' | 'revoked_at'>): Promise<KeyRow> {
  const [row] = await db('api_keys').insert(key).returning('*')
  return row
}

/** The account; undefined if there is none with this id. */
export async function findAccount(db: Queryable, id: string): Promise<AccountRow | undefined> {
  return db('accounts').where({ id }).first()
}

/** The key; undefined if it does not exist or is revoked. */
export async function findActiveKey(db: Queryable, id: string): Promise<ActiveKey | undefined> {
  return db('api_keys')
    .join('accounts', 'accounts.id', 'api_keys.account_id')
    .where('api_keys.id', id)
    .whereNull('revoked_at')
    .first('api_keys.*', 'accounts.type as account_type')
}

/** A page of the account's active keys. */
export async function listKeys(db: Queryable, accountId: string, page: PageRequest): Promise<Page<KeyRow>> {
  return findPage(db('api_keys').where({ account_id: accountId }).whereNull('revoked_at').select('*'), page)
}

/** False when the account has no such active key. */
export async function revokeKey(db: Queryable, accountId: string, id: string): Promise<boolean> {
  return (await db('api_keys').where({ account_id: accountId, id }).whereNull('revoked_at').update({ revoked_at: db.fn.now() })) > 0
}

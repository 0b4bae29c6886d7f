/** Accounts and their API keys. Secrets are stored as keyed hashes only. */
import { definitionKeys, type AccountState } from '../../../shared/model/definition.ts'
import type { Quotas } from '../../../shared/model/quotas.ts'
import type { AccountType, Scope } from '../../../shared/model/limits.ts'
import type { Queryable } from './database.ts'
import { enqueue } from './outbox.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

/** A row of `accounts`. */
export type AccountRow = {
  id: string
  name: string
  type: AccountType
  created_at: Date
  suspended_at: Date | null
  /** Why, as the account's users are told. */
  suspended_for: string | null
  /** What replaces the quotas of its type. */
  quotas: unknown
  /** The clock hour in which it used more CPU time than it may. */
  over_cpu_hour: string | null
}
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

/** A key that is not revoked, with its account's type, and why the account is suspended. */
export type ActiveKey = KeyRow & { account_type: AccountType; suspended_for: string | null }

/** How many accounts there are. */
export async function countAccounts(db: Queryable): Promise<number> {
  const [row] = await db('accounts').count<{ count: string }[]>('* as count')
  return Number(row?.count ?? 0)
}

/** Stores an account, also in the outbox. */
export async function insertAccount(db: Queryable, account: Pick<AccountRow, 'id' | 'name' | 'type'>): Promise<void> {
  await db('accounts').insert(account)
  await enqueueAccount(db, { ...account, suspended_for: null, over_cpu_hour: null })
}

/** Suspends the account for a reason, or, with null, ends its suspension. False when there is no such account. */
export async function suspendAccount(db: Queryable, id: string, reason: string | null): Promise<boolean> {
  const [row] = await db('accounts')
    .where({ id })
    .update({ suspended_at: reason === null ? null : db.fn.now(), suspended_for: reason })
    .returning('*')
  if (row) await enqueueAccount(db, row)
  return row !== undefined
}

/** Sets the hour in which the account used more CPU time than it may, or null once that hour is over. */
export async function setOverCpuHour(db: Queryable, id: string, hour: string | null): Promise<void> {
  const [row] = await db('accounts').where({ id }).update({ over_cpu_hour: hour }).returning('*')
  if (row) await enqueueAccount(db, row)
}

/** Accounts that have used more CPU time than they may, in whatever hour. */
export async function listOverCpu(db: Queryable): Promise<AccountRow[]> {
  return db('accounts').whereNotNull('over_cpu_hour')
}

/** Replaces quotas of the account's type. False when there is no such account. */
export async function setQuotas(db: Queryable, id: string, quotas: Partial<Quotas>): Promise<boolean> {
  return (
    (await db('accounts')
      .where({ id })
      .update({ quotas: JSON.stringify(quotas) })) > 0
  )
}

type Known = Pick<AccountRow, 'id' | 'type' | 'suspended_for' | 'over_cpu_hour'>

const stateOf = ({ type, suspended_for, over_cpu_hour }: Known): AccountState => ({
  type,
  is_suspended: suspended_for !== null,
  is_over_cpu: over_cpu_hour !== null,
})

async function enqueueAccount(db: Queryable, account: Known): Promise<void> {
  await enqueue(db, definitionKeys.account(account.id), stateOf(account))
}

/** What processors are told of each account, with its key. */
export async function listAccountStates(db: Queryable): Promise<{ key: string; value: AccountState }[]> {
  const rows: Known[] = await db('accounts').select('id', 'type', 'suspended_for', 'over_cpu_hour')
  return rows.map((row) => ({ key: definitionKeys.account(row.id), value: stateOf(row) }))
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
    .first('api_keys.*', 'accounts.type as account_type', 'accounts.suspended_for')
}

/** A page of the account's active keys. */
export async function listKeys(db: Queryable, accountId: string, page: PageRequest): Promise<Page<KeyRow>> {
  return findPage(db('api_keys').where({ account_id: accountId }).whereNull('revoked_at').select('*'), page)
}

/** Locks the account until the transaction ends: changes that depend on what it has follow each other. */
export async function lockAccount(trx: Queryable, id: string): Promise<AccountRow | undefined> {
  // Not `forUpdate`, which would hold up inserts of rows that refer to the account.
  return trx('accounts').where({ id }).forNoKeyUpdate().first()
}

/** The account's active keys that have the scope. */
export async function listKeysWith(db: Queryable, accountId: string, scope: Scope): Promise<KeyRow[]> {
  return db('api_keys').where({ account_id: accountId }).whereNull('revoked_at').whereRaw('? = ANY (scopes)', [scope])
}

/** The account's active key with this id. */
export async function findKey(db: Queryable, accountId: string, id: string): Promise<KeyRow | undefined> {
  return db('api_keys').where({ account_id: accountId, id }).whereNull('revoked_at').first()
}

/** Ends the key. */
export async function revokeKey(db: Queryable, accountId: string, id: string): Promise<void> {
  await db('api_keys').where({ account_id: accountId, id }).update({ revoked_at: db.fn.now() })
}

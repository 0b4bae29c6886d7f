/** The accounts' secrets, encrypted, and the pipelines that use them. */
import { definitionKeys } from '../../../shared/model/definition.ts'
import type { Envelope } from '../../../shared/secrets/envelope.ts'
import type { Queryable } from './database.ts'
import { enqueue } from './outbox.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

/** A row of `secrets`. */
export type SecretRow = {
  id: string
  account_id: string
  name: string
  description: string
  envelope: Envelope
  /** Ids or names of the connectors, and hosts (`*.` for all below one), that it is for; null for all. */
  allowed_connectors: string[] | null
  allowed_hosts: string[] | null
  created_at: Date
  updated_at: Date
}

/** The stored secret, also put into the outbox. Throws a unique violation when its name is taken. */
export async function insertSecret(db: Queryable, secret: Omit<SecretRow, 'created_at' | 'updated_at'>): Promise<SecretRow> {
  const [row] = await db('secrets')
    .insert({ ...secret, envelope: JSON.stringify(secret.envelope) })
    .returning('*')
  await enqueueSecret(db, secret.account_id, secret.name, secret.envelope)
  return row
}

/** The changed secret; a new envelope is also put into the outbox. */
export async function updateSecret(
  db: Queryable,
  row: SecretRow,
  change: Partial<Pick<SecretRow, 'description' | 'envelope'>>,
): Promise<SecretRow> {
  const { envelope, ...rest } = change
  const [updated] = await db('secrets')
    .where({ id: row.id })
    .update({ ...rest, ...(envelope ? { envelope: JSON.stringify(envelope) } : {}), updated_at: db.fn.now() })
    .returning('*')
  if (envelope) await enqueueSecret(db, row.account_id, row.name, envelope)
  return updated
}

/** A page of the account's secrets. */
export async function listSecrets(db: Queryable, accountId: string, page: PageRequest): Promise<Page<SecretRow>> {
  return findPage(db('secrets').where({ account_id: accountId }).select('*'), page)
}

/** The secrets of all accounts, for wrapping them under another key. */
export async function listAllSecrets(db: Queryable): Promise<SecretRow[]> {
  return db('secrets').select('*')
}

/** The account's secret, locked until the transaction ends; undefined if there is none with this id. */
export async function findSecretForUpdate(db: Queryable, accountId: string, id: string): Promise<SecretRow | undefined> {
  return db('secrets').where({ account_id: accountId, id }).forUpdate().first()
}

/** The account's secret; undefined if there is none with this id. */
export async function findSecret(db: Queryable, accountId: string, id: string): Promise<SecretRow | undefined> {
  return db('secrets').where({ account_id: accountId, id }).first()
}

/** The account's secret; undefined if there is none with this name. */
export async function findSecretByName(db: Queryable, accountId: string, name: string): Promise<SecretRow | undefined> {
  return db('secrets').where({ account_id: accountId, name }).first()
}

/** The account's secret by name, locked against deletion until the transaction ends; undefined if there is none. */
export async function lockSecret(db: Queryable, accountId: string, name: string): Promise<SecretRow | undefined> {
  return db('secrets').where({ account_id: accountId, name }).forShare().first()
}

/** Deletes a secret, and puts a tombstone for it into the outbox. */
export async function deleteSecretRow(db: Queryable, { id, account_id, name }: SecretRow): Promise<void> {
  await db('secrets').where({ id }).delete()
  await enqueueSecret(db, account_id, name, null)
}

/** Processors receive the encrypted envelope; a supervisor opens it for the runners of its account. */
async function enqueueSecret(db: Queryable, accountId: string, name: string, envelope: Envelope | null): Promise<void> {
  await enqueue(db, definitionKeys.secret(accountId, name), envelope)
}

/** What processors are told of each secret, with its key. */
export async function listEnvelopes(db: Queryable): Promise<{ key: string; value: Envelope }[]> {
  const rows = await listAllSecrets(db)
  return rows.map(({ account_id, name, envelope }) => ({ key: definitionKeys.secret(account_id, name), value: envelope }))
}

/** The accounts' secrets, encrypted, and who uses them. */
import { definitionKeys } from '../model/definition.ts'
import type { Envelope } from '../secrets/envelope.ts'
import type { Queryable } from './database.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

export type SecretRow = {
  id: string
  account_id: string
  name: string
  description: string
  envelope: Envelope
  created_at: Date
  updated_at: Date
}

export async function insertSecret(db: Queryable, secret: Omit<SecretRow, 'created_at' | 'updated_at'>): Promise<SecretRow> {
  const [row] = await db('secrets')
    .insert({ ...secret, envelope: JSON.stringify(secret.envelope) })
    .returning('*')
  await enqueueSecret(db, secret.account_id, secret.name, secret.envelope)
  return row
}

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

export async function listSecrets(db: Queryable, accountId: string, page: PageRequest): Promise<Page<SecretRow>> {
  return findPage(db('secrets').where({ account_id: accountId }).select('*'), page)
}

/** Every secret, for wrapping under another key. */
export async function listAllSecrets(db: Queryable): Promise<SecretRow[]> {
  return db('secrets').select('*')
}

/** Locked until the transaction ends. */
export async function findSecretForUpdate(db: Queryable, accountId: string, id: string): Promise<SecretRow | undefined> {
  return db('secrets').where({ account_id: accountId, id }).forUpdate().first()
}

export async function findSecret(db: Queryable, accountId: string, id: string): Promise<SecretRow | undefined> {
  return db('secrets').where({ account_id: accountId, id }).first()
}

export async function findSecretByName(db: Queryable, accountId: string, name: string): Promise<SecretRow | undefined> {
  return db('secrets').where({ account_id: accountId, name }).first()
}

/** By name, locked against deletion until the transaction ends. */
export async function lockSecret(db: Queryable, accountId: string, name: string): Promise<SecretRow | undefined> {
  return db('secrets').where({ account_id: accountId, name }).forShare().first()
}

export async function deleteSecretRow(db: Queryable, { id, account_id, name }: SecretRow): Promise<void> {
  await db('secrets').where({ id }).delete()
  await enqueueSecret(db, account_id, name, null)
}

/** Processors get the envelope as it is; they open it when a task of the account needs it. */
async function enqueueSecret(db: Queryable, accountId: string, name: string, envelope: Envelope | null): Promise<void> {
  await db('outbox').insert({ key: definitionKeys.secret(accountId, name), value: envelope && Buffer.from(JSON.stringify(envelope)) })
}

/** Pipelines that name the secret in a config. */
export async function listSecretUsers(db: Queryable, secretId: string): Promise<string[]> {
  const rows = await db('pipeline_uses').where({ kind: 'secret', used_id: secretId }).select('pipeline_id').orderBy('pipeline_id')
  return rows.map(({ pipeline_id }: { pipeline_id: string }) => pipeline_id)
}

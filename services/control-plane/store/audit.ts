/** The audit log. The database itself refuses to change or to delete an entry that is complete, until it is a year old. */
import { newId } from '../../../shared/model/ids.ts'
import type { Queryable } from './database.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

/** A row of `audit_log`. `before` and `after` are resources as the API shows them. */
export type AuditRow = {
  id: string
  account_id: string
  created_at: Date
  actor: string
  operation: string
  resource_id: string | null
  address: string | null
  request_id: string
  status: number | null
  before: unknown
  after: unknown
}

const textOf = (value: unknown): string | null => (value === undefined || value === null ? null : JSON.stringify(value))

/** Stores an entry; without a status it is completed later. */
export async function insertAudit(db: Queryable, entry: Omit<AuditRow, 'created_at'>): Promise<void> {
  await db('audit_log').insert({ ...entry, before: textOf(entry.before), after: textOf(entry.after) })
}

/** Stores what an operator did to an account, from the command line. */
export async function logOperator(db: Queryable, accountId: string, operation: string, after: unknown): Promise<void> {
  const [id, request_id] = [newId('audit'), newId('audit')]
  const entry = { id, account_id: accountId, actor: 'operator', operation, resource_id: accountId, address: null, request_id }
  await insertAudit(db, { ...entry, status: 200, before: null, after })
}

/** Completes an entry. */
export async function completeAudit(db: Queryable, id: string, outcome: Pick<AuditRow, 'status' | 'resource_id' | 'after'>): Promise<void> {
  await db('audit_log')
    .where({ id })
    .update({ ...outcome, after: textOf(outcome.after) })
}

/** Which entries to list. */
export type AuditFilter = Partial<Pick<AuditRow, 'actor' | 'operation'>> & { resource_id?: string }

/** A page of the account's entries. */
export async function listAudit(db: Queryable, accountId: string, filter: AuditFilter, page: PageRequest): Promise<Page<AuditRow>> {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
  // Entries have no name of their own; pages are sorted by time alone.
  return findPage<AuditRow & { name: string }>(
    db('audit_log')
      .where({ account_id: accountId, ...given })
      .select('*', db.raw(`'' AS name`)),
    page,
  )
}

/** Deletes entries that are more than a year old. */
export async function deleteOldAudit(db: Queryable): Promise<void> {
  await db('audit_log').whereRaw(`created_at < now() - interval '366 days'`).delete()
}

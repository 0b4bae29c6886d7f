/** The account's audit log. */
import { listAuditContract } from '../../../shared/api/audit.ts'
import { listAudit, type AuditRow } from '../store/audit.ts'
import { listReply } from './list-reply.ts'
import { operation } from './operation.ts'

const show = ({ account_id: _account, created_at: at, before, after, ...row }: AuditRow & { name?: string }) => {
  const { name: _name, ...entry } = row
  return { ...entry, at, before: before as Record<string, unknown> | null, after: after as Record<string, unknown> | null }
}

export const listAuditOperation = operation(listAuditContract, async ({ db }, caller, { query }) => {
  const { resource_id, actor, operation: asked, ...page } = query
  return listReply('entries', await listAudit(db, caller.accountId, { resource_id, actor, operation: asked }, page), query, show)
})

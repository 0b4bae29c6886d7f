/**
 * Roles of accounts that already use the operator's warehouse: made, and given the password that follows from today's connection string, at
 * each start of the control plane. New ones are made when a config is checked.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { ensureAccountSchema } from '../../../shared/connectors/table/account-schema.ts'
import { tableConnector } from '../../../shared/connectors/table/connector.ts'
import type { Deps } from '../deps.ts'
import { listAccountsUsingDefault } from '../store/pipelines.ts'

/** Warns where a role can't be made; that account's pipelines say so too. */
export async function ensureWarehouseRoles({ db, connectorDefaults, log }: Pick<Deps, 'db' | 'connectorDefaults' | 'log'>): Promise<void> {
  const { warehouse_url, per_account } = connectorDefaults
  if (warehouse_url === undefined || !per_account.warehouse) return
  for (const accountId of await listAccountsUsingDefault(db, tableConnector.id))
    await ensureAccountSchema(warehouse_url, accountId).catch((error: unknown) =>
      log.warn({ account_id: accountId, reason: reasonOf(error) }, 'the role of an account in the warehouse could not be made'),
    )
}

/**
 * The operator's defaults as one account gets them: its own role and schema in the warehouse, its own prefix in the bucket. Pure;
 * `table/account-schema.ts` makes the role.
 */
import { createHmac } from 'node:crypto'
import type { OperatorDefaults } from './connector.ts'

/** The name of the account's role in the warehouse, and of its schema. */
export const warehouseRoleOf = (accountId: string): string => `dps_${accountId}`

/**
 * The password of the account's role. It follows from the operator's connection string, which the control plane and the processors both
 * have, so that it need not be stored or sent.
 */
export const warehousePasswordOf = (warehouseUrl: string, accountId: string): string =>
  createHmac('sha256', warehouseUrl).update(`dps warehouse role ${accountId}`).digest('base64url')

/** The connection string of the account's role. */
export function accountWarehouseOf(warehouseUrl: string, accountId: string): string {
  const url = new URL(warehouseUrl)
  url.username = warehouseRoleOf(accountId)
  url.password = warehousePasswordOf(warehouseUrl, accountId)
  return url.toString()
}

/** The defaults for the account's connectors. */
export function accountDefaultsOf(defaults: OperatorDefaults, accountId: string): OperatorDefaults {
  const { warehouse_url, bucket, per_account } = defaults
  return {
    ...defaults,
    ...(warehouse_url !== undefined && per_account.warehouse ? { warehouse_url: accountWarehouseOf(warehouse_url, accountId) } : {}),
    ...(bucket && per_account.bucket ? { bucket: { ...bucket, prefix: `${accountId}/` } } : {}),
  }
}

/** Contract for the caller's own account. */
import { z } from 'zod'
import { QUOTA_NAMES, type QuotaName } from '../model/quotas.ts'
import { AccountType } from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'

const Quota = z
  .object({ limit: z.number().int(), used: z.number().nullable().describe('null for rates that are not counted') })
  .meta({ id: 'Quota' })
const quotas = Object.fromEntries(Object.entries(QUOTA_NAMES).map(([name, meaning]) => [name, Quota.describe(meaning)]))

/** `GET /account`: returns 200 with the account, its limits, and how much of them it uses. */
export const getAccountContract = contract({
  id: 'getAccount',
  method: 'GET',
  path: '/account',
  summary: 'The account, its quotas, and how much of them it uses',
  tag: 'Authentication',
  scope: null,
  request: {},
  responses: {
    200: z
      .object({
        id: Id,
        name: z.string(),
        type: AccountType,
        created_at: Timestamp,
        requests_per_minute: z.number().int(),
        quotas: z.object(quotas as Record<QuotaName, typeof Quota>),
      })
      .meta({ id: 'Account' }),
  },
})

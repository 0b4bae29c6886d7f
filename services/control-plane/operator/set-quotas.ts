/**
 * Replaces quotas of an account's type: `set-quotas.ts ACCOUNT '{"streams": 100}'` with the control plane's environment. `{}` gives it the
 * quotas of its type again. What it has already stays.
 */
import { loadControlPlaneConfig } from '../../../shared/config/config.ts'
import { QuotaChanges } from '../../../shared/model/quotas.ts'
import { setQuotas } from '../store/accounts.ts'
import { logOperator } from '../store/audit.ts'
import { openDatabase } from '../store/database.ts'
import { operatorSettings } from './operator-settings.ts'

const [accountId, text = ''] = process.argv.slice(2)
if (!accountId || text === '') {
  process.stderr.write(`usage: set-quotas.ts ACCOUNT '{"streams": 100}'\n`)
  process.exit(2)
}
const { DATABASE_URL } = operatorSettings(loadControlPlaneConfig)
const quotas = QuotaChanges.parse(JSON.parse(text))
const db = openDatabase(DATABASE_URL, 1)
try {
  await db.transaction(async (trx) => {
    if (!(await setQuotas(trx, accountId, quotas))) throw new Error(`there is no account ${accountId}`)
    await logOperator(trx, accountId, 'setQuotas', quotas)
  })
  process.stdout.write(`${JSON.stringify({ account_id: accountId, quotas })}\n`)
} finally {
  await db.destroy()
}

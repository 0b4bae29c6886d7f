/**
 * Suspends an account, or ends its suspension: `suspend-account.ts ACCOUNT [REASON]` with the control plane's environment. Its tokens and
 * pushed records are refused within seconds, and its pipelines stop where they are; without a reason they go on from there.
 */
import { loadControlPlaneConfig } from '../../../shared/config/config.ts'
import { logOperator } from '../store/audit.ts'
import { suspendAccount } from '../store/accounts.ts'
import { openDatabase } from '../store/database.ts'
import { operatorSettings } from './operator-settings.ts'

const [accountId, reason = ''] = process.argv.slice(2)
if (!accountId) {
  process.stderr.write('usage: suspend-account.ts ACCOUNT [REASON]; without a reason the suspension ends\n')
  process.exit(2)
}
const db = openDatabase(operatorSettings(loadControlPlaneConfig).DATABASE_URL, 1)
try {
  const isKnown = await db.transaction(async (trx) => {
    if (!(await suspendAccount(trx, accountId, reason || null))) return false
    await logOperator(trx, accountId, reason ? 'suspendAccount' : 'resumeAccount', reason ? { reason } : null)
    return true
  })
  if (!isKnown) throw new Error(`there is no account ${accountId}`)
  process.stdout.write(`${JSON.stringify({ account_id: accountId, suspended: reason !== '' })}\n`)
} finally {
  await db.destroy()
}

/**
 * Creates an account and its first API key, run by the operator: `create-account.ts NAME TYPE [--read-only]` with the control
 * plane's environment. Prints one JSON line; the secret is shown only this once. --read-only adds a second key with only `*:read` scopes.
 */
import { loadControlPlaneConfig } from '../../../shared/config/config.ts'
import { newId } from '../../../shared/model/ids.ts'
import { REQUESTS_PER_MINUTE, SCOPES, type AccountType, type Scope } from '../../../shared/model/limits.ts'
import { insertAccount, insertKey } from '../store/accounts.ts'
import { logOperator } from '../store/audit.ts'
import { migrate, openDatabase, type Queryable } from '../store/database.ts'
import { createCredentials } from '../access/credentials.ts'
import { operatorSettings } from './operator-settings.ts'

const [name, type, ...flags] = process.argv.slice(2)
const isType = (text: string | undefined): text is AccountType => text !== undefined && Object.hasOwn(REQUESTS_PER_MINUTE, text)
if (!name || !isType(type)) {
  process.stderr.write(`usage: create-account.ts NAME ${Object.keys(REQUESTS_PER_MINUTE).join('|')} [--read-only]\n`)
  process.exit(2)
}
const config = operatorSettings(loadControlPlaneConfig)
const credentials = createCredentials({ jwtKeys: config.JWT_KEYS, secretHashKey: config.SECRET_HASH_KEY })
const db = openDatabase(config.DATABASE_URL, 1)
const accountId = newId('account')

async function makeKey(trx: Queryable, keyName: string, scopes: Scope[]): Promise<{ api_key: string; api_secret: string }> {
  const secret = credentials.newSecret()
  const row = await insertKey(trx, {
    id: newId('key'),
    account_id: accountId,
    name: keyName,
    scopes,
    secret_hash: credentials.hashOf(secret),
  })
  return { api_key: row.id, api_secret: secret }
}

try {
  await migrate(db)
  const [key, readOnly] = await db.transaction(async (trx) => {
    await insertAccount(trx, { id: accountId, name, type })
    await logOperator(trx, accountId, 'createAccount', { name, type })
    const first = await makeKey(trx, 'first key', [...SCOPES])
    const reading = SCOPES.filter((scope) => scope.endsWith(':read'))
    return [first, flags.includes('--read-only') ? await makeKey(trx, 'read only', reading) : undefined]
  })
  process.stdout.write(`${JSON.stringify({ account_id: accountId, ...key, ...(readOnly ? { read_only: readOnly } : {}) })}\n`)
} finally {
  await db.destroy()
}

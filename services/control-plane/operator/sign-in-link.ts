/**
 * Makes a link that signs an owner in to the console once: `sign-in-link.ts ACCOUNT EMAIL` with the control plane's environment. An address
 * that is not yet a member of the account becomes one. Prints one JSON line; the token is never shown again.
 */
import { loadControlPlaneConfig } from '../../../shared/config/config.ts'
import { newId } from '../../../shared/model/ids.ts'
import { createCredentials } from '../access/credentials.ts'
import { newLink } from '../access/sessions.ts'
import { logOperator } from '../store/audit.ts'
import { openDatabase } from '../store/database.ts'
import { findMemberByEmail, insertLink, insertMember } from '../store/members.ts'
import { operatorSettings } from './operator-settings.ts'

const [accountId, address] = process.argv.slice(2)
if (!accountId || !address?.includes('@')) {
  process.stderr.write('usage: sign-in-link.ts ACCOUNT EMAIL\n')
  process.exit(2)
}
const email = address.toLowerCase()
const config = operatorSettings(loadControlPlaneConfig)
const { token, ...link } = newLink(createCredentials({ jwtKeys: config.JWT_KEYS, secretHashKey: config.SECRET_HASH_KEY }), Date.now())
const db = openDatabase(config.DATABASE_URL, 1)
try {
  const member = await db.transaction(async (trx) => {
    const name = email.split('@')[0]!
    const found =
      (await findMemberByEmail(trx, accountId, email)) ??
      (await insertMember(trx, { id: newId('member'), account_id: accountId, name, email, role: 'owner' }))
    await insertLink(trx, { ...link, member_id: found.id })
    await logOperator(trx, accountId, 'createMemberLink', { email })
    return found
  })
  process.stdout.write(
    `${JSON.stringify({ account_id: accountId, member_id: member.id, role: member.role, sign_in_token: token, path: `/console/#link=${token}` })}\n`,
  )
} finally {
  await db.destroy()
}

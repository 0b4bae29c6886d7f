/** After the operator has put another key first: every secret's key is wrapped under it, so that the old one can be taken away. */
import { ownerOf, type SecretBox } from '../../../shared/secrets/envelope.ts'
import type { Database } from '../../../shared/store/database.ts'
import { listAllSecrets, updateSecret } from '../../../shared/store/secrets.ts'

/** Called once, at start. Throws when a key that is still in use is missing. */
export async function rewrapSecrets(db: Database, secretBox: SecretBox): Promise<void> {
  for (const row of await listAllSecrets(db)) {
    const envelope = secretBox.rewrap(ownerOf(row.account_id, row.name), row.envelope)
    if (envelope) await db.transaction((trx) => updateSecret(trx, row, { envelope }))
  }
}

/** After the operator has put a new key first: wraps every secret's own key under it, so that the old one can be removed. */
import { ownerOf, type SecretBox } from '../../../shared/secrets/envelope.ts'
import type { Database } from '../store/database.ts'
import { findSecretForUpdate, listAllSecrets, updateSecret } from '../store/secrets.ts'

/** Called once, at start. Throws when a key that is still in use is missing. */
export async function rewrapSecrets(db: Database, secretBox: SecretBox): Promise<void> {
  for (const { id, account_id } of await listAllSecrets(db))
    await db.transaction(async (trx) => {
      // Read again, now locked: another control plane may have changed or deleted it meanwhile.
      const row = await findSecretForUpdate(trx, account_id, id)
      const envelope = row && secretBox.rewrap(ownerOf(row.account_id, row.name), row.envelope)
      if (row && envelope) await updateSecret(trx, row, { envelope })
    })
}

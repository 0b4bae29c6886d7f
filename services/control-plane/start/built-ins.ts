/** Puts the built-in SmartModules into Postgres at start, for all accounts. Changed code or a changed schema is a new version. */
import { isDeepStrictEqual } from 'node:util'
import { ADVISORY_LOCKS, waitForLock } from '../store/locks.ts'
import { newId } from '../../../shared/model/ids.ts'
import { builtInSmartModules } from '../../../shared/smartmodule/catalogue/catalogue.ts'
import type { Database } from '../store/database.ts'
import {
  insertSmartModule,
  insertVersion,
  listVersions,
  lockSmartModule,
  sha256Of,
  updateDescription,
  type PlainVersion,
} from '../store/smartmodules.ts'

/** A change whose declared version exists already gets the next patch version: versions are immutable, and pipelines keep theirs. */
function versionFor(declared: string, known: PlainVersion[]): string {
  if (!known.some(({ version }) => version === declared)) return declared
  const [major, minor, patch] = known[0]!.version.split('.').map(Number)
  return `${major}.${minor}.${patch! + 1}`
}

export async function installBuiltIns(db: Database, cacheFolder: string): Promise<void> {
  const builtIns = await builtInSmartModules(cacheFolder)
  await db.transaction(async (trx) => {
    await waitForLock(trx, ADVISORY_LOCKS.builtIns)
    for (const { name, version, description, parameters, binary } of builtIns) {
      const row =
        (await lockSmartModule(trx, null, name)) ??
        (await insertSmartModule(trx, { id: newId('smartModule'), account_id: null, name, description }))
      if (row.description !== description) await updateDescription(trx, row.id, description)
      const versions = await listVersions(trx, row.id)
      const sha256 = sha256Of(binary)
      // Also an earlier one: a control plane of the version before must not put its code in front of a newer one's.
      if (versions.some((each) => each.sha256 === sha256 && isDeepStrictEqual(each.config.parameters, parameters))) continue
      await insertVersion(
        trx,
        {
          smartmodule_id: row.id,
          version: versionFor(version, versions),
          ordinal: (versions[0]?.ordinal ?? 0) + 1,
          sha256,
          kind: 'batch',
          extism_function: null,
          input_format: 'json',
          output_format: 'json',
          config: { parameters },
          source: null,
          tests: null,
        },
        binary,
      )
    }
  })
}

/** Upload → inspection in a workshop → an immutable, content-addressed version. An existing name gets its next version. */
import type { Input } from '../../../../shared/api/contract.ts'
import { deploySmartModuleContract } from '../../../../shared/api/smartmodules.ts'
import { invalidRequest, ServiceError } from '../../service-error.ts'
import { newId } from '../../../../shared/model/ids.ts'
import { inTransaction, isUniqueViolation, type Queryable } from '../../store/database.ts'
import {
  findNewest,
  findSmartModuleByName,
  findVersion,
  insertSmartModule,
  insertVersion,
  lockSmartModule,
  updateDescription,
  type VersionConfig,
  type VersionRow,
} from '../../store/smartmodules.ts'
import { assertQuotas } from '../../store/quotas.ts'
import type { Deps } from '../../deps.ts'
import type { TraceDeps } from '../../trace/trace.ts'
import { testFaults } from './run-tests.ts'
import { inspectUpload } from './upload.ts'
import { operation } from '../operation.ts'

type Formats = Pick<VersionRow, 'input_format' | 'output_format'>

const numbers = (version: string): number[] => version.split('.').map(Number)
const isNewer = (a: string, b: string): boolean => {
  const [x, y] = [numbers(a), numbers(b)]
  const at = x.findIndex((number, index) => number !== y[index])
  return at >= 0 && x[at]! > y[at]!
}

/** The version asked for, else the next patch after the newest. */
function nextVersion(newest: string | undefined, asked: string | undefined): string {
  if (asked === undefined) {
    if (newest === undefined) return '1.0.0'
    const [major, minor, patch] = numbers(newest)
    return `${major}.${minor}.${patch! + 1}`
  }
  if (newest !== undefined && !isNewer(asked, newest))
    throw new ServiceError('conflict', `version ${asked} is not newer than ${newest}; versions are immutable`, {
      details: [{ path: '/version', message: `must be newer than ${newest}` }],
    })
  return asked
}

/** The newest version of the account's SmartModule; undefined if there is none. */
async function versionBefore(db: Queryable, accountId: string, name: string): Promise<VersionRow | undefined> {
  const known = await findSmartModuleByName(db, accountId, name)
  return known?.account_id === accountId ? findVersion(db, known.id, known.version) : undefined
}

const HAS_SETTINGS = /\bclass\s+Settings\b/

/** The config of a next version that comes without one. Each version must allow its own hosts for a plug-in's requests. */
function configAfter(before: VersionRow | undefined): { formats: Formats; parameters: VersionConfig['parameters'] } {
  if (!before) return { formats: { input_format: 'json', output_format: 'json' }, parameters: undefined }
  const { input_format, output_format, source, config } = before
  // Parameters that a source's own class stood for are gone with it.
  const parameters = source && HAS_SETTINGS.test(source.code) ? undefined : config.parameters
  return { formats: { input_format, output_format }, parameters }
}

/** The next version as it would be stored, after its tests. Throws 400 with what is wrong; stores nothing. */
export async function examineUpload(
  deps: TraceDeps & Pick<Deps, 'db'>,
  accountId: string,
  asked: Pick<Input<typeof deploySmartModuleContract>['body'], 'name' | 'source' | 'wasm_binary' | 'config' | 'tests'>,
) {
  const { name, source = null, wasm_binary } = asked
  const before = asked.config && asked.tests ? undefined : await versionBefore(deps.db, accountId, name)
  const after = configAfter(before)
  const { kind, extismFunction, binary, sha256, parameters } = await inspectUpload(
    deps.workshop,
    accountId,
    { source, wasm_binary },
    asked.config ? { given: asked.config.parameters } : { before: after.parameters },
  )
  if (asked.config?.allowed_hosts && kind !== 'extism')
    throw invalidRequest([{ path: '/config/allowed_hosts', message: 'is for Extism plug-ins: no other SmartModule sends requests' }])
  const tests = asked.tests ?? before?.tests ?? []
  const { input_format, output_format, ...given }: Formats & VersionConfig = asked.config ?? after.formats
  const config = { ...given, ...(parameters ? { parameters } : {}) }
  const more = {
    ...(extismFunction ? { extism_function: extismFunction } : {}),
    ...(config.allowed_hosts ? { allowed_hosts: config.allowed_hosts } : {}),
  }
  const candidate = { sha256, kind, binary, parameters, input_format, output_format, ...more }
  const details = await testFaults(deps, accountId, candidate, tests)
  if (details.length > 0) throw invalidRequest(details)
  return { candidate, config, source, tests }
}

export const deploySmartModuleOperation = operation(deploySmartModuleContract, async (deps, caller, { body }) => {
  const { db } = deps
  const { candidate, config, source, tests } = await examineUpload(deps, caller.accountId, body)
  const { sha256, kind, binary, input_format, output_format, extism_function = null } = candidate
  try {
    return await inTransaction(db, async (trx) => {
      const known = await lockSmartModule(trx, caller.accountId, body.name)
      const { newest, count } = known ? await findNewest(trx, known.id) : { newest: undefined, count: 0 }
      const bytes = binary.length + Buffer.byteLength(JSON.stringify([config, source, tests]))
      await assertQuotas(trx, caller.accountId, { smartmodules: known ? 0 : 1, smartmodule_bytes: bytes }, count)
      const row =
        known ??
        (await insertSmartModule(trx, {
          id: newId('smartModule'),
          account_id: caller.accountId,
          name: body.name,
          description: body.description ?? '',
        }))
      if (known && body.description !== undefined) await updateDescription(trx, known.id, body.description)
      const version = nextVersion(newest?.version, body.version)
      await insertVersion(
        trx,
        {
          smartmodule_id: row.id,
          version,
          ordinal: (newest?.ordinal ?? 0) + 1,
          sha256,
          kind,
          extism_function,
          input_format,
          output_format,
          config,
          source,
          tests: tests.length > 0 ? tests : null,
        },
        binary,
      )
      return {
        status: 201,
        body: { id: row.id, name: row.name, status: 'deployed', version },
        headers: { Location: `/smartmodules/${row.id}` },
      }
    })
  } catch (error) {
    if (isUniqueViolation(error))
      throw new ServiceError('conflict', `another upload of "${body.name}" came first; try again`, { cause: error })
    throw error
  }
})

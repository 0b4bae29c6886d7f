/** Lists, reads and deletes SmartModules. */
import { inTransaction, type Queryable } from '../../store/database.ts'
import {
  deleteSmartModuleContract,
  getSmartModuleContract,
  getSmartModuleVersionContract,
  listSmartModulesContract,
  listSmartModuleVersionsContract,
} from '../../../../shared/api/smartmodules.ts'
import { notFound, ServiceError } from '../../service-error.ts'
import {
  deleteSmartModuleRow,
  findSmartModule,
  findSmartModuleReferred,
  findSource,
  findVersion,
  getBinary,
  listVersionsPage,
  listSmartModules,
  lockSmartModuleForDeletion,
  type ListedSmartModule,
  type ListedVersion,
} from '../../store/smartmodules.ts'
import { listPipelineNamesUsing } from '../../store/uses.ts'
import { assertIfMatch, etagOf } from '../etags.ts'
import { listReply } from '../list-reply.ts'
import { operation } from '../operation.ts'

const statusOf = ({ is_quarantined }: Pick<ListedVersion, 'is_quarantined'>): 'deployed' | 'quarantined' =>
  is_quarantined ? 'quarantined' : 'deployed'

const show = ({ id, name, description, version, created_at }: ListedSmartModule) => ({ id, name, description, version, created_at })

export const listSmartModulesOperation = operation(listSmartModulesContract, async ({ db }, caller, { query }) =>
  listReply('modules', await listSmartModules(db, caller.accountId, query), query, show),
)

export const getSmartModuleOperation = operation(getSmartModuleContract, async ({ db }, caller, { params }) => {
  const row = await findSmartModuleReferred(db, caller.accountId, params.id)
  if (!row) throw notFound('the SmartModule')
  const { kind, sha256, bytes, account_id, config, input_format, output_format } = row
  const source = await findSource(db, row.id, row.version)
  return {
    status: 200,
    body: {
      ...show(row),
      status: statusOf(row),
      kind,
      sha256,
      bytes,
      built_in: account_id === null,
      config: { input_format, output_format, ...config },
      ...(source ? { source } : {}),
    },
    headers: etagOf(row, `-${row.version}`),
  }
})

const showVersion = (row: ListedVersion) => {
  const { version, kind, sha256, bytes, created_at } = row
  return { version, status: statusOf(row), kind, sha256, bytes, created_at }
}

export const listSmartModuleVersionsOperation = operation(listSmartModuleVersionsContract, async ({ db }, caller, { params, query }) => {
  const row = await findSmartModuleReferred(db, caller.accountId, params.id)
  if (!row) throw notFound('the SmartModule')
  return listReply('versions', await listVersionsPage(db, row.id, query), query, showVersion)
})

export const getSmartModuleVersionOperation = operation(getSmartModuleVersionContract, async ({ db }, caller, { params, query }) => {
  const row = await findSmartModuleReferred(db, caller.accountId, params.id)
  const version = row && (await findVersion(db, row.id, params.version))
  if (!version) throw notFound('the version')
  const { config, input_format, output_format, source, tests } = version
  const wasm_binary = query.binary === 'true' ? (await getBinary(db, version.sha256)).toString('base64') : undefined
  return {
    status: 200,
    body: {
      ...showVersion(version),
      config: { input_format, output_format, ...config },
      ...(source ? { source } : {}),
      ...(tests ? { tests } : {}),
      ...(wasm_binary === undefined ? {} : { wasm_binary }),
    },
  }
})

/** What is deleted is named by its id, because another one may have got the name meanwhile: says which id that one has. */
async function notFoundBesideName(db: Queryable, accountId: string, name: string): Promise<ServiceError> {
  const named = await findSmartModuleReferred(db, accountId, name)
  return named
    ? new ServiceError('not_found', `no SmartModule has this id; the one of this name is ${named.id}`)
    : notFound('the SmartModule')
}

export const deleteSmartModuleOperation = operation(deleteSmartModuleContract, async ({ db }, caller, { params }) => {
  await inTransaction(db, async (trx) => {
    const row = await findSmartModule(trx, caller.accountId, params.id)
    if (!row) throw await notFoundBesideName(trx, caller.accountId, params.id)
    if (row.account_id === null) throw new ServiceError('forbidden', 'built-in SmartModules can’t be deleted')
    assertIfMatch(caller, etagOf(row, `-${row.version}`))
    // Locked, so that no pipeline can start to use it meanwhile.
    await lockSmartModuleForDeletion(trx, row.id)
    const users = await listPipelineNamesUsing(trx, 'smartmodule', row.id)
    if (users.length > 0) throw new ServiceError('conflict', `the SmartModule is used by: ${users.join(', ')}`)
    await deleteSmartModuleRow(trx, row.id)
  })
  return { status: 204 }
})

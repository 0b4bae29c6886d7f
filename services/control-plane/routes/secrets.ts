/** Creates, lists (without their values), replaces and deletes secrets. */
import {
  createSecretContract,
  deleteSecretContract,
  getSecretContract,
  listSecretsContract,
  updateSecretContract,
} from '../../../shared/api/secrets.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { invalidRequest, notFound, ServiceError } from '../service-error.ts'
import { newId } from '../../../shared/model/ids.ts'
import { ownerOf } from '../../../shared/secrets/envelope.ts'
import { inTransaction, type Queryable } from '../store/database.ts'
import { lockPipeline, updatePipeline } from '../store/pipelines.ts'
import {
  deleteSecretRow,
  findSecret,
  findSecretForUpdate,
  insertSecret,
  listSecrets,
  updateSecret,
  type SecretRow,
} from '../store/secrets.ts'
import { listPipelineIdsUsing, listPipelineIdsUsingEach } from '../store/uses.ts'
import { assertQuotas } from '../store/quotas.ts'
import { anew, enqueueDefinition } from '../publisher/enqueue.ts'
import { assertIfMatch, etagOf } from './etags.ts'
import { listReply } from './list-reply.ts'
import { orNameTaken } from './name-taken.ts'
import { operation } from './operation.ts'

const show = (row: SecretRow, used_by: string[]) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  connectors: row.allowed_connectors,
  hosts: row.allowed_hosts,
  used_by,
  created_at: row.created_at,
  updated_at: row.updated_at,
})

export const createSecretOperation = operation(
  createSecretContract,
  async ({ db, secretBox, notifyPublisher }, { accountId }, { body }) => {
    const { name, description, value, connectors, hosts } = body
    const unknown = (connectors ?? []).findIndex((each) => findConnector(each) === undefined)
    if (unknown >= 0) throw invalidRequest([{ path: `/connectors/${unknown}`, message: 'is not the id or name of a connector' }])
    const envelope = secretBox.seal(ownerOf(accountId, name), value)
    const bounds = { allowed_connectors: connectors ?? null, allowed_hosts: hosts ?? null }
    const row = await orNameTaken(
      'secret',
      name,
      inTransaction(db, async (trx) => {
        await assertQuotas(trx, accountId, { secrets: 1 })
        return insertSecret(trx, { id: newId('secret'), account_id: accountId, name, description, envelope, ...bounds })
      }),
    )
    notifyPublisher()
    return { status: 201, body: show(row, []), headers: { Location: `/secrets/${row.id}` } }
  },
)

export const listSecretsOperation = operation(listSecretsContract, async ({ db }, caller, { query }) => {
  const page = await listSecrets(db, caller.accountId, query)
  const users = await listPipelineIdsUsingEach(
    db,
    'secret',
    page.items.map(({ id }) => id),
  )
  return listReply('secrets', page, query, (row) => show(row, users.get(row.id) ?? []))
})

export const getSecretOperation = operation(getSecretContract, async ({ db }, caller, { params }) => {
  const row = await findSecret(db, caller.accountId, params.id)
  if (!row) throw notFound('the secret')
  return { status: 200, body: show(row, await listPipelineIdsUsing(db, 'secret', row.id)), headers: etagOf(row) }
})

/** A new attempt makes every task reopen its connectors, now with the new value. */
async function restartUsers(trx: Queryable, pipelineIds: string[]): Promise<void> {
  for (const id of pipelineIds) {
    const row = await lockPipeline(trx, id)
    if (!row || row.desired === 'stopped' || row.status === 'deleting' || row.status === 'creating') continue
    // A failed pipeline may have lacked the right value.
    await enqueueDefinition(trx, await updatePipeline(trx, id, anew(row)))
  }
}

export const updateSecretOperation = operation(
  updateSecretContract,
  async ({ db, secretBox, notifyPublisher }, caller, { params, body }) => {
    const [row, users] = await inTransaction(db, async (trx) => {
      const found = await findSecretForUpdate(trx, caller.accountId, params.id)
      if (!found) throw notFound('the secret')
      assertIfMatch(caller, etagOf(found))
      const { description = found.description, value } = body
      const envelope = value === undefined ? undefined : secretBox.seal(ownerOf(caller.accountId, found.name), value)
      const updated = await updateSecret(trx, found, { description, envelope })
      const usedBy = await listPipelineIdsUsing(trx, 'secret', found.id)
      if (envelope) await restartUsers(trx, usedBy)
      return [updated, usedBy] as const
    })
    notifyPublisher()
    return { status: 200, body: show(row, users), headers: etagOf(row) }
  },
)

export const deleteSecretOperation = operation(deleteSecretContract, async ({ db, notifyPublisher }, caller, { params }) => {
  await inTransaction(db, async (trx) => {
    const row = await findSecretForUpdate(trx, caller.accountId, params.id)
    if (!row) throw notFound('the secret')
    assertIfMatch(caller, etagOf(row))
    const users = await listPipelineIdsUsing(trx, 'secret', row.id)
    if (users.length > 0) throw new ServiceError('conflict', `the secret is used by: ${users.join(', ')}`)
    await deleteSecretRow(trx, row)
  })
  notifyPublisher()
  return { status: 204 }
})

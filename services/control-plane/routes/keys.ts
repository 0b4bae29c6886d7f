/** API keys of the caller's account. */
import { inTransaction } from '../store/database.ts'
import { createKeyContract, deleteKeyContract, listKeysContract } from '../../../shared/api/auth.ts'
import { notFound, ServiceError } from '../service-error.ts'
import { newId } from '../../../shared/model/ids.ts'
import { SCOPES } from '../../../shared/model/limits.ts'
import { findKey, insertKey, listKeys, listKeysWith, lockAccount, revokeKey, type KeyRow } from '../store/accounts.ts'
import { countOwners } from '../store/members.ts'
import { assertQuotas } from '../store/quotas.ts'
import { listReply } from './list-reply.ts'
import { orNameTaken } from './name-taken.ts'
import { operation } from './operation.ts'

const show = ({ id, name, scopes, created_at }: KeyRow) => ({ id, name, scopes, created_at })

export const listKeysOperation = operation(listKeysContract, async ({ db }, caller, { query }) =>
  listReply('keys', await listKeys(db, caller.accountId, query), query, show),
)

export const createKeyOperation = operation(createKeyContract, async ({ db, credentials }, caller, { body }) => {
  const scopes = [...new Set(body.scopes ?? SCOPES)]
  const beyond = scopes.filter((scope) => !caller.scopes.includes(scope))
  if (beyond.length > 0) throw new ServiceError('forbidden', `a key can't grant scopes that it lacks: ${beyond.join(', ')}`)
  const secret = credentials.newSecret()
  const row = await orNameTaken(
    'key',
    body.name,
    inTransaction(db, async (trx) => {
      await assertQuotas(trx, caller.accountId, { keys: 1 })
      const hash = credentials.hashOf(secret)
      return insertKey(trx, { id: newId('key'), account_id: caller.accountId, name: body.name, scopes, secret_hash: hash })
    }),
  )
  return {
    status: 201,
    body: { ...show(row), api_key: row.id, api_secret: secret },
    headers: { Location: `/keys/${row.id}`, 'Cache-Control': 'no-store' },
  }
})

export const deleteKeyOperation = operation(deleteKeyContract, async ({ db }, caller, { params }) => {
  await inTransaction(db, async (trx) => {
    // Two requests could otherwise delete the last two keys.
    await lockAccount(trx, caller.accountId)
    const key = await findKey(trx, caller.accountId, params.id)
    if (!key) throw notFound('the key')
    const beyond = key.scopes.filter((scope) => !caller.scopes.includes(scope))
    if (beyond.length > 0) throw new ServiceError('forbidden', `the caller lacks scopes of the key: ${beyond.join(', ')}`)
    const makers = await listKeysWith(trx, caller.accountId, 'keys:write')
    if (makers.length === 1 && makers[0]!.id === key.id && (await countOwners(trx, caller.accountId)) === 0)
      throw new ServiceError('conflict', 'the key is the last one that can make keys (keys:write): create another one first')
    await revokeKey(trx, caller.accountId, key.id)
  })
  return { status: 204 }
})

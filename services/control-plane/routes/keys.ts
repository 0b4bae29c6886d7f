/** API keys of the caller's account. */
import { createKeyContract, deleteKeyContract, listKeysContract } from '../../../shared/api/auth.ts'
import { notFound, ServiceError } from '../service-error.ts'
import { newId } from '../../../shared/model/ids.ts'
import { SCOPES } from '../../../shared/model/limits.ts'
import { insertKey, listKeys, revokeKey, type KeyRow } from '../store/accounts.ts'
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
    insertKey(db, { id: newId('key'), account_id: caller.accountId, name: body.name, scopes, secret_hash: credentials.hashOf(secret) }),
  )
  return {
    status: 201,
    body: { ...show(row), api_key: row.id, api_secret: secret },
    headers: { Location: `/keys/${row.id}`, 'Cache-Control': 'no-store' },
  }
})

export const deleteKeyOperation = operation(deleteKeyContract, async ({ db }, caller, { params }) => {
  if (!(await revokeKey(db, caller.accountId, params.id))) throw notFound('the key')
  return { status: 204 }
})

/** Who holds an Idempotency-Key, in Postgres: the claim that was renewed last, and no request whose claim was taken over. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openDatabase, type Database } from '../../services/control-plane/store/database.ts'
import { claimKey, keepAnswer, releaseKey, renewClaim, type Held } from '../../services/control-plane/store/idempotency.ts'
import { service, unique } from '../harness/client.ts'

let db: Database
const accountId = () => service().accounts.enterprise.account_id
const answer = (status: number) => ({ status, headers: {}, body: { status } })
beforeAll(() => {
  db = openDatabase(service().databaseUrl, 2)
})
afterAll(() => db.destroy())

async function claimed(key: string): Promise<Held> {
  const claim = await claimKey(db, accountId(), key, 'print')
  if (claim.kind !== 'new') throw new Error(`the claim is ${claim.kind}`)
  return { accountId: accountId(), key, token: claim.token }
}

it('a claim that was renewed is held by its new token alone', async () => {
  const held = await claimed(unique('key'))
  const renewed = await renewClaim(db, held)
  expect(renewed.token).not.toBe(held.token)
  expect(await keepAnswer(db, held, answer(500), false)).toBe(false)
  expect(await keepAnswer(db, renewed, answer(201), false)).toBe(true)
  expect(await claimKey(db, accountId(), held.key, 'print')).toMatchObject({ kind: 'done', answer: answer(201) })
})

it('a claim that was taken over neither stores an answer nor releases the key', async () => {
  const first = await claimed(unique('key'))
  expect(await claimKey(db, accountId(), first.key, 'print')).toEqual({ kind: 'in_flight' })
  const [aged] = await db('idempotency_keys')
    .where({ key: first.key })
    .update({ created_at: db.raw("now() - interval '61 seconds'") })
    .returning(db.raw('created_at::text AS token'))
  const late = { ...first, token: aged.token as string }
  const second = await claimed(first.key)
  expect(await keepAnswer(db, late, answer(500), false)).toBe(false)
  expect(await renewClaim(db, late)).toEqual(late)
  await releaseKey(db, late)
  expect(await claimKey(db, accountId(), first.key, 'print')).toEqual({ kind: 'in_flight' })
  await releaseKey(db, second)
  await claimed(first.key)
})

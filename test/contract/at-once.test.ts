/** What requests do to each other's rows when they come at the same time, or when one stands still: real Postgres. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inTransaction, type Database } from '../../services/control-plane/store/database.ts'
import { claimKey, keepAnswer, releaseKey, renewClaim, type Held } from '../../services/control-plane/store/idempotency.ts'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { openOwnDatabase } from '../harness/own-database.ts'
import { createPipeline, createStream } from '../harness/pipelines.ts'
import { setStatus } from '../harness/rows.ts'

let own: Awaited<ReturnType<typeof openOwnDatabase>>
let db: Database
beforeAll(async () => {
  own = await openOwnDatabase('at_once')
  db = own.db
})
afterAll(() => own.close())

describe('two transactions that lock the same rows in different orders', () => {
  it('both succeed: Postgres ends one of them, which is done again', async () => {
    const names = [unique('one'), unique('two')]
    for (const name of names) await db('projector_positions').insert({ name, next_offset: 0 })
    let begun = 0
    const bothHaveLocked = Promise.withResolvers<void>()
    let locked = 0
    const add = (order: string[]) =>
      inTransaction(db, async (trx) => {
        begun++
        for (const name of order) {
          await trx('projector_positions').where({ name }).increment('next_offset', 1)
          if (++locked === 2) bothHaveLocked.resolve()
          await bothHaveLocked.promise
        }
      })
    await Promise.all([add(names), add(names.toReversed())])
    expect(begun).toBe(3)
    const rows = await db('projector_positions').whereIn('name', names).select('next_offset')
    expect(rows.map(({ next_offset }) => Number(next_offset))).toEqual([2, 2])
  })
})

describe('an Idempotency-Key whose holder stood still', () => {
  const answer = (n: number) => ({ status: 201, headers: {}, body: { n } })

  async function claimed(key: string): Promise<Held> {
    const claim = await claimKey(db, 'account', key, 'print')
    if (claim.kind !== 'new') throw new Error(`the claim is ${claim.kind}`)
    return { accountId: 'account', key, token: claim.token }
  }

  it('belongs to the request that took it over', async () => {
    const key = unique('key')
    const first = await claimed(key)
    await db('idempotency_keys')
      .where({ key })
      .update({ created_at: db.raw(`now() - interval '2 minutes'`) })
    const second = await claimed(key)
    await releaseKey(db, first)
    await keepAnswer(db, first, answer(1), false)
    expect(await claimKey(db, 'account', key, 'print')).toEqual({ kind: 'in_flight' })
    await keepAnswer(db, second, answer(2), false)
    expect(await claimKey(db, 'account', key, 'print')).toMatchObject({ kind: 'done', answer: answer(2) })
  })

  it('stays with a request that renews it', async () => {
    const key = unique('key')
    const first = await claimed(key)
    const renewed = await renewClaim(db, first)
    expect(renewed.token).not.toBe(first.token)
    await keepAnswer(db, renewed, answer(1), false)
    expect(await renewClaim(db, renewed)).toEqual(renewed)
    expect(await claimKey(db, 'account', key, 'print')).toMatchObject({ kind: 'done', answer: answer(1) })
  })
})

describe('a stream', () => {
  it('that an unfinished job writes to is not deleted', async () => {
    const client = await loggedIn(service().accounts.enterprise)
    const [from, to, copy] = [
      await createStream(client, { n: 'integer' }),
      await createStream(client, { n: 'integer' }),
      await createStream(client, { n: 'integer' }),
    ]
    const id = await createPipeline(client, from.id, [], to.id, { autostart: false })
    const body = { from: 'earliest', to: 'latest', sink: { stream_id: copy.id } }
    const key = unique('key')
    const replay = () => client.call<{ id: string }>('POST', `/v1/pipelines/${id}/replay`, body, { 'Idempotency-Key': key })
    const job = await replay()
    expect(job.status).toBe(202)
    expect((await replay()).body.id).toBe(job.body.id)
    await eventually('the replay has ended', async () => (await client.call('GET', `/v1/jobs/${job.body.id}`)).body.status === 'finished')
    // Its end is not to come between the next two.
    await setStatus('jobs', job.body.id, 'running')
    const refused = await client.call('DELETE', `/v1/streams/${copy.id}`)
    expect([refused.status, refused.body.error?.message]).toEqual([409, expect.stringContaining(job.body.id)])
    await setStatus('jobs', job.body.id, 'finished')
    expect((await client.call('DELETE', `/v1/streams/${copy.id}`)).status).toBe(204)
    await setStatus('pipelines', id, 'creating')
    expect((await client.call('POST', `/v1/pipelines/${id}/replay`, body)).status).toBe(409)
    expect((await client.call('POST', `/v1/pipelines/${id}/dead-letters/redrive`)).status).toBe(409)
  })
})

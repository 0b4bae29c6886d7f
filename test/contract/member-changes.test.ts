/** A member's role or password that changes while a link or a session is made: what is made by what held before is void after. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase, type Database, type Transaction } from '../../services/control-plane/store/database.ts'
import { anonymous, eventually, loggedIn, service, unique, type Answer, type Client } from '../harness/client.ts'
import { signedIn } from '../harness/sessions.ts'

type Invited = { id: string; email: string; sign_in_token: string }
const PASSWORD = 'correct horse battery'

let client: Client
let db: Database
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  db = openDatabase(service().databaseUrl, 2)
})
afterAll(() => db.destroy())

const invite = async (): Promise<Invited> => {
  const email = `${unique('member')}@example.com`.toLowerCase()
  return (await client.call<Invited>('POST', '/v1/members', { name: 'x', email, role: 'viewer' })).body
}

/** Locks an expired row, which a request deletes before it inserts its own. */
async function whileExpiredIsLocked(table: 'sessions' | 'sign_in_links', work: (waiting: () => Promise<number>) => Promise<void>) {
  const { id } = await invite()
  const expired = { token_hash: Buffer.from(unique('expired')), member_id: id, expires_at: new Date(0) }
  let trx: Transaction | undefined
  await eventually('an expired row is locked', async () => {
    await db(table).insert(expired).onConflict('token_hash').ignore()
    trx = await db.transaction()
    // Another test's request may have deleted it.
    if (await trx(table).where({ token_hash: expired.token_hash }).forUpdate().first()) return true
    await trx.rollback()
    return false
  })
  const waiting = async () => {
    const [row] = await db('pg_stat_activity')
      .where({ wait_event_type: 'Lock' })
      .whereRaw('datname = current_database()')
      .count<{ count: string }[]>('* as count')
    return Number(row!.count)
  }
  await work(waiting).finally(() => trx!.rollback())
}

/** Begins `slow`, and `change` while it waits for a row; both have their answer once the change is done, or waits too. */
async function changedDuring<T, U>(table: 'sessions' | 'sign_in_links', slow: () => Promise<Answer<T>>, change: () => Promise<Answer<U>>) {
  let [answer, changed]: [Promise<Answer<T>> | undefined, Promise<Answer<U>> | undefined] = [undefined, undefined]
  await whileExpiredIsLocked(table, async (waiting) => {
    answer = slow()
    await eventually('the request waits', async () => (await waiting()) > 0)
    let isDone = false
    changed = change().finally(() => (isDone = true))
    await eventually('the change is done or waits', async () => isDone || (await waiting()) > 1)
  })
  return { answer: await answer!, changed: await changed! }
}

/** Opened by a link or a password; its cookie no longer says who it is. */
const hasEnded = (cookie: string) =>
  eventually(
    'the session has ended',
    async () => (await anonymous().call('GET', '/v1/session', undefined, { Cookie: cookie })).status === 401,
  )
const cookieIn = ({ headers }: Answer<unknown>) => headers.get('Set-Cookie')!.split(';')[0]!

describe('while a member gets a greater role', () => {
  it('no link is made that signs in with it', async () => {
    const { id } = await invite()
    const link = () => client.call<Invited>('POST', `/v1/members/${id}/link`)
    const { answer, changed } = await changedDuring('sign_in_links', link, () =>
      client.call('PATCH', `/v1/members/${id}`, { role: 'owner' }),
    )
    expect([answer.status, changed.status]).toEqual([201, 200])
    const { sign_in_token } = answer.body
    expect((await anonymous().call('POST', '/v1/sessions', { sign_in_token })).status).toBe(401)
    await client.call('DELETE', `/v1/members/${id}`)
  })

  it('no session begins by a link of before', async () => {
    const { id, sign_in_token } = await invite()
    const signIn = () => anonymous().call('POST', '/v1/sessions', { sign_in_token })
    const { answer, changed } = await changedDuring('sessions', signIn, () => client.call('PATCH', `/v1/members/${id}`, { role: 'owner' }))
    expect([answer.status, changed.status]).toEqual([201, 200])
    await hasEnded(cookieIn(answer))
    await client.call('DELETE', `/v1/members/${id}`)
  })
})

it('no session begins by a password while the member changes it', async () => {
  const { email, sign_in_token } = await invite()
  const member = await signedIn({ sign_in_token })
  await member.call('POST', '/v1/session/password', { password: PASSWORD })
  const signIn = () => anonymous().call('POST', '/v1/sessions', { email, password: PASSWORD })
  const { answer, changed } = await changedDuring('sessions', signIn, () =>
    member.call('POST', '/v1/session/password', { password: 'another long one', current_password: PASSWORD }),
  )
  expect([answer.status, changed.status]).toEqual([201, 204])
  await hasEnded(cookieIn(answer))
})

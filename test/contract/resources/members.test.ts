/** Members and sessions: what each operation answers, and who may sign in, as what, and until when. */
import { beforeAll, describe, expect, it } from 'vitest'
import * as membersApi from '../../../shared/api/members.ts'
import { cookieOf } from '../../../services/control-plane/access/sessions.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { anonymous, eventually, loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { openAccount, setQuotas, signInLink } from '../../harness/operator.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { signedIn } from '../../harness/sessions.ts'

type Invited = { id: string; email: string; sign_in_token: string }
const PASSWORD = 'correct horse battery'

let client: Client
let resources: OneOfEach
let accountId: string
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  accountId = service().accounts.enterprise.account_id
  resources = await makeOneOfEach(client)
})

const emailOf = (name: string) => `${unique(name)}@example.com`.toLowerCase()
const invite = async (role: string, by = client) =>
  (await by.call<Invited>('POST', '/v1/members', { name: 'x', email: emailOf(role), role })).body
const owner = async () => signedIn((await signInLink(accountId, emailOf('owner'))) as { sign_in_token: string })
/** A person who is a member of two accounts with one password. */
async function inTwo() {
  const { account, client: theirs } = await openAccount('developer')
  const email = emailOf('both')
  for (const each of [client, theirs]) {
    const { sign_in_token } = (await each.call<Invited>('POST', '/v1/members', { name: 'x', email, role: 'viewer' })).body
    await (await signedIn({ sign_in_token })).call('POST', '/v1/session/password', { password: PASSWORD })
  }
  return { by: { email, password: PASSWORD }, second: account.account_id, theirs }
}
const token = async () => ({ sign_in_token: (await invite('viewer')).sign_in_token })

describeAnswers(contractsOf(membersApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    createSession: [
      [201, 'for the token of a link', async () => anonymous().call('POST', '/v1/sessions', await token())],
      [409, 'for a password that is right for several accounts', async () => anonymous().call('POST', '/v1/sessions', (await inTwo()).by)],
    ],
    getSignInMethods: [[200, 'without a token', () => anonymous().call('GET', '/v1/sign-in-methods')]],
    getSession: [[200, 'for a key', () => client.call('GET', '/v1/session')]],
    deleteSession: [
      [204, 'for a session', async () => (await signedIn(await token())).call('DELETE', '/v1/session')],
      [409, 'for a key', () => client.call('DELETE', '/v1/session')],
    ],
    changePassword: [
      [204, 'for a member', async () => (await signedIn(await token())).call('POST', '/v1/session/password', { password: PASSWORD })],
      [409, 'for a key', () => client.call('POST', '/v1/session/password', { password: PASSWORD })],
    ],
    listMembers: [[200, 'with a page', () => client.call('GET', '/v1/members')]],
    getMember: [[200, 'with the member', () => client.call('GET', `/v1/members/${resources.members}`)]],
    createMember: [
      [201, 'with a link’s token', () => client.call('POST', '/v1/members', { name: 'x', email: emailOf('new'), role: 'editor' })],
      [
        409,
        'for an address that is a member',
        async () => client.call('POST', '/v1/members', { name: 'x', email: (await invite('viewer')).email.toUpperCase(), role: 'editor' }),
      ],
    ],
    updateMember: [
      [200, 'with the member', () => client.call('PATCH', `/v1/members/${resources.members}`, { role: 'editor' })],
      [
        409,
        'for the last owner',
        async () => {
          const { account, client: alone } = await openAccount('developer')
          const made = (await signInLink(account.account_id, emailOf('only'))) as { member_id: string }
          return alone.call('PATCH', `/v1/members/${made.member_id}`, { role: 'viewer' })
        },
      ],
    ],
    deleteMember: [
      [204, 'for a member', async () => client.call('DELETE', `/v1/members/${(await invite('viewer')).id}`)],
      [
        409,
        'for the last owner',
        async () => {
          const { account, client: alone } = await openAccount('developer')
          const made = (await signInLink(account.account_id, emailOf('only'))) as { member_id: string }
          return alone.call('DELETE', `/v1/members/${made.member_id}`)
        },
      ],
    ],
    createMemberLink: [[201, 'with a token', () => client.call('POST', `/v1/members/${resources.members}/link`)]],
  },
})

describe('a session', () => {
  it('is who signed in, and may do what the role may', async () => {
    const { id, email, sign_in_token } = await invite('viewer')
    const viewer = await signedIn({ sign_in_token })
    const { body } = await viewer.call<{ member: { id: string }; account: { id: string }; scopes: string[] }>('GET', '/v1/session')
    expect(body).toMatchObject({ member: { id, email, role: 'viewer', has_password: false }, account: { id: accountId } })
    expect(body.scopes).toContain('pipelines:read')
    expect(body.scopes.filter((scope) => !scope.endsWith(':read') || scope === 'keys:read')).toEqual([])
    expect((await viewer.call('GET', '/v1/pipelines')).status).toBe(200)
    const refused = await viewer.call('POST', '/v1/streams', { name: unique('x'), schema: { a: 'string' } })
    expect([refused.status, refused.body.error?.message]).toEqual([403, expect.stringContaining('role lacks the scope streams:write')])
  })

  it('keeps its cookie from scripts, other sites and plain HTTP', async () => {
    const answer = await anonymous().call('POST', '/v1/sessions', await token())
    expect(answer.headers.get('Set-Cookie')).toMatch(/^dps_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/)
    expect(cookieOf('x', false)['Set-Cookie']).toMatch(/; Secure$/)
  })

  it('changes nothing for a request that a page of another site could make', async () => {
    const { cookie } = await owner()
    const forged = await anonymous().call('POST', '/v1/keys', { name: unique('forged') }, { Cookie: cookie })
    expect([forged.status, forged.body.error?.message]).toEqual([403, expect.stringContaining('X-Requested-By')])
    const reading = await anonymous().call('GET', '/v1/keys', undefined, { Cookie: cookie })
    expect(reading.status).toBe(200)
  })

  it('ends when its member signs out or is removed', async () => {
    const { id, sign_in_token } = await invite('editor')
    const editor = await signedIn({ sign_in_token })
    const other = await signedIn((await client.call<Invited>('POST', `/v1/members/${id}/link`)).body)
    expect((await editor.call('DELETE', '/v1/session')).headers.get('Set-Cookie')).toContain('Max-Age=0')
    await eventually('the session has ended', async () => (await editor.call('GET', '/v1/session')).status === 401)
    expect((await other.call('GET', '/v1/session')).status).toBe(200)
    await client.call('DELETE', `/v1/members/${id}`)
    await eventually('the other one has ended too', async () => (await other.call('GET', '/v1/session')).status === 401)
  })

  it('counts its own requests, not the account’s', async () => {
    const viewer = await signedIn(await token())
    expect((await viewer.call('GET', '/v1/session')).headers.get('X-RateLimit-Limit')).toBe('1200')
  })
})

describe('signing in', () => {
  it('takes a link once', async () => {
    const once = await token()
    await signedIn(once)
    const again = await anonymous().call('POST', '/v1/sessions', once)
    expect([again.status, again.body.error?.message]).toEqual([401, expect.stringContaining('used already')])
  })

  it('takes a password that the member has set, in whatever case the address is; setting one ends other sessions and links', async () => {
    const { id, email, sign_in_token } = await invite('editor')
    expect((await anonymous().call('POST', '/v1/sessions', { email, password: PASSWORD })).status).toBe(401)
    const editor = await signedIn({ sign_in_token })
    const link = (await client.call<Invited>('POST', `/v1/members/${id}/link`)).body.sign_in_token
    expect((await editor.call('POST', '/v1/session/password', { password: 'short' })).body.error?.details?.[0]?.path).toBe('/password')
    expect((await editor.call('POST', '/v1/session/password', { password: PASSWORD })).status).toBe(204)
    expect((await anonymous().call('POST', '/v1/sessions', { sign_in_token: link })).status).toBe(401)
    const second = await signedIn({ email: email.toUpperCase(), password: PASSWORD })
    expect((await anonymous().call('POST', '/v1/sessions', { email, password: `${PASSWORD}!` })).status).toBe(401)
    const wrong = await second.call('POST', '/v1/session/password', { password: 'another long one', current_password: 'x' })
    expect(wrong.body.error?.details?.[0]?.path).toBe('/current_password')
    const right = await second.call('POST', '/v1/session/password', { password: 'another long one', current_password: PASSWORD })
    expect(right.status).toBe(204)
    await eventually('the first session has ended', async () => (await editor.call('GET', '/v1/session')).status === 401)
  })

  it('says which accounts a password is right for, and takes the one that is named', async () => {
    const { by, second } = await inTwo()
    const asked = await anonymous().call('POST', '/v1/sessions', by)
    const named = asked.body.error?.details?.map(({ path, message }) => [path, message.split(' is ')[0]])
    expect(named?.toSorted()).toEqual([accountId, second].toSorted().map((id) => ['/account_id', id]))
    const chosen = await anonymous().call<{ account: object }>('POST', '/v1/sessions', { ...by, account_id: second })
    expect([chosen.status, chosen.body.account]).toEqual([201, expect.objectContaining({ id: second })])
    const wrong = await anonymous().call('POST', '/v1/sessions', { ...by, password: `${PASSWORD}!` })
    expect([wrong.status, wrong.body.error?.details]).toEqual([401, undefined])
    expect((await anonymous().call('POST', '/v1/sessions', { ...by, account_id: 'acc_none' })).status).toBe(401)
  })

  it('counts a password that is wrong for one account, and tells that one, also where it is right for another', async () => {
    const { by, theirs } = await inTwo()
    const other = await signedIn({ ...by, account_id: accountId })
    await other.call('POST', '/v1/session/password', { password: 'another long one', current_password: PASSWORD })
    expect(await statusesOf(by)).toEqual([201, 429])
    const told = async (each: Client) =>
      (await each.call<{ entries: { status: number }[] }>('GET', '/v1/audit?operation=createSession&page_size=100')).body.entries
    expect((await told(client)).some(({ status }) => status === 401)).toBe(true)
    expect((await told(theirs)).some(({ status }) => status === 201)).toBe(true)
  })

  /** What 31 wrong passwords are answered with, which are too many for a minute: a few at once, as each takes a processor for a while. */
  async function statusesOf(by: object): Promise<number[]> {
    const statuses = new Set<number>()
    for (let sent = 0; sent < 31; sent += 4) {
      const few = Array.from({ length: Math.min(4, 31 - sent) }, () => anonymous().call('POST', '/v1/sessions', by))
      for (const { status } of await Promise.all(few)) statuses.add(status)
      // All before the last few are within the limit.
      if (sent < 28) expect(statuses.has(429)).toBe(false)
    }
    return [...statuses].toSorted()
  }

  it('is refused after too many wrong passwords for an address', async () => {
    const email = emailOf('guessed')
    expect(await statusesOf({ email, password: PASSWORD })).toEqual([401, 429])
  })
})

describe('a key or member', () => {
  it('can’t make a member who may do more', async () => {
    const { body } = await client.call<{ api_key: string; api_secret: string }>('POST', '/v1/keys', {
      name: unique('key'),
      scopes: ['keys:read', 'keys:write', 'pipelines:read'],
    })
    const lesser = await loggedIn(body)
    const asked = await lesser.call('POST', '/v1/members', { name: 'x', email: emailOf('more'), role: 'owner' })
    expect([asked.status, asked.body.error?.message]).toEqual([403, expect.stringContaining('streams:read')])
    const { id } = await invite('owner')
    expect((await lesser.call('POST', `/v1/members/${id}/link`)).status).toBe(403)
    expect((await lesser.call('DELETE', `/v1/members/${id}`)).status).toBe(403)
    await client.call('DELETE', `/v1/members/${id}`)
  })

  it('keeps nothing that was made for the role before: neither links nor sessions', async () => {
    const { id, sign_in_token } = await invite('viewer')
    const link = (await client.call<Invited>('POST', `/v1/members/${id}/link`)).body.sign_in_token
    const viewer = await signedIn({ sign_in_token })
    expect((await client.call('PATCH', `/v1/members/${id}`, { role: 'editor' })).status).toBe(200)
    expect((await anonymous().call('POST', '/v1/sessions', { sign_in_token: link })).status).toBe(401)
    await eventually('the session has ended', async () => (await viewer.call('GET', '/v1/session')).status === 401)
  })

  it('may revoke the last key that can make keys where an owner is left', async () => {
    const { account, client: alone } = await openAccount('developer')
    expect((await alone.call('DELETE', `/v1/keys/${account.api_key}`)).status).toBe(409)
    const { sign_in_token } = (await signInLink(account.account_id, emailOf('owner'))) as Invited
    const person = await signedIn({ sign_in_token })
    expect((await person.call('DELETE', `/v1/keys/${account.api_key}`)).status).toBe(204)
  })
})

describe('an address', () => {
  it('that another account has added keeps no other account from it, and is not told', async () => {
    const { account: thief, client: theirs } = await openAccount('developer')
    const { account, client: ours } = await openAccount('developer')
    const email = emailOf('chief')
    const ask = { name: 'x', email, role: 'owner' }
    const added = (await theirs.call<Invited>('POST', '/v1/members', ask)).body
    const squatter = await signedIn(added)
    await squatter.call('POST', '/v1/session/password', { password: 'the password of a thief' })
    const invited = await ours.call<Invited>('POST', '/v1/members', ask)
    expect(invited.status).toBe(201)
    const again = await ours.call('POST', '/v1/members', ask)
    expect([again.status, again.body.error?.message]).toEqual([409, expect.stringContaining('of the account already')])
    const made = (await signInLink(account.account_id, email)) as { member_id: string }
    expect(made.member_id).toBe(invited.body.id)
    const chief = await signedIn(invited.body)
    expect((await chief.call('POST', '/v1/session/password', { password: PASSWORD })).status).toBe(204)
    const opened = await anonymous().call<{ account: object }>('POST', '/v1/sessions', { email, password: PASSWORD })
    expect([opened.status, opened.body.account]).toEqual([201, expect.objectContaining({ id: account.account_id })])
    expect((await signInLink(thief.account_id, emailOf('other'))) as object).toMatchObject({ account_id: thief.account_id })
  })

  it('has at most five links in an account, of which the newest are valid', async () => {
    const { id } = await invite('viewer')
    const links: { sign_in_token: string }[] = []
    for (let n = 0; n < 6; n++) links.push((await client.call<Invited>('POST', `/v1/members/${id}/link`)).body)
    const use = async ({ sign_in_token }: { sign_in_token: string }) =>
      (await anonymous().call('POST', '/v1/sessions', { sign_in_token })).status
    expect([await use(links[0]!), await use(links[1]!), await use(links[5]!)]).toEqual([401, 201, 201])
  })
})

it('has no more members than the quota says', async () => {
  const { account, client: theirs } = await openAccount('developer')
  await setQuotas(account.account_id, { members: 1 })
  const ask = () => theirs.call('POST', '/v1/members', { name: 'x', email: emailOf('many'), role: 'viewer' })
  expect((await ask()).status).toBe(201)
  const refused = await ask()
  expect([refused.status, refused.body.error?.code, refused.body.error?.message]).toEqual([
    403,
    'quota_exceeded',
    expect.stringContaining('members'),
  ])
})

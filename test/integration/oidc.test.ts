/** Signing in with an OpenID Connect provider: who comes in, who does not, and what an answer is checked against. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../deploy/local/ports.ts'
import { loadControlPlaneConfig } from '../../shared/config/config.ts'
import { loggedIn, service, unique, type Client } from '../harness/client.ts'
import { startWithProvider, type TestProvider } from '../harness/oidc-provider.ts'
import { openAccount, suspend } from '../harness/operator.ts'
import { startControlPlane, type OwnControlPlane } from '../harness/own-control-plane.ts'

let client: Client
let provider: TestProvider
let own: OwnControlPlane
let both: Awaited<ReturnType<typeof startWithProvider>> | undefined
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  both = await startWithProvider()
  ;({ provider, own } = both)
})
afterAll(() => both?.close())

/** A browser without a page: it keeps cookies, and goes where it is led. */
function openBrowser() {
  const cookies = new Map<string, string>()
  async function go(url: URL, form?: Record<string, string>): Promise<{ url: URL; status: number; text: string; location: string | null }> {
    const answer = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form ? { body: new URLSearchParams(form) } : {}),
    })
    for (const set of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!
      if (value === '' || /max-age=0/i.test(set)) cookies.delete(name!)
      else cookies.set(name!, value!)
    }
    return { url, status: answer.status, text: await answer.text(), location: answer.headers.get('Location') }
  }
  return {
    cookies,
    go,
    /** Goes to the address and on to where it leads, up to a page or to the address that `until` is at the start of. */
    async follow(from: string, until?: string, form?: Record<string, string>) {
      let here = await go(new URL(from), form)
      while (here.location !== null) {
        const next = new URL(here.location, here.url)
        if (until !== undefined && next.href.startsWith(until)) return { ...here, url: next }
        here = await go(next)
      }
      return here
    },
  }
}

const callback = () => `${own.apiUrl}/sign-in/callback`
const home = () => `${own.apiUrl}/console/`

/** Signs in at the provider; returns where it leads back to, which the browser has not gone to yet. */
async function comeBack(browser: ReturnType<typeof openBrowser>, login: string, query = ''): Promise<URL> {
  const form = await browser.follow(`${own.apiUrl}/sign-in${query}`)
  const action = (page: { text: string; url: URL }) => new URL(/action="([^"]+)"/.exec(page.text)![1]!, page.url).href
  const consent = await browser.follow(action(form), callback(), { prompt: 'login', login, password: 'any' })
  if (consent.url.href.startsWith(callback())) return consent.url
  return (await browser.follow(action(consent), callback(), { prompt: 'consent' })).url
}

async function signIn(login: string, browser = openBrowser(), query = '') {
  const back = await comeBack(browser, login, query)
  const { status, location } = await browser.go(back)
  return { browser, back, status, location: new URL(location!, back).href }
}

type Invited = { id: string; sign_in_token: string }
const invite = async (login: string, by = client) =>
  (await by.call<Invited>('POST', '/v1/members', { name: login, email: provider.emailOf(login), role: 'viewer' })).body
const person = () => unique('person').toLowerCase()

/** A browser that is signed in by a link. */
async function openWith({ sign_in_token }: Invited) {
  const browser = openBrowser()
  const answer = await fetch(`${own.apiUrl}/v1/sessions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ sign_in_token }),
  })
  browser.cookies.set('dps_session', /dps_session=([^;]+)/.exec(answer.headers.get('Set-Cookie')!)![1]!)
  return browser
}
/** The member, who has used the invitation and come to the provider with it. */
async function join(login: string, by = client): Promise<string> {
  const invited = await invite(login, by)
  expect((await signIn(login, await openWith(invited))).location).toBe(home())
  return invited.id
}
/** Whom a browser is signed in as. */
async function whoIn({ cookies }: ReturnType<typeof openBrowser>): Promise<unknown> {
  const answer = await fetch(`${own.apiUrl}/v1/session`, { headers: { Cookie: `dps_session=${cookies.get('dps_session')}` } })
  return answer.json()
}

describe('a member', () => {
  it('signs in with the provider, and the audit log says so', async () => {
    const login = person()
    const id = await join(login)
    const { browser, status, location } = await signIn(login.toUpperCase())
    expect([status, location]).toEqual([302, home()])
    expect([...browser.cookies.keys()].filter((name) => name.startsWith('dps_'))).toEqual(['dps_session'])
    const member = { id, email: provider.emailOf(login), role: 'viewer', has_password: false, has_provider: true }
    expect(await whoIn(browser)).toMatchObject({ member })
    const { entries } = (await client.call<{ entries: object[] }>('GET', '/v1/audit?page_size=20')).body
    expect(entries).toContainEqual(expect.objectContaining({ actor: id, operation: 'createSession', status: 201 }))
    expect(await (await fetch(`${own.apiUrl}/v1/sign-in-methods`)).json()).toEqual({ provider: { name: 'Example Inc.' } })
  })

  it('is refused while the account is suspended, and in the audit log', async () => {
    const { account, client: theirs } = await openAccount('developer')
    const login = person()
    const id = await join(login, theirs)
    await suspend(account.account_id, 'a test')
    const { browser, location } = await signIn(login)
    expect(location).toBe(`${home()}#refused=suspended`)
    expect(browser.cookies.has('dps_session')).toBe(false)
    await suspend(account.account_id)
    const { entries } = (await theirs.call<{ entries: object[] }>('GET', '/v1/audit?page_size=20')).body
    expect(entries).toContainEqual(expect.objectContaining({ actor: id, operation: 'createSession', status: 401 }))
  })
})

describe('a person who has joined several accounts', () => {
  it('chooses one, and stays in the one the browser is signed in to', async () => {
    const { account, client: theirs } = await openAccount('developer')
    const login = person()
    await join(login)
    const invited = await invite(login, theirs)
    const second = await signIn(login, await openWith(invited))
    expect(await whoIn(second.browser)).toMatchObject({ member: { id: invited.id } })
    const asked = await signIn(login)
    expect(asked.browser.cookies.has('dps_session')).toBe(false)
    const choice = new URLSearchParams(new URL(asked.location).hash.replace('#choose=', ''))
    expect([...choice.keys()].toSorted()).toEqual([service().accounts.enterprise.account_id, account.account_id].toSorted())
    const chosen = await signIn(login, openBrowser(), `?account_id=${account.account_id}`)
    expect(await whoIn(chosen.browser)).toMatchObject({ member: { id: invited.id } })
    expect((await signIn(login, openBrowser(), '?account_id=acc_none')).location).toBe(`${home()}#refused=unknown`)
  })
})

describe('a person is refused', () => {
  it('who is no member, or whose address the provider has not checked', async () => {
    expect((await signIn(person())).location).toBe(`${home()}#refused=unknown`)
    const login = `unchecked-${person()}`
    const { location } = await signIn(login, await openWith(await invite(login)))
    expect(location).toBe(`${home()}#refused=unverified`)
    expect((await signIn(login)).browser.cookies.has('dps_session')).toBe(false)
  })

  it('whose address someone has added to an account, and even signed in with by the link', async () => {
    const { client: theirs } = await openAccount('developer')
    const login = person()
    const added = await invite(login, theirs)
    expect((await signIn(login)).location).toBe(`${home()}#refused=unknown`)
    const thief = await openWith(added)
    expect((await signIn(person(), thief)).location).toBe(`${home()}#refused=unknown`)
    const { browser, location } = await signIn(login)
    expect([location, browser.cookies.has('dps_session')]).toEqual([`${home()}#refused=unknown`, false])
    const id = await join(login)
    expect(await whoIn((await signIn(login)).browser)).toMatchObject({ member: { id } })
  })

  it('who comes back with an answer that is another browser’s, was used already, or was changed', async () => {
    const login = person()
    await join(login)
    const [mine, other] = [openBrowser(), openBrowser()]
    const back = await comeBack(mine, login)
    await other.go(new URL(`${own.apiUrl}/sign-in`))
    const refused = async (browser: ReturnType<typeof openBrowser>, url: URL) => {
      const { location } = await browser.go(url)
      expect(new URL(location!, url).href).toBe(`${home()}#refused=failed`)
      expect(browser.cookies.has('dps_session')).toBe(false)
    }
    await refused(other, back)
    await refused(openBrowser(), back)
    const used = await signIn(login)
    used.browser.cookies.delete('dps_session')
    await refused(used.browser, used.back)
    const third = openBrowser()
    const changed = new URL(await comeBack(third, login))
    changed.searchParams.set('iss', 'https://elsewhere.example')
    await refused(third, changed)
    const cancelled = openBrowser()
    await cancelled.go(new URL(`${own.apiUrl}/sign-in`))
    const state = cancelled.cookies.get('dps_sign_in')!.split('.')[0]
    await refused(cancelled, new URL(`${callback()}?error=access_denied&state=${state}&iss=${encodeURIComponent(provider.issuer)}`))
  })
})

describe('a service', () => {
  it('without a provider says so, and has no such pages', async () => {
    expect(await (await fetch(`${service().apiUrl}/v1/sign-in-methods`)).json()).toEqual({ provider: null })
    expect((await fetch(`${service().apiUrl}/sign-in`, { redirect: 'manual' })).status).toBe(404)
    expect((await fetch(`${service().apiUrl}/sign-in/callback?code=x`, { redirect: 'manual' })).status).toBe(404)
  })

  it('whose provider is away leads back to the console', async () => {
    const port = await freePort()
    const alone = await startControlPlane(port, {
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      OIDC_ISSUER: `http://127.0.0.1:${await freePort()}`,
      OIDC_CLIENT_ID: 'dps',
    })
    try {
      const answer = await fetch(`${alone.apiUrl}/sign-in`, { redirect: 'manual' })
      expect([answer.status, answer.headers.get('Location')]).toEqual([302, 'console/#refused=unreachable'])
    } finally {
      await alone.close()
    }
  })

  it.each([
    [{ OIDC_ISSUER: 'https://id.example.com', PUBLIC_URL: 'https://dps.example.com' }, 'OIDC_CLIENT_ID'],
    [{ OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: 'dps' }, 'PUBLIC_URL'],
    [
      { OIDC_ISSUER: 'http://id.example.com', OIDC_CLIENT_ID: 'dps', PUBLIC_URL: 'https://dps.example.com', CONSOLE_PLAIN_HTTP: '' },
      'OIDC_ISSUER',
    ],
    [{ OIDC_ISSUER: 'nowhere' }, 'OIDC_ISSUER'],
  ])('does not start with %o: %s is wrong', (settings, name) => {
    expect(() => loadControlPlaneConfig({ ...service().env, ...settings })).toThrow(`${name}:`)
  })
})

/** A suspended account: no request gets in, nothing runs, and nothing is lost once it goes on. Others notice nothing. */
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { anonymous, eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { connect, stream } from '../harness/connectors.ts'
import { openAccount, setQuotas, suspend } from '../harness/operator.ts'
import { createPipeline, createStream, readAll, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))

describe('a suspended account', () => {
  it('gets no token, no answer and no pushed record in; its pipelines stop where they are and go on from there', async () => {
    const { account, client } = await openAccount('enterprise')
    const bystander = await loggedIn(service().accounts.other)
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [{ name: 'dps/map-fields', config: {} }], to.id)
    const secret = unique('hook')
    await client.call('POST', '/v1/secrets', { name: secret, value: 'key' })
    const hook = await connect(client, { connector_id: 'conn_webhook', config: { secret: { $secret: secret } } }, [], stream(from.id))
    await write(client, from.id, numbers(0, 100))
    await waitForTotal(client, to.id, 100)

    await suspend(account.account_id, 'unpaid since June')
    const isRefused = async (of: Client) => {
      const { body } = await of.call('GET', '/v1/streams')
      return body.error?.code === 'account_suspended' && body.error.message.includes('unpaid since June')
    }
    await eventually('tokens are refused', () => isRefused(client), 5000)
    const { api_key, api_secret } = account
    const token = await anonymous().call('POST', '/v1/auth/token', { api_key, api_secret })
    expect(token.body.error).toMatchObject({ status: 403, code: 'account_suspended' })
    const wrong = await anonymous().call('POST', '/v1/auth/token', { api_key, api_secret: 'wrong' })
    expect(wrong.status).toBe(401)
    const body = '{"n":1000}'
    const pushed = () =>
      fetch(`${service().apiUrl}/v1/ingest/${hook}`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'X-Signature-256': createHmac('sha256', 'key').update(body).digest('hex') },
      })
    expect((await pushed()).status).toBe(403)

    // Records that come in by another way wait.
    const metrics = async () => (await Promise.all(service().metricsUrls.map(async (url) => (await fetch(url)).text()))).join('\n')
    await eventually(
      'nothing of it runs',
      async () => !new RegExp(`pipeline="${id}",status="(running|starting)"`).test(await metrics()),
      20_000,
    )
    expect((await bystander.call('GET', '/v1/streams')).status).toBe(200)

    await suspend(account.account_id)
    await eventually('tokens are good again', async () => (await client.call('GET', '/v1/streams')).status === 200, 5000)
    await write(client, from.id, numbers(100, 200))
    await waitForTotal(client, to.id, 200)
    await waitForStatus(client, id, 'running')
    expect((await readAll(client, to.id)).map(({ n }) => Number(n)).toSorted((a, b) => a - b)).toEqual(numbers(0, 200).map(({ n }) => n))
    expect((await pushed()).status).toBe(202)
    const { entries } = (await client.call<{ entries: { operation: string; actor: string }[] }>('GET', '/v1/audit?actor=operator')).body
    expect(entries.map(({ operation }) => operation)).toEqual(['resumeAccount', 'suspendAccount', 'createAccount'])
    for (const each of [id, hook]) await client.call('POST', `/v1/pipelines/${each}/stop`)
  })
})

describe('pushed records', () => {
  it('are limited per second by the account’s quota, and bad signatures by their sender', async () => {
    const { account, client } = await openAccount('enterprise')
    await setQuotas(account.account_id, { pushed_requests_per_second: 1 })
    const secret = unique('hook')
    await client.call('POST', '/v1/secrets', { name: secret, value: 'key' })
    const to = await createStream(client, { n: 'integer' })
    const config = { scheme: 'standard', secret: { $secret: secret } }
    const id = await connect(client, { connector_id: 'conn_webhook', config }, [], stream(to.id))
    const body = '{"n":1}'
    const push = (message: string) => {
      const at = String(Math.floor(Date.now() / 1000))
      const signature = `v1,${createHmac('sha256', 'key').update(`${message}.${at}.${body}`).digest('base64')}`
      const headers = { 'content-type': 'application/json', 'webhook-id': message, 'webhook-timestamp': at, 'webhook-signature': signature }
      return fetch(`${service().apiUrl}/v1/ingest/${id}`, { method: 'POST', body, headers })
    }
    const taken: string[] = []
    let sent = 0
    // Twelve are two too many for ten seconds; where the machine stood still in between, more are taken before one is refused.
    await eventually('too many are refused', async () => {
      const messages = Array.from({ length: 12 }, () => `msg_${sent++}`)
      const statuses = await Promise.all(messages.map(async (message) => (await push(message)).status))
      taken.push(...messages.filter((_, index) => statuses[index] === 202))
      return statuses.includes(429)
    })
    expect(taken.length).toBeGreaterThan(5)
    // The same id is the same record.
    await eventually('the quota has room again', async () => (await push(taken[0]!)).status === 202)
    await waitForTotal(client, to.id, taken.length)
    expect(await readAll(client, to.id)).toHaveLength(taken.length)
    await client.call('POST', `/v1/pipelines/${id}/stop`)
  })
})

/** Records pushed to webhooks, by the signatures of those that push. */
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { Redis } from 'ioredis'
import kafkajs from 'kafkajs'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { connect, stream } from '../harness/connectors.ts'
import { createStream, waitForTotal } from '../harness/pipelines.ts'
import { newId } from '../../shared/model/ids.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
})

const name = (kind: string) => unique(kind).replaceAll('-', '_').toLowerCase()
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))

describe('a webhook', () => {
  const sign = (body: string, secret: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const push = (id: string, body: string, headers: Record<string, string>) =>
    fetch(`${service().apiUrl}/api/v1/ingest/${id}`, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })

  it('accepts signed records without a token, and answers all others with the same 401', async () => {
    const secretName = name('hook')
    await client.call('POST', '/v1/secrets', { name: secretName, value: 'a key of theirs' })
    const to = await createStream(client, { n: 'integer' })
    const other = await connect(client, { connector_id: 'conn_generator', config: { records_max: 1 } }, [], {
      connector_id: 'conn_blackhole',
      config: {},
    })
    const id = await connect(
      client,
      { connector_id: 'conn_webhook', config: { secret: { $secret: secretName }, header: 'X-Hub-Signature-256' } },
      [],
      stream(to.id),
    )
    const body = JSON.stringify(numbers(0, 3))
    const good = { 'X-Hub-Signature-256': sign(body, 'a key of theirs') }
    const answer = await push(id, body, good)
    expect([answer.status, await answer.json()]).toEqual([202, { records: 3 }])
    expect(answer.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
    expect((await push(id, '{"n":3}', { 'X-Hub-Signature-256': sign('{"n":3}', 'a key of theirs').slice(7) })).status).toBe(202)
    // Repeated under the same key: taken once.
    const repeated = { 'X-Hub-Signature-256': sign('{"n":4}', 'a key of theirs'), 'Idempotency-Key': unique('key') }
    for (let i = 0; i < 3; i++) expect((await push(id, '{"n":4}', repeated)).status).toBe(202)
    const refusals = await Promise.all([
      push(id, body, {}),
      push(id, body, { 'X-Hub-Signature-256': sign(body, 'another key') }),
      push(id, `${body} `, good),
      push(other, body, good),
      push('pl_00000000000000000000000000', body, good),
    ])
    const words = await Promise.all(refusals.map(async (each) => ((await each.json()) as { error: { message: string } }).error.message))
    expect(refusals.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
    expect(new Set(words).size).toBe(1)
    await waitForTotal(client, to.id, 5)
    const bad = '{"n":'
    expect((await push(id, bad, { 'X-Hub-Signature-256': sign(bad, 'a key of theirs') })).status).toBe(400)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    expect((await push(id, body, good)).status).toBe(401)
  })

  it('leaves no more than a name of its sender where it is for pipelines that there are not', async () => {
    const redis = new Redis(service().redisUrl)
    const names = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? `${'x'.repeat(8000)}${n}` : newId('pipeline')))
    for (const id of names) expect((await push(id, '{}', {})).status).toBe(401)
    const keys = await redis.keys('*failed-signature*')
    expect(keys.filter((key) => key.includes('xxxx') || names.some((id) => key.includes(id)))).toEqual([])
    expect(keys.filter((key) => key.includes(':- '))).toHaveLength(1)
    redis.disconnect()
  })

  it('has at most 32 bodies of one sender read at once', async () => {
    const secretName = name('hook')
    await client.call('POST', '/v1/secrets', { name: secretName, value: 'a key of theirs' })
    const to = await createStream(client, { n: 'integer' })
    const config = { secret: { $secret: secretName }, header: 'X-Hub-Signature-256' }
    const id = await connect(client, { connector_id: 'conn_webhook', config }, [], stream(to.id))
    const headers = { 'content-type': 'application/json', 'content-length': '100' }
    const slow = Array.from({ length: 32 }, () => {
      const sent = request(`${service().apiUrl}/api/v1/ingest/${id}`, { method: 'POST', headers, agent: false })
      sent.on('error', () => {})
      sent.write('{')
      return sent
    })
    const good = { 'X-Hub-Signature-256': sign('{"n":1}', 'a key of theirs') }
    await eventually('the next one is refused', async () => {
      const answer = await push(id, '{"n":1}', good)
      return answer.status === 429 && answer.headers.get('retry-after') === '1'
    })
    for (const each of slow) each.destroy()
    await eventually('the next one is taken', async () => (await push(id, '{"n":1}', good)).status === 202)
  })

  const hex = (secret: string, ...parts: string[]) => createHmac('sha256', secret).update(parts.join('')).digest('hex')
  const seconds = (ago = 0) => String(Math.floor(Date.now() / 1000) - ago)
  it.each([
    ['github', (body: string, secret: string) => ({ 'X-Hub-Signature-256': `sha256=${hex(secret, body)}` }), undefined],
    [
      'stripe',
      (body: string, secret: string, at = seconds()) => ({
        'Stripe-Signature': `t=${at},v1=${'0'.repeat(64)},v1=${hex(secret, `${at}.`, body)},v0=x`,
      }),
      400,
    ],
    [
      'slack',
      (body: string, secret: string, at = seconds()) => ({
        'X-Slack-Request-Timestamp': at,
        'X-Slack-Signature': `v0=${hex(secret, `v0:${at}:`, body)}`,
      }),
      -400,
    ],
  ] as const)('accepts %s signatures by the current or previous secret, and keeps chosen headers', async (scheme, headersOf, late) => {
    const [current, previous] = [name('current'), name('previous')]
    await client.call('POST', '/v1/secrets', { name: current, value: 'the new key' })
    await client.call('POST', '/v1/secrets', { name: previous, value: 'the old key' })
    const to = await createStream(client, { n: 'integer' })
    const config = { scheme, secret: { $secret: current }, previous_secret: { $secret: previous }, keep_headers: ['X-Event', 'X-None'] }
    const id = await connect(client, { connector_id: 'conn_webhook', config }, [], stream(to.id))
    const body = '{"n":1}'
    for (const secret of ['the new key', 'the old key'])
      expect((await push(id, body, { ...headersOf(body, secret), 'X-Event': 'push' })).status).toBe(202)
    expect((await push(id, body, headersOf(body, 'another key'))).status).toBe(401)
    const challenge = '{"type":"url_verification","challenge":"are you there?"}'
    if (scheme === 'slack') {
      const answer = await push(id, challenge, headersOf(challenge, 'the new key'))
      expect([answer.status, await answer.json()]).toEqual([200, { challenge: 'are you there?' }])
      expect((await push(id, challenge, headersOf(challenge, 'another key'))).status).toBe(401)
    }
    expect((await push(id, '{"n":2}', headersOf(body, 'the new key'))).status).toBe(401)
    if (late !== undefined) expect((await push(id, body, headersOf(body, 'the new key', seconds(late)))).status).toBe(401)
    await waitForTotal(client, to.id, 2)
    const found: unknown[] = []
    const consumer = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }).consumer({
      groupId: unique('headers'),
    })
    await consumer.connect()
    await consumer.subscribe({ topics: [to.topic], fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ message }) =>
        void found.push(Object.entries(message.headers ?? {}).map(([key, value]) => [key, String(value)])),
    })
    await eventually('both are read', async () => found.length === 2)
    await consumer.disconnect()
    expect(found).toEqual([[['x-event', 'push']], [['x-event', 'push']]])
  })
})

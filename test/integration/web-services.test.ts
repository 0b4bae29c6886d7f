/** Records to and from web services that misbehave on purpose. */
import type { IncomingMessage } from 'node:http'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import kafkajs from 'kafkajs'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { connect, lettersOf, stream } from '../harness/connectors.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { createStream, readAll, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { exactProducer } from '../harness/exact-producer.ts'
import { openWebServer } from '../harness/web-server.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
})

const name = (kind: string) => unique(kind).replaceAll('-', '_').toLowerCase()
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))
const letters = (id: string) => lettersOf(client, id)

/** A web service that misbehaves on purpose. */
async function openWebService(
  behave: (request: { body: string; headers: IncomingMessage['headers']; count: number; url: string }) => {
    status: number
    headers?: Record<string, string>
    body?: string
  },
) {
  const bodies: { body: string; key: string; status: number }[] = []
  const server = await openWebServer(async (request, response) => {
    const body = await text(request)
    const {
      status,
      headers = {},
      body: answer = '',
    } = behave({ body, headers: request.headers, count: bodies.length, url: request.url ?? '' })
    bodies.push({ body, key: String(request.headers['idempotency-key']), status })
    response.writeHead(status, headers).end(answer)
  })
  return { url: `${server.url}/in`, bodies, close: () => server.close() }
}

const linesOf = (bodies: { body: string; status: number }[]) =>
  bodies
    .filter(({ status }) => status < 300)
    .flatMap(({ body }) =>
      body
        .trimEnd()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).n as number),
    )

/** Every row of the service's own database, as text. */
async function dumpOf(url: string): Promise<string> {
  const database = new pg.Client({ connectionString: url })
  await database.connect()
  const { rows: tables } = await database.query<{ name: string }>(
    `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
  )
  const parts: string[] = []
  for (const { name: each } of tables)
    parts.push(...(await database.query<{ row: string }>(`SELECT t::text AS row FROM ${each} t`)).rows.map(({ row }) => row))
  await database.end()
  const text = parts.join('\n')
  // Binary columns come as hexadecimal: they are appended decoded.
  return text + [...text.matchAll(/\\\\x([0-9a-f]+)/g)].map(([, hex]) => Buffer.from(hex!, 'hex').toString('latin1')).join('\n')
}

/** Everything that the control plane has published to the processors. */
async function definitionsInKafka(): Promise<string> {
  const kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId: unique('reader') })
  await consumer.connect()
  await consumer.subscribe({ topics: [`${service().env.DPS_PREFIX}.definitions`], fromBeginning: true })
  const values: string[] = []
  await consumer.run({ eachMessage: async ({ message }) => void values.push(message.value?.toString('latin1') ?? '') })
  for (let before = -1; values.length !== before || before < 1; await new Promise((resolve) => setTimeout(resolve, 500)))
    before = values.length
  await consumer.disconnect()
  return values.join('\n')
}

describe('a web service as a sink', () => {
  it('gets every record once although it answers 503 with Retry-After and 520 at times', async () => {
    const from = await createStream(client, { n: 'integer' })
    const web = await openWebService(({ count }) =>
      count > 0 && count % 3 === 1 && count < 8 ? { status: count === 4 ? 520 : 503, headers: { 'retry-after': '1' } } : { status: 204 },
    )
    const id = await connect(client, stream(from.id), [], { connector_id: 'conn_http', config: { url: web.url, batch_size: 40 } })
    await write(client, from.id, numbers(0, 300))
    await eventually('all records are there', async () => new Set(linesOf(web.bodies)).size === 300, 60_000)
    expect(linesOf(web.bodies).sort((a, b) => a - b)).toEqual(numbers(0, 300).map(({ n }) => n))
    const accepted = web.bodies.filter(({ status }) => status < 300)
    expect(new Set(accepted.map(({ key }) => key)).size).toBe(accepted.length)
    // A refused request is repeated under the same key.
    for (const { key, status } of web.bodies) if (status >= 500) expect(accepted.some((each) => each.key === key)).toBe(true)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await web.close()
  })

  it('makes each dead letter once, however often a round is repeated while it is down', async () => {
    const from = await createStream(client, { n: 'integer' }, { partitions: 1 })
    let isAway = true
    const web = await openWebService(() => ({ status: isAway ? 503 : 204 }))
    const id = await connect(client, stream(from.id), [], { connector_id: 'conn_http', config: { url: web.url } })
    const producer = exactProducer(new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }))
    await producer.connect()
    await producer.send({ topic: from.topic, messages: ['bare 1', 'bare 2', 'bare 3'].map((value) => ({ value })) })
    await producer.disconnect()
    await write(client, from.id, numbers(0, 5))
    await eventually('the same request is repeated', async () => web.bodies.length >= 3, 60_000)
    const total = async () => (await letters(id)).total
    expect(await total()).toBe(3)
    isAway = false
    await eventually('the records are there', async () => linesOf(web.bodies).length === 5, 60_000)
    expect(await total()).toBe(3)
    await eventually('the accounting is right', async () => {
      const { body } = await client.call<{ totals: { in: number; dead_lettered: number } }>('GET', `/v1/pipelines/${id}/accounting`)
      return body.totals.in === 8 && body.totals.dead_lettered === 3
    })
    // A redrive takes each once; a new dead letter replaces that of the same record.
    const job = await client.call<{ id: string; count: number }>('POST', `/v1/pipelines/${id}/dead-letters/redrive`, {})
    expect([job.status, job.body.count]).toEqual([202, 3])
    await eventually('the redrive is done', async () => {
      const { body } = await client.call<{ status: string }>('GET', `/v1/jobs/${job.body.id}`)
      return body.status === 'finished'
    })
    const { dead_letters } = await eventually('they have failed again', async () => {
      const all = await letters(id)
      return all.dead_letters.every(({ status, redrives }) => status === 'pending' && redrives === 1) && all
    })
    expect(dead_letters.map(({ offset }) => Number(offset)).sort()).toEqual([0, 1, 2])
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await web.close()
  })

  it('gets the records that it accepts, and those that it refuses become dead letters', async () => {
    const from = await createStream(client, { n: 'integer' })
    const web = await openWebService(({ body }) => (/"n":(13|77)\b/.test(body) ? { status: 422, body: 'not this one' } : { status: 200 }))
    const id = await connect(client, stream(from.id), [], { connector_id: 'conn_http', config: { url: web.url } })
    await write(client, from.id, numbers(0, 100))
    const found = await eventually('two dead letters', async () => {
      const all = await letters(id)
      return all.total === 2 && all
    })
    expect(found.dead_letters.map(({ error, value }) => [error.code, value.json]).sort()).toEqual([
      ['http_422', { n: 13 }],
      ['http_422', { n: 77 }],
    ])
    await eventually('the others are there', async () => new Set(linesOf(web.bodies)).size === 98)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await web.close()
  })

  it('that refuses a record under the policy fail is repaired by another policy, which makes a dead letter of it', async () => {
    const from = await createStream(client, { n: 'integer' }, { partitions: 1 })
    const web = await openWebService(({ body }) => ({ status: /"n":50\b/.test(body) ? 422 : 200 }))
    const sink = { connector_id: 'conn_http', config: { url: web.url } }
    const id = await connect(client, stream(from.id), [], sink, { on_error: { policy: 'fail' } })
    await write(client, from.id, numbers(0, 100))
    expect((await waitForStatus(client, id, 'failed')).status_reason).toContain('offset 50')
    const changed = await client.call('PATCH', `/v1/pipelines/${id}`, { on_error: { policy: 'dead_letter' } })
    expect(changed.status).toBe(200)
    expect((await client.call('POST', `/v1/pipelines/${id}/start`)).status).toBeLessThan(300)
    await eventually('the record is a dead letter', async () => (await letters(id)).total === 1)
    await waitForStatus(client, id, 'running')
    await eventually('the others are there', async () => new Set(linesOf(web.bodies)).size === 99)
    expect((await letters(id)).dead_letters.map(({ error, offset }) => [error.code, Number(offset)])).toEqual([['http_422', 50]])
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await web.close()
  })

  it('gets no record twice under two keys when it fails now and then, and refuses some records', async () => {
    const from = await createStream(client, { n: 'integer' }, { partitions: 1 })
    const accepted = new Map<number, Set<string>>()
    let others = 0
    const web = await openWebService(({ body, headers }) => {
      if (/"n":(77|612)\b/.test(body)) return { status: 422 }
      others++
      // What a proxy answers whose service has taken the request.
      if (others % 7 === 3) return { status: 503, headers: { 'retry-after': '0' } }
      for (const line of body.trimEnd().split('\n').filter(Boolean)) {
        const { n } = JSON.parse(line) as { n: number }
        accepted.set(n, (accepted.get(n) ?? new Set()).add(String(headers['idempotency-key'])))
      }
      return { status: others % 7 === 5 ? 500 : 200 }
    })
    const id = await connect(client, stream(from.id), [], { connector_id: 'conn_http', config: { url: web.url, batch_size: 50 } })
    await write(client, from.id, numbers(0, 1000))
    await eventually('two dead letters, and the others are there', async () => (await letters(id)).total === 2 && accepted.size === 998)
    expect([...accepted].filter(([, keys]) => keys.size > 1)).toEqual([])
    // The refused records were searched for once each, though some requests failed meanwhile.
    expect(web.bodies.filter(({ status }) => status === 422).length).toBeLessThan(20)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await web.close()
  })

  it('may echo the token anywhere: no part of it is shown, also where its text is cut', async () => {
    const planted = 'Pq7Rk2Wm9Xz4Lt8Vb3Nc6'
    const secretName = name('echoed')
    expect((await client.call('POST', '/v1/secrets', { name: secretName, value: planted })).status).toBe(201)
    const web = await openWebService(({ headers }) => ({ status: 422, body: `${'x'.repeat(280)}${headers.authorization?.slice(7)}` }))
    const from = await createStream(client, { n: 'integer' })
    const auth = { kind: 'bearer', token: { $secret: secretName } }
    const sink = { connector_id: 'conn_http', config: { url: web.url, auth } }
    const id = await connect(client, stream(from.id), [], sink, { failure_threshold: 1 })
    await write(client, from.id, numbers(0, 1))
    const found = await eventually('a dead letter', async () => {
      const all = await letters(id)
      return all.total === 1 && all
    })
    const shown = JSON.stringify([found, (await client.call('GET', `/v1/pipelines/${id}/status`)).body])
    expect(shown).toContain('xxxx***')
    for (let at = 0; at + 8 <= planted.length; at++) expect(shown).not.toContain(planted.slice(at, at + 8))
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await web.close()
  })

  it('gets an account’s secret as bearer token, and the secret appears in no answer, log, metric, table or topic', async () => {
    const planted = `planted-${unique('secret')}-value`
    const secret = await client.call<{ id: string }>('POST', '/v1/secrets', { name: name('token'), value: planted })
    expect(secret.status).toBe(201)
    const { name: secretName } = (await client.call<{ name: string }>('GET', `/v1/secrets/${secret.body.id}`)).body
    const seen: string[] = []
    const web = await openWebService(({ headers, count }) => {
      seen.push(String(headers.authorization))
      return count === 0
        ? { status: 500, body: `no: ${headers.authorization}` }
        : { status: 422, body: `you sent ${headers.authorization}` }
    })
    const from = await createStream(client, { n: 'integer' })
    const id = await connect(
      client,
      stream(from.id),
      [],
      { connector_id: 'conn_http', config: { url: web.url, auth: { kind: 'bearer', token: { $secret: secretName } } } },
      { failure_threshold: 1 },
    )
    await write(client, from.id, numbers(0, 3))
    const found = await eventually('dead letters', async () => {
      const all = await letters(id)
      return all.total === 3 && all
    })
    expect(seen).toContain(`Bearer ${planted}`)
    const answers = [
      found,
      ...(await Promise.all(['', '/status', '/metrics', '/accounting'].map((path) => client.call('GET', `/v1/pipelines/${id}${path}`)))),
    ]
    expect(JSON.stringify(answers)).not.toContain(planted)
    expect(JSON.stringify(found)).toContain('***')
    expect((await client.call('DELETE', `/v1/secrets/${secret.body.id}`)).status).toBe(409)
    for (const file of readdirSync(service().logFolder).filter((each) => each.endsWith('.log')))
      expect(readFileSync(join(service().logFolder, file), 'utf8'), file).not.toContain(planted)
    for (const url of service().metricsUrls) expect(await (await fetch(url)).text()).not.toContain(planted)
    expect(await dumpOf(service().databaseUrl)).not.toContain(planted)
    expect(await definitionsInKafka()).not.toContain(planted)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await eventually('the secret can be deleted', async () => (await client.call('DELETE', `/v1/secrets/${secret.body.id}`)).status === 204)
    await web.close()
  })
})

describe('a web service as a source', () => {
  it('is read page by page by its cursor, and each record arrives once', async () => {
    const pages = [{ items: numbers(0, 3), next_cursor: 'b' }, { items: numbers(3, 5), next_cursor: 'c' }, { items: numbers(5, 6) }]
    const web = await openWebService(({ url }) => {
      const cursor = new URL(url, 'http://x').searchParams.get('cursor')
      return {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(pages[cursor === 'b' ? 1 : cursor === 'c' ? 2 : 0]),
      }
    })
    const to = await createStream(client, { n: 'integer' })
    const source = {
      connector_id: 'conn_http',
      config: { url: web.url, records: '/items', paging: { kind: 'cursor' }, poll_interval_ms: 200 },
    }
    const id = await connect(client, source, [], stream(to.id))
    await waitForTotal(client, to.id, 6)
    pages[2]!.items.push({ n: 6 })
    await waitForTotal(client, to.id, 7)
    expect((await readAll(client, to.id)).map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 6])
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await web.close()
  })

  it('that sends no JSON is named as the reason, and is read on once it does', { timeout: limitMs(90_000) }, async () => {
    let body = 'soon'
    const web = await openWebService(() => ({ status: 200, headers: { 'content-type': 'application/json' }, body }))
    const to = await createStream(client, { n: 'integer' })
    const source = { connector_id: 'conn_http', config: { url: web.url, poll_interval_ms: 200 } }
    const id = await connect(client, source, [], stream(to.id))
    type Status = { tasks: { reason: string | null }[] }
    const reasons = async () => (await client.call<Status>('GET', `/v1/pipelines/${id}/status`)).body.tasks.map(({ reason }) => reason)
    await eventually('the reason is shown', async () => (await reasons()).some((reason) => reason?.includes('JSON')), limitMs(30_000))
    body = '[{"n":1},{"n":2}]'
    await waitForTotal(client, to.id, 2)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await web.close()
  })
})

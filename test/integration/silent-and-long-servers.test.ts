/** Servers of accounts that say too much, or nothing any more. */
import type { Socket } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { openLiar, type Liar } from '../attack/servers/index.ts'
import { honestly, serve } from '../attack/servers/kafka-broker.ts'
import { converse, honest, said, text } from '../attack/servers/postgres-server.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { connect, stream, table } from '../harness/connectors.ts'
import { createStream, waitForStatus, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

/** Speaks for Postgres while `work` runs, which gets the config's connection. */
async function withPostgres(answer: (socket: Socket) => void, work: (connection: { $secret: string }, liar: Liar) => Promise<void>) {
  const liar = await openLiar({ protocol: 'postgres', name: 'own', why: 'of a test', way: 'read', answer })
  try {
    const $secret = unique('liar').replaceAll('-', '_').toLowerCase()
    const value = `postgres://lie:pencil@127.0.0.1:${liar.port}/lie`
    expect((await client.call('POST', '/v1/secrets', { name: $secret, value })).status).toBe(201)
    await work({ $secret }, liar)
  } finally {
    await liar.close()
  }
}

describe('a server’s long error', () => {
  const answer = (socket: Socket) =>
    void socket.once('data', () => socket.write(said('E', text('SFATAL'), text('C28000'), text(`M${'x'.repeat(30 << 20)}`), text(''))))
  const sizeOf = (body: unknown) => JSON.stringify(body).length

  it('is cut before it reaches the control plane: the answers to a check and to a create are short', () =>
    withPostgres(answer, async (connection) => {
      const checked = await client.call<{ ok: boolean }>('POST', '/v1/connectors/table/check', {
        side: 'sink',
        config: { table: 't', connection },
      })
      expect(JSON.stringify(checked.body)).toContain("can't be reached: xxxx")
      expect(sizeOf(checked.body)).toBeLessThan(10_000)
      const created = await client.call('POST', '/v1/pipelines?check=true', {
        name: unique('lied-to'),
        source: table({ table: 't', connection }),
        processors: [],
        sink: table({ table: 't', connection }),
      })
      expect([created.status, created.body.error!.details!.length]).toEqual([400, 2])
      expect(sizeOf(created.body)).toBeLessThan(10_000)
    }))
})

describe('a source whose server falls silent', () => {
  it('can be stopped and deleted', async () => {
    const silentAt = /ORDER BY "id"/
    const config = { mode: 'query', cursor: 'id' }
    let isSilent = false
    const answer = (socket: Socket) =>
      converse(socket, (query) => {
        isSilent ||= silentAt.test(query)
        return silentAt.test(query) ? undefined : honest(query)
      })
    await withPostgres(answer, async (connection) => {
      const id = await connect(client, table({ table: 't', connection, ...config }), [], { connector_id: 'conn_blackhole', config: {} })
      await eventually('the server is silent', async () => isSilent)
      await client.call('POST', `/v1/pipelines/${id}/stop`)
      await eventually(
        'it is stopped',
        async () => (await client.call('GET', `/v1/pipelines/${id}/status`)).body.status === 'stopped',
        15_000,
      )
      await client.call('DELETE', `/v1/pipelines/${id}`)
      await eventually('it is gone', async () => (await client.call('GET', `/v1/pipelines/${id}`)).status === 404, 15_000)
    })
  })
})

describe('a kafka sink whose brokers fall silent', () => {
  it('does not hold up a stop, neither of a write nor of a start', async () => {
    let isSilent = false
    const sockets: Socket[] = []
    const answer = (socket: Socket) => {
      sockets.push(socket)
      if (!isSilent) serve(socket, honestly())
    }
    const liar = await openLiar({ protocol: 'kafka', name: 'own', why: 'of a test', way: 'write', answer })
    const $secret = unique('broker').replaceAll('-', '_').toLowerCase()
    expect((await client.call('POST', '/v1/secrets', { name: $secret, value: 'pencil' })).status).toBe(201)
    const from = await createStream(client, { n: 'integer' })
    // Each is tried for three seconds, in the middle of its login.
    const brokers = Array<string>(20).fill(`127.0.0.1:${liar.port}`)
    const config = { brokers, topic: 't', sasl: { mechanism: 'PLAIN', username: 'u', password: { $secret } } }
    // A runner that has nothing else to do is ended after half a minute, with what holds it up.
    await connect(client, stream(from.id), [], { connector_id: 'conn_blackhole', config: {} }, { tasks: 4 })
    const id = await connect(client, stream(from.id), [], { connector_id: 'conn_kafka', config })
    await waitForStatus(client, id, 'running')
    const isTried = async () => {
      sockets.splice(0)
      await eventually('a silent broker is tried', async () => sockets.length > 0)
    }
    const stop = async () => {
      await client.call('POST', `/v1/pipelines/${id}/stop`)
      await eventually(
        'it is stopped',
        async () => (await client.call('GET', `/v1/pipelines/${id}/status`)).body.status === 'stopped',
        12_000,
      )
    }
    isSilent = true
    for (const socket of sockets) socket.destroy()
    await write(client, from.id, [{ n: 1 }])
    await isTried()
    await stop()
    await client.call('POST', `/v1/pipelines/${id}/start`)
    await isTried()
    await stop()
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await liar.close()
  })
})

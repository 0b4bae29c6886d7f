/** Servers of accounts that say too much, or nothing any more. */
import type { Socket } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { openLiar, type Liar } from '../attack/servers/index.ts'
import { converse, honest, said, text } from '../attack/servers/postgres-server.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { connect, table } from '../harness/connectors.ts'

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

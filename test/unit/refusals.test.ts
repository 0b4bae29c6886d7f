/** Refused requests: how much a refusal says, and how many of them a connection gets. */
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHttpServer } from '../../services/control-plane/http/http-server.ts'
import { endRefused } from '../../services/control-plane/middleware/end-refused.ts'
import { errorEnvelope, invalidRequest } from '../../services/control-plane/service-error.ts'

it('a refusal says little, however long the names are that are refused', () => {
  const faults = Array.from({ length: 100 }, (_, index) => ({ path: `/schema/${index}${'x'.repeat(100_000)}`, message: 'is no name' }))
  const error = invalidRequest(faults)
  expect(error.details?.[7]).toEqual({ path: `/schema/7${'x'.repeat(491)}…`, message: 'is no name' })
  expect(JSON.stringify(errorEnvelope(error, 'req_a')).length).toBeLessThan(64 << 10)
  expect(invalidRequest([{ path: '/a', message: 'is required' }]).details).toEqual([{ path: '/a', message: 'is required' }])
})

describe('a connection', () => {
  const MAX = 5
  let begun: string[]
  let server: ReturnType<typeof createHttpServer>
  beforeEach(async () => {
    begun = []
    const inOrder = endRefused(MAX)
    const handle: RequestListener = (req, res) => {
      const path = req.url!
      const ctx = { req, status: 404, set: (name: string, value: string) => void res.setHeader(name, value) }
      void inOrder(ctx as unknown as Parameters<typeof inOrder>[0], async () => {
        begun.push(path)
        await new Promise((resolve) => setTimeout(resolve, path === '/slow' ? 50 : 1))
        ctx.status = path === '/refused' ? 429 : path === '/unknown' ? 404 : 200
      }).then(() => res.writeHead(ctx.status).end(path))
    }
    const none = { trustedProxies: [], connectionsPerAddress: 100, log: { warn: () => {} } }
    server = createHttpServer(handle, none)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => void server.close())

  /** What comes back for requests that are sent behind one another, the last of which asks for the connection to be closed. */
  async function answers(paths: string[]): Promise<{ statuses: string[]; isClosedBefore: boolean }> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    let text = ''
    socket.on('data', (part) => (text += part))
    const last = (index: number) => (index === paths.length - 1 ? 'connection: close\r\n' : '')
    socket.write(paths.map((path, index) => `GET ${path} HTTP/1.1\r\nhost: x\r\n${last(index)}\r\n`).join(''))
    await once(socket, 'close')
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status!)
    return { statuses, isClosedBefore: statuses.length < paths.length }
  }

  it('ends with the last of several refusals, and nothing behind it is begun', async () => {
    const { statuses, isClosedBefore } = await answers(Array.from({ length: 30 }, () => '/refused'))
    expect([statuses.length, isClosedBefore]).toEqual([MAX, true])
    expect(begun).toHaveLength(MAX)
  })

  it('ends with the last of several times as many other refusals, which do not set back the count', async () => {
    const unknown = await answers(Array.from({ length: 30 }, () => '/unknown'))
    expect([unknown.statuses.length, unknown.isClosedBefore]).toEqual([4 * MAX, true])
    const mixed = await answers(Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? '/refused' : '/unknown')))
    expect([mixed.statuses.length, mixed.isClosedBefore]).toEqual([8, true])
  })

  it('goes on where other answers are between them, in order', async () => {
    const paths = Array.from({ length: 30 }, (_, index) => (index % MAX === 0 ? '/slow' : '/refused'))
    const { statuses, isClosedBefore } = await answers(paths)
    expect([statuses, isClosedBefore]).toEqual([paths.map((path) => (path === '/slow' ? '200' : '429')), false])
    expect(begun).toEqual(paths)
  })
})

/** Requests written straight to the socket, and records as bytes: the service answers whatever bytes arrive. */
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { brotliCompressSync, constants, createGzip, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { decodeCursor, encodeCursor } from '../../services/control-plane/stream-data/cursor.ts'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { openAccount } from '../harness/operator.ts'
import { createStream, type Page } from '../harness/pipelines.ts'
import { runningControlPlanes } from '../harness/processes.ts'
import { limitFromNow, limitMs } from '../harness/machine-speed.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

const address = () => new URL(service().apiUrl)

async function open(): Promise<{ socket: Socket; read(until: RegExp): Promise<string> }> {
  const socket = connect(Number(address().port), address().hostname)
  await once(socket, 'connect')
  let text = ''
  socket.on('data', (part) => (text += part.toString('latin1')))
  socket.on('error', () => {})
  return {
    socket,
    async read(until) {
      for (const deadline = Date.now() + limitMs(30_000); Date.now() < deadline; await new Promise((resolve) => setTimeout(resolve, 10)))
        if (until.test(text)) return text
      throw new Error(`no answer: ${text.slice(0, 500)}`)
    },
  }
}

async function answerTo(request: string | Buffer): Promise<{ status: number; body: { error: { code: string; status: number } } }> {
  const { socket, read } = await open()
  socket.write(request)
  const text = await read(/\r\n\r\n[^]*\}/)
  socket.destroy()
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)![1]), body: JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) }
}

describe('a malformed request', () => {
  it.each([
    ['a target that is not a URL', 'GET http://[::1 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['bytes that are not HTTP', 'nonsense\r\n\r\n', 400],
    ['a head that is too large', `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['no Host header in HTTP/1.1', 'GET /v1/streams HTTP/1.1\r\n\r\n', 400],
    ['the method CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['an Expect header of its own', 'POST /v1/auth/token HTTP/1.1\r\nHost: x\r\nExpect: foo\r\nContent-Length: 2\r\n\r\n{}', 417],
    ['two Host headers', 'GET /v1/streams HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  ])('is refused in the error envelope when it has %s', async (_, request, status) => {
    const answer = await answerTo(request)
    expect(answer).toMatchObject({ status, body: { error: { code: 'invalid_request', status } } })
  })

  it('needs no Host header in HTTP/1.0, and may expect 100-continue', async () => {
    expect((await answerTo('GET /v1/streams HTTP/1.0\r\n\r\n')).status).toBe(401)
    const { socket, read } = await open()
    socket.write(
      'POST /v1/auth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
    )
    await read(/^HTTP\/1\.1 100 Continue/)
    socket.write('{}')
    expect(await read(/HTTP\/1\.1 400[^]*\}/)).toContain('"/api_key"')
    socket.destroy()
  })
})

describe('requests behind one another', () => {
  it.each([
    ['behind an event stream', () => ['/v1/events', '/v1/pipelines'], 'text/event-stream'],
    ['for what is not there', () => ['/a', '/a'], 'HTTP/1.1 404'],
  ])('in thousands end their connection: %s', async (_, paths, answer) => {
    const [first, behind] = paths().map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\n\r\n`)
    const { socket, read } = await open()
    const isClosed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(first!)
    await read(new RegExp(answer))
    socket.write(behind!.repeat(2000))
    await isClosed
    expect((await client.call('GET', '/v1/overview')).status).toBe(200)
  })
})

describe('bodies that are never sent to their end', () => {
  it('are received a few at once of an account, and others notice nothing', async () => {
    const { client: sender } = await openAccount('enterprise')
    // A kilobyte on the wire stands for 15 MiB of memory.
    const deflate = createGzip()
    deflate.write(`{"a":"${'A'.repeat(15 << 20)}`)
    const part = await new Promise<Buffer>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, () => resolve(deflate.read() as Buffer)))
    const head = `POST /v1/smartmodules HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sender.token}\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n`
    const opened = await Promise.all(Array.from({ length: 90 }, open))
    try {
      const [pid] = runningControlPlanes()
      for (const { socket } of opened)
        socket.write(Buffer.concat([Buffer.from(`${head}${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]))
      // Two are received and 64 wait.
      let refused = 0
      // The others get no answer: nothing waits for them.
      for (const { read } of opened)
        read(/^HTTP\/1\.1 429/).then(
          () => refused++,
          () => {},
        )
      await eventually('those beyond are refused', async () => refused >= 24)
      expect((await client.call('GET', '/v1/overview')).status).toBe(200)
      const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
      expect(kib).toBeLessThan(900 << 10)
    } finally {
      for (const { socket } of opened) socket.destroy()
    }
  })
})

describe('a compressed body', () => {
  it.each(['gzip', 'br', 'deflate'])('gets 400 when it is not valid %s, and the next request is answered', async (encoding) => {
    const { socket, read } = await open()
    const isClosed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)))
    const garbage = Buffer.alloc(300_000, 0x5a)
    const head = `POST /v1/streams HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\nContent-Type: application/json\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${garbage.length}\r\n\r\n`
    socket.write(head)
    socket.write(garbage)
    expect(await read(/\r\n\r\n[^]*\}/)).toMatch(/^HTTP\/1\.1 400/)
    // Either this connection answers, or it was closed and a client opens another.
    const again = await fetch(`${service().apiUrl}/v1/streams`, { headers: { Authorization: `Bearer ${client.token}` } })
    expect(again.status).toBe(200)
    socket.write(`GET /v1/connectors HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\n\r\n`)
    expect(await Promise.any([isClosed, read(/"connectors"/).then(() => true)])).toBe(true)
    socket.destroy()
  })

  it('gets 400 when it is damaged brotli', async () => {
    const damaged = brotliCompressSync(Buffer.from(JSON.stringify({ name: 'x'.repeat(500) })))
    damaged.fill(0xff, 10)
    const answer = await fetch(`${service().apiUrl}/v1/streams`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${client.token}`, 'Content-Type': 'application/json', 'Content-Encoding': 'br' },
      body: damaged,
    })
    expect(answer.status).toBe(400)
  })
})

describe('records', () => {
  it('don’t delay other requests by a second when 100,000 come in one request', async () => {
    const stream = await createStream(client, { n: 'integer?' }, { partitions: 1 })
    const measured = async () => {
      let slowest = 0
      let isDone = false
      const others = (async () => {
        while (!isDone) {
          const from = performance.now()
          await fetch(`${service().apiUrl}/v1/streams?page_size=1`, { headers: { Authorization: `Bearer ${client.token}` } })
          slowest = Math.max(slowest, performance.now() - from)
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
      })()
      const from = performance.now()
      const { status, body } = await client.call<{ records: number }>('POST', `/v1/streams/${stream.id}/data`, '{}\n'.repeat(100_000), {
        'Content-Type': 'application/x-ndjson',
      })
      const took = performance.now() - from
      isDone = true
      await others
      expect([status, body.records]).toEqual([201, 100_000])
      return { took, slowest }
    }
    const [tookLimit, slowestLimit] = [limitFromNow(8000), limitFromNow(1000)]
    // A machine that stands still for a second does so once; a service that is held by a write is so each time.
    let quickest = await measured()
    for (let turn = 0; turn < 2 && quickest.slowest > 1000; turn++) {
      const next = await measured()
      quickest = { took: Math.min(quickest.took, next.took), slowest: Math.min(quickest.slowest, next.slowest) }
    }
    expect(quickest.took).toBeLessThan(tookLimit())
    expect(quickest.slowest).toBeLessThan(slowestLimit())
  })

  it('are read back byte for byte as they were written', async () => {
    const stream = await createStream(client, { id: 'integer', at: 'datetime', any: 'any' }, { partitions: 1 })
    const lines = [
      '{"id":1,"at":"2026-11-22T00:00:00.123456789Z","any":{"b":1,"a":0.10000000000000000555,"a2":1E2}}',
      '{ "id": 2, "at":"2026-11-22T00:00:00Z", "any" : "\\ud800 lone, \\u00e9 escaped" }',
    ]
    const written = await client.call('POST', `/v1/streams/${stream.id}/data`, lines.join('\n'), { 'Content-Type': 'application/x-ndjson' })
    expect(written.status).toBe(201)
    const answer = await fetch(`${service().apiUrl}/v1/streams/${stream.id}/data`, { headers: { Authorization: `Bearer ${client.token}` } })
    const text = await answer.text()
    for (const line of lines) expect(text).toContain(line)
    // The same as an array in a compressed JSON document.
    const body = gzipSync(`{"records": [ ${lines.join(' , ')} ]}`)
    const again = await fetch(`${service().apiUrl}/v1/streams/${stream.id}/data`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${client.token}`, 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      body,
    })
    expect(again.status).toBe(201)
    const both = await (
      await fetch(`${service().apiUrl}/v1/streams/${stream.id}/data`, { headers: { Authorization: `Bearer ${client.token}` } })
    ).text()
    for (const line of lines) expect(both.split(line).length - 1).toBe(2)
  })

  it('are found by the cursor of the last page when they are written later', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 2 })
    await client.call('POST', `/v1/streams/${stream.id}/data`, { records: [{ n: 1 }, { n: 2 }] })
    const first = (await client.call<Page>('GET', `/v1/streams/${stream.id}/data`)).body
    expect(first.data.length).toBe(2)
    expect(first.pagination.has_more).toBeUndefined()
    const at = `cursor=${first.pagination.next_cursor}`
    const nothing = (await client.call<Page>('GET', `/v1/streams/${stream.id}/data?${at}`)).body
    expect(nothing.data).toEqual([])
    await client.call('POST', `/v1/streams/${stream.id}/data`, { records: [{ n: 3 }] })
    const later = (await client.call<Page>('GET', `/v1/streams/${stream.id}/data?cursor=${nothing.pagination.next_cursor}`)).body
    expect(later.data).toEqual([{ n: 3 }])
  })

  it('have cursors that fit into a URL even for 512 partitions', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 0n, max: 2n ** 48n }), { minLength: 1, maxLength: 512 }), (offsets) => {
        const cursor = encodeCursor('st_01m80gmeh8yb9f9bkrtfvyc4cn', offsets)
        expect(cursor.length).toBeLessThan(8192)
        expect(decodeCursor(cursor, 'st_01m80gmeh8yb9f9bkrtfvyc4cn', offsets.length)).toEqual(offsets)
        expect(() => decodeCursor(cursor, 'st_other', offsets.length)).toThrow()
        // The topic has got two partitions since, or is another one with fewer.
        expect(decodeCursor(cursor, 'st_01m80gmeh8yb9f9bkrtfvyc4cn', offsets.length + 2)).toEqual([...offsets, 0n, 0n])
        expect(() => decodeCursor(cursor, 'st_01m80gmeh8yb9f9bkrtfvyc4cn', offsets.length - 1)).toThrow()
        expect(() => decodeCursor(cursor.slice(0, -1), 'st_01m80gmeh8yb9f9bkrtfvyc4cn', offsets.length)).toThrow()
      }),
    )
  })
})

/** Connections on real sockets: late requests, too many of an address, requests behind one another, and answers that are not read. */
import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { connectionsMaxOf, createHttpServer, type HttpServerOptions } from '../../services/control-plane/http/http-server.ts'
import { ownCpuMs } from '../../services/control-plane/concurrency/bounded-work.ts'
import type { ServiceError } from '../../services/control-plane/service-error.ts'
import { createUnsentAnswers, endUnread } from '../../services/control-plane/middleware/unsent-answers.ts'
import { createLogger } from '../../shared/telemetry/log.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { timesOf } from '../harness/times-of.ts'

const MIB = 1 << 20
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

let server: Server | undefined
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  server?.closeAllConnections()
  server?.close()
})

const log = createLogger('test', 'silent')

async function listen(handle: RequestListener, options: Partial<HttpServerOptions> = {}): Promise<Server> {
  server = createHttpServer(handle, { trustedProxies: [], connectionsPerAddress: 1000, log, checkMs: 50, ...options })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

type Opened = { socket: Socket; text(): string; bytes(): number; closed: Promise<unknown> }

async function open(reads = true): Promise<Opened> {
  const socket = connect((server!.address() as AddressInfo).port, '127.0.0.1')
  sockets.push(socket)
  const parts: Buffer[] = []
  if (reads) socket.on('data', (part) => parts.push(part))
  // Resets are how connections end here.
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await once(socket, 'connect')
  const bytes = () => parts.reduce((sum, { length }) => sum + length, 0)
  return { socket, closed, bytes, text: () => Buffer.concat(parts).toString('latin1') }
}

const connections = (): Promise<number> => new Promise((resolve) => server!.getConnections((_, count) => resolve(count)))
async function until(condition: () => boolean | Promise<boolean>, quickMs = 10_000): Promise<void> {
  const withinMs = limitMs(quickMs)
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; await new Promise((resolve) => setTimeout(resolve, 20)))
    if (await condition()) return
  throw new Error(`not within ${withinMs} ms`)
}

/** Short, and longer than this process may stand still between a connection and what is written to it. */
const LATE = { headersMs: 4000, requestMs: 7000 }

describe('a connection', () => {
  it('without a whole head in time is answered with 408 and ends, though its client keeps it open', async () => {
    await listen((_, response) => response.end('ok'), LATE)
    const half = await open()
    half.socket.write('GET / HTTP/1.1\r\nHo')
    await until(() => half.text().includes('408 Request Timeout'))
    // Its own side stays open.
    await until(async () => (await connections()) === 0)
  })

  it('with more than 16 KiB of headers is answered with 431', async () => {
    await listen((_, response) => response.end('ok'))
    const ask = (bytes: number) => `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(bytes)}\r\n\r\n`
    const most = await open()
    most.socket.write(ask(16_200))
    await until(() => most.text().includes('200 OK'))
    const more = await open()
    more.socket.write(ask(16_400))
    await until(() => more.text().includes('431 Request Header Fields Too Large'))
  })

  it('that sends nothing ends without a word', async () => {
    await listen((_, response) => response.end('ok'), { headersMs: 200, requestMs: 400 })
    const silent = await open()
    await silent.closed
    expect(silent.text()).toBe('')
  })

  it('without a whole body in time ends, one with a slow handler does not', async () => {
    const slowMs = LATE.requestMs + 1000
    await listen((request, response) => void request.resume().once('end', () => setTimeout(() => response.end('slow'), slowMs)), LATE)
    const half = await open()
    half.socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nfive.')
    const slow = await open()
    slow.socket.write(REQUEST)
    await until(() => half.text().includes('408 Request Timeout') && slow.text().includes('slow'), 60_000)
    // And it may be used again.
    slow.socket.write(REQUEST)
    await until(() => slow.text().split('HTTP/1.1 200').length === 3)
  })

  it.each([
    ['is refused where its address has as many as it may', [], 3],
    ['of a trusted proxy is not', ['127.0.0.0/8'], 5],
  ])('%s', async (_, trustedProxies, passed) => {
    await listen((_request, response) => response.end('ok'), { connectionsPerAddress: 3, trustedProxies })
    const all: Opened[] = []
    for (let index = 0; index < 5; index++) all.push(await open())
    for (const { socket } of all) socket.write(REQUEST)
    await until(() => all.filter(({ text }) => text().includes('200 OK')).length === passed)
    expect(await connections()).toBe(passed)
    all[0]!.socket.destroy()
    await until(async () => (await connections()) === passed - 1)
    const next = await open()
    next.socket.write(REQUEST)
    await until(() => next.text().includes('200 OK'))
  })

  it('is one of far fewer than the process may have descriptors', () => {
    const limits = (count: string) =>
      `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${count}                524288               files\n`
    expect([connectionsMaxOf(limits('20000')), connectionsMaxOf(limits('1024'))]).toEqual([15_000, 768])
    expect([connectionsMaxOf(limits('unlimited')), connectionsMaxOf('')]).toEqual([16_384, 768])
  })
})

describe('a large answer', () => {
  /** Paths are sizes in MiB: `/r8` may be refused where too much waits, `/w8` not, `/c8` is asked for before the work. */
  async function serve(bytesMax: number, withoutProgressMs: number): Promise<void> {
    const unsent = createUnsentAnswers(bytesMax, MIB)
    const watched = endUnread(withoutProgressMs)
    const listening = await listen((req, res) => {
      const ctx = { req, res, body: Buffer.alloc(0) }
      const answer = async () => {
        const [, kind, size] = /^\/(.)(\d*)/.exec(req.url ?? '') ?? []
        if (kind === 'c') unsent.assertRoom('account')
        await new Promise((resolve) => setTimeout(resolve, 10))
        ctx.body = Buffer.alloc(Number(size) * MIB, 'x')
        unsent.hold(ctx, 'account', ctx.body.length, kind !== 'w')
      }
      const refuse = ({ status, headers }: ServiceError) => res.writeHead(status, headers)
      void watched(ctx as never, () => answer().catch(refuse as never)).then(() => res.end(res.headersSent ? 'refused' : ctx.body))
    })
    // The system may take an answer long before its client has read it, and on a slow machine that is longer than clients are kept.
    listening.keepAliveTimeout = 10 * withoutProgressMs
  }
  const ask = (path: string) => `GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`

  it('that is not read ends its connection, and no longer counts', async () => {
    await serve(40 * MIB, limitMs(1500))
    for (let index = 0; index < 2; index++) (await open(false)).socket.write(ask('r16'))
    const reader = await open()
    await until(() => {
      if (!reader.text().includes('refused')) reader.socket.write(ask('r16'))
      return reader.text().includes('429 Too Many Requests')
    })
    expect(reader.text()).toContain('Retry-After: 1')
    // What has changed something is told in any case.
    const written = await open()
    written.socket.write(ask('w16'))
    await until(() => written.bytes() > 16 * MIB)
    // The clients do not see it, as they do not read.
    await until(async () => (await connections()) === 2)
    const after = await open()
    after.socket.write(ask('c16'))
    await until(() => after.bytes() > 16 * MIB)
  })

  it('is whole at a client that reads slowly, and its connection may be used again', async () => {
    const withoutProgressMs = limitMs(2000)
    const bytesPerMs = (16 * MIB) / (4 * withoutProgressMs)
    await serve(40 * MIB, withoutProgressMs)
    const slow = await open()
    const from = Date.now()
    slow.socket.on('data', () => {
      // For longer than any term. The system shows progress in steps of 1.5 MiB on one machine.
      const aheadMs = slow.bytes() / bytesPerMs - (Date.now() - from)
      if (aheadMs < 10) return
      slow.socket.pause()
      setTimeout(() => slow.socket.resume(), aheadMs)
    })
    slow.socket.write(ask('r16'))
    await until(() => slow.bytes() > 16 * MIB, 60_000)
    expect(Date.now() - from).toBeGreaterThan(3 * withoutProgressMs)
    // It is idle for longer than the term of an answer.
    await new Promise((resolve) => setTimeout(resolve, 2.2 * withoutProgressMs))
    slow.socket.write(ask('r1'))
    await until(() => slow.bytes() > 17 * MIB)
  })

  it('that is not read keeps those behind it from being made, and no longer counts when its connection ends', async () => {
    await serve(8 * MIB, 60_000)
    const piped = await open(false)
    piped.socket.write(ask('r8') + ask('r8'))
    const other = await open()
    await until(() => {
      other.socket.write(ask('c0'))
      return other.text().includes('429 Too Many Requests')
    })
    piped.socket.destroy()
    await until(async () => (await connections()) === 1)
    const after = await open()
    after.socket.write(ask('r8'))
    await until(() => after.bytes() > 8 * MIB)
    await until(() => {
      after.socket.write(ask('c0'))
      return after.text().includes('Content-Length: 0')
    })
  })
})

describe('a request behind another one on its connection', () => {
  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
  let begun: string[]
  /** `/held` is answered with what never ends before `release`, others at once, after so much work. */
  async function serve(workMs = 0): Promise<{ release(): void }> {
    begun = []
    let release = () => {}
    await listen(({ url = '' }, response) => {
      begun.push(url)
      for (const from = ownCpuMs(); ownCpuMs() - from < workMs;);
      if (url === '/closing') response.setHeader('Connection', 'close')
      if (url !== '/held') return void response.end(url)
      response.write('held')
      release = () => response.end()
    })
    return { release: () => release() }
  }

  it('begins once the answer before it has ended', async () => {
    const { release } = await serve()
    const piped = await open()
    const paths = Array.from({ length: 20 }, (_, index) => `/${index}`)
    piped.socket.write(ask('/held') + paths.map(ask).join(''))
    await until(() => piped.text().includes('held'))
    expect(begun).toEqual(['/held'])
    release()
    await until(() => piped.text().endsWith('/19'))
    expect(begun).toEqual(['/held', ...paths])
  })

  it('is never begun where too many wait: their connection ends', async () => {
    await serve()
    const piped = await open()
    piped.socket.write(ask('/held') + ask('/behind').repeat(500))
    await piped.closed
    expect(begun).toEqual(['/held'])
    const other = await open()
    other.socket.write(ask('/other'))
    await until(() => other.text().includes('200 OK'))
  })

  it('is not begun after an answer that was the last of the connection', async () => {
    await serve()
    const piped = await open()
    piped.socket.write(ask('/closing') + ask('/behind').repeat(20))
    await piped.closed
    expect([begun, piped.text().endsWith('/closing')]).toEqual([['/closing'], true])
  })

  it('leaves a turn of the event loop to others', async () => {
    await serve(10)
    const piped = await open()
    const { held } = await timesOf(async () => {
      piped.socket.write(ask('/some').repeat(29) + ask('/last'))
      await until(() => piped.text().includes('/last'))
    })
    expect(begun).toHaveLength(30)
    expect(held).toBeLessThan(limitMs(150))
  })
})

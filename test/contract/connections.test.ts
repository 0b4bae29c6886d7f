/** Connections to the launched service, with the terms and bounds that it has: they are waited for side by side. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { createStream } from '../harness/pipelines.ts'
import { runningControlPlanes } from '../harness/processes.ts'
import { limitFromNow } from '../harness/machine-speed.ts'

const RECORDS = 16
const RECORD_BYTES = 1_000_000
const UNREAD = 60
const MEMORY_MIB_MAX = 400

let client: Client
/** Its budget of unread answers is its own. */
let slow: Client
let id: string
let slowId: string
const sockets: Socket[] = []

async function streamOf(owner: Client): Promise<string> {
  const stream = await createStream(owner, { text: 'string' }, { partitions: 1 })
  for (let n = 0; n < RECORDS; n++)
    expect((await owner.call('POST', `/v1/streams/${stream.id}/data`, { records: [{ text: 'x'.repeat(RECORD_BYTES) }] })).status).toBe(201)
  return stream.id
}

beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  slow = await loggedIn(service().accounts.other)
  id = await streamOf(client)
  slowId = await streamOf(slow)
})
afterAll(() => {
  for (const socket of sockets) socket.destroy()
})

async function open(): Promise<Socket> {
  const { port, hostname } = new URL(service().apiUrl)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  // Resets are how connections end here.
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

const ask = (owner: Client, path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.token}\r\n\r\n`
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const memoryMib = (): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${runningControlPlanes()[0]}/status`, 'utf8'))![1]) / 1024

/** Of our connections, those that the service still has: its table of sockets, as Linux shows it, has established ones as 01. */
function established(ports: ReadonlySet<number>): number {
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , remote = '', state]) => state === '01' && ports.has(Number.parseInt(remote.split(':')[1] ?? '', 16))).length
}

describe.concurrent('a connection', () => {
  it('whose client does not read ends, and of an account few have large answers', async () => {
    const before = memoryMib()
    const unread: Socket[] = []
    for (let index = 0; index < UNREAD; index++) unread.push(await open())
    for (const socket of unread) socket.write(ask(client, `/v1/streams/${id}/data?limit=${RECORDS}`))
    const until = Date.now() + 10_000
    let most = 0
    const page = await eventually('no more pages are made', async () => {
      most = Math.max(most, memoryMib())
      const answer = await client.call('GET', `/v1/streams/${id}/data?limit=1`)
      return answer.status === 429 && answer
    })
    expect(page.headers.get('Retry-After')).toBe('1')
    // Small requests are answered meanwhile.
    expect((await client.call('GET', `/v1/streams/${id}`)).status).toBe(200)
    for (; Date.now() < until; await sleep(100)) most = Math.max(most, memoryMib())
    expect(most - before).toBeLessThan(MEMORY_MIB_MAX)
    // Those that were refused have their whole answer in the system's buffer, and are idle.
    const ports = new Set(unread.map(({ localPort }) => localPort!))
    const open60 = established(ports)
    const page1 = () => client.call('GET', `/v1/streams/${id}/data?limit=1`)
    await eventually('they have ended', async () => established(ports) < open60 && (await page1()).status === 200, 90_000)
  })

  it('with half a head ends within fifteen seconds', async () => {
    const half = await open()
    const closed = once(half, 'close')
    const [limit, from] = [limitFromNow(15_000), Date.now()]
    let text = ''
    half.on('data', (part) => (text += part.toString('latin1')))
    half.write('GET / HTTP/1.1\r\nHo')
    await closed
    expect(Date.now() - from).toBeGreaterThan(8000)
    expect(Date.now() - from).toBeLessThan(limit())
    expect(text).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('whose client reads slowly gets its whole answer, and the next one', async () => {
    const reader = await open()
    let bytes = 0
    const from = Date.now()
    reader.on('data', ({ length }) => {
      bytes += length
      // About 250 KB/s, for longer than two terms.
      const aheadMs = bytes / 250 - (Date.now() - from)
      if (aheadMs < 10) return
      reader.pause()
      setTimeout(() => reader.resume(), aheadMs)
    })
    reader.write(ask(slow, `/v1/streams/${slowId}/data?limit=${RECORDS}`))
    while (bytes < RECORDS * RECORD_BYTES && !reader.destroyed) await sleep(100)
    expect(bytes).toBeGreaterThan(RECORDS * RECORD_BYTES)
    const whole = bytes
    await sleep(1000)
    reader.write(ask(slow, '/v1/streams?page_size=1'))
    while (bytes <= whole && !reader.destroyed) await sleep(100)
    expect(bytes).toBeGreaterThan(whole)
  })

  it('of a tail stays open while nothing passes', async () => {
    const tail = await open()
    let text = ''
    tail.on('data', (part) => (text += part.toString('latin1')))
    tail.write(ask(slow, `/v1/streams/${slowId}/tail`))
    await sleep(50_000)
    expect(tail.destroyed).toBe(false)
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    expect(text.split(': \n\n').length).toBeGreaterThan(3)
  })
})

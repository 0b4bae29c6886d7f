/** Peers that are not brokers: whatever they answer, the call fails and the process goes on. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { openCluster } from '../../shared/kafka/cluster.ts'

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

async function serve(behave: (socket: Socket, request: number) => void): Promise<number> {
  const server = createServer((socket) => {
    let requests = 0
    socket.on('error', () => {})
    socket.on('data', () => behave(socket, requests++))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  return (server.address() as AddressInfo).port
}

/** An answer to the request with this correlation id; they count up from 0. */
function answer(correlationId: number, body: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeInt32BE(4 + body.length, 0)
  head.writeInt32BE(correlationId, 4)
  return Buffer.concat([head, body])
}

describe('a call to a broker', () => {
  it.each<[string, (socket: Socket, request: number) => void]>([
    [
      'refuses the log-in and resets the connection',
      (socket, request) => {
        if (request === 0) socket.write(answer(0, Buffer.from([0, 33, 0, 0, 0, 0])))
        setTimeout(() => socket.resetAndDestroy(), 20)
      },
    ],
    ['answers noise', (socket) => void socket.write(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))],
    ['resets the connection at once', (socket) => socket.resetAndDestroy()],
  ])('fails, and nothing else does, when the broker %s', async (_, behave) => {
    const port = await serve(behave)
    const cluster = openCluster({
      brokers: [`127.0.0.1:${port}`],
      clientId: 'test',
      connection: { sasl: { mechanism: 'PLAIN', username: 'a', password: 'b' }, requestTimeout: 1000, connectTimeout: 1000 } as never,
    })
    await expect(cluster.describeTopic('t')).rejects.toThrow()
    await new Promise((resolve) => setTimeout(resolve, 300))
    await cluster.close().catch(() => {})
  })
})

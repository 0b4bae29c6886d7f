/**
 * A TCP proxy between processors and one broker, for what networks do: connections that go silent without closing, answers that never
 * come, an EndTxn that arrives late. It reads only the four bytes of a request's length and the two of its kind.
 */
import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import type { Random } from './random.ts'

const END_TXN = 26

export type Proxy = {
  /** A share of the connections goes silent, half-open, for good; new ones work. Answers how many. */
  freeze(share: number, random: Random): number
  /** From now on an EndTxn request closes its connection instead of reaching the broker. */
  cutEndTxn(on: boolean): void
  /** From now on an EndTxn request reaches the broker after this time, even when its sender has gone; 0 for at once. */
  delayEndTxn(ms: number): void
  close(): Promise<void>
}

type Pair = { client: Socket; broker: Socket; frozen: boolean }

/** `targetPort` is asked for at each connection: the broker may not be there yet. */
export async function openProxy(port: number, targetPort: () => number): Promise<Proxy> {
  const pairs = new Set<Pair>()
  let cut = false
  let delayMs = 0

  const server = createServer({ noDelay: true }, (client) => {
    const broker = connect({ port: targetPort(), host: '127.0.0.1', noDelay: true })
    const pair: Pair = { client, broker, frozen: false }
    pairs.add(pair)
    let held: Promise<void> = Promise.resolve()
    const frames = createFrames((frame, kind) => {
      if (pair.frozen) return
      if (kind === END_TXN && cut) return void client.destroy()
      const wait = kind === END_TXN ? delayMs : 0
      // What follows a request that is held waits behind it: a connection keeps its order.
      held = held.then(async () => {
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
        if (!broker.destroyed) broker.write(frame)
      })
    })
    client.on('data', frames)
    broker.on('data', (bytes) => {
      if (!pair.frozen && !client.destroyed) client.write(bytes)
    })
    const end = () => {
      pairs.delete(pair)
      client.destroy()
      // A held request is still on its way when its sender has given up.
      void held.then(() => setTimeout(() => broker.destroy(), 200))
    }
    client.on('error', () => {})
    broker.on('error', () => client.destroy())
    client.on('close', end)
    broker.on('close', () => client.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')

  return {
    freeze(share, random) {
      const chosen = [...pairs].filter(() => random.next() < share)
      for (const pair of chosen) pair.frozen = true
      return chosen.length
    },
    cutEndTxn(on) {
      cut = on
    },
    delayEndTxn(ms) {
      delayMs = ms
    },
    async close() {
      for (const { client, broker } of pairs) {
        client.destroy()
        broker.destroy()
      }
      server.close()
      await once(server, 'close').catch(() => {})
    },
  }
}

/** Cuts a byte stream into Kafka requests: int32 length, then int16 kind. */
function createFrames(onFrame: (frame: Buffer, kind: number) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    while (rest.length >= 6) {
      const size = 4 + rest.readInt32BE(0)
      if (rest.length < size) return
      onFrame(rest.subarray(0, size), rest.readInt16BE(4))
      rest = rest.subarray(size)
    }
  }
}

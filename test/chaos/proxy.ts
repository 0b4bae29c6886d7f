/**
 * A TCP proxy between processors and one broker that imitates network faults: connections that go silent without closing, answers that
 * never come, an EndTxn that arrives late. Of a request it reads only the four bytes of its length and the two of its API key.
 */
import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import type { Random } from './random.ts'

const END_TXN = 26

export type Proxy = {
  /** Silences a share of the connections for good, half-open; new ones work. Returns how many it silenced now. */
  freeze(share: number, random: Random): number
  /** From now on an EndTxn request closes its connection instead of reaching the broker. */
  cutEndTxn(on: boolean): void
  /** From now on an EndTxn request reaches the broker after this time, even when its sender has gone; 0 for no delay. */
  delayEndTxn(ms: number): void
  /** How many EndTxn requests it has cut or delayed so far. */
  disturbed(): number
  close(): Promise<void>
}

type Pair = { client: Socket; broker: Socket; frozen: boolean }

/** `targetPort` is called for each connection, because the broker may not have started yet. */
export async function openProxy(port: number, targetPort: () => number): Promise<Proxy> {
  const pairs = new Set<Pair>()
  let cut = false
  let delayMs = 0
  let disturbed = 0

  const server = createServer({ noDelay: true }, (client) => {
    const broker = connect({ port: targetPort(), host: '127.0.0.1', noDelay: true })
    const pair: Pair = { client, broker, frozen: false }
    pairs.add(pair)
    let held: Promise<void> = Promise.resolve()
    const frames = createFrames((frame, kind) => {
      if (pair.frozen) return
      if (kind === END_TXN && (cut || delayMs > 0)) disturbed++
      if (kind === END_TXN && cut) return void client.destroy()
      const wait = kind === END_TXN ? delayMs : 0
      // Requests after a held one wait for it: a connection keeps its order.
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
      // A held request still reaches the broker after its sender has given up.
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
      const chosen = [...pairs].filter(({ frozen }) => !frozen && random.next() < share)
      for (const pair of chosen) pair.frozen = true
      return chosen.length
    },
    cutEndTxn(on) {
      cut = on
    },
    delayEndTxn(ms) {
      delayMs = ms
    },
    disturbed: () => disturbed,
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

/** Cuts a byte stream into Kafka requests: int32 length, then int16 API key. */
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

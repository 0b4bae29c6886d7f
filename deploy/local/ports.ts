/**
 * Loopback ports for the parts of a local stack. They are below the ports that the operating system gives to outgoing connections
 * (32768 and up on Linux, 49152 and up elsewhere: RFC 6335, section 6) and that container engines publish at. So between finding a port
 * and listening on it, only another search like this could take it.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

const LOWEST = 15_000
const BEYOND = 32_000
const ATTEMPTS = 200

/** A server that listens on the port, undefined when the port is taken. */
async function hold(port: number): Promise<Server | undefined> {
  const server = createServer()
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => resolve(true))
  })
  return isFree ? server : undefined
}

async function release(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}

/** Ports that nothing listens on at this moment. All are held until the last is found, so that no two are the same. */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>()
  for (let attempt = 0; held.size < count && attempt < ATTEMPTS + count; attempt++) {
    const port = randomInt(LOWEST, BEYOND)
    const server = await hold(port)
    if (server) held.set(port, server)
  }
  await Promise.all([...held.values()].map(release))
  if (held.size < count) throw new Error(`no ${count} free ports between ${LOWEST} and ${BEYOND} on 127.0.0.1`)
  return [...held.keys()]
}

/** A port that nothing listens on at this moment. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port!
}

/** The wanted port if nothing listens on it, else (or for 0 or undefined) a free one. */
export async function usablePort(wanted: number | undefined): Promise<number> {
  if (wanted === undefined || wanted === 0) return freePort()
  const server = await hold(wanted)
  if (!server) return freePort()
  await release(server)
  return wanted
}

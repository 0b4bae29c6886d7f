/** What a lie is, and how long ones are sent: never faster than the other side reads, and only while it listens. */
import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/** What makes the service talk to the server: the check of a config, reading a source, or writing to a sink. */
export type Way = 'check source' | 'check sink' | 'read' | 'write'

/** `why`: what the lie is aimed at. `config`: members of the endpoint's config that differ from the protocol's usual ones. */
type Lie = { name: string; why: string; way: Way; config?(port: number): Record<string, unknown> }

/** A lie of a server that speaks its own protocol. Called once per connection. */
export type SocketLie = Lie & { answer(socket: Socket): void }

/** A lie of a web server. Called once per request. `values`: what the topic beside a lying schema registry holds. */
export type WebLie = Lie & { values?(): Buffer[]; answer(request: IncomingMessage, response: ServerResponse): void }

/** The answer to HEAD has no body: what is written to it goes nowhere, and the other side waits for its end. */
const isBodiless = (target: Writable): boolean => target instanceof ServerResponse && target.req.method === 'HEAD'

/** Sends the part again and again until the other side has gone; one part a turn, so that the other lies are told meanwhile. */
export function sendForever(target: Writable, part: Buffer): void {
  if (isBodiless(target)) return void target.end()
  const more = (): void => {
    if (target.destroyed || !target.writable) return
    if (target.write(part)) setImmediate(more)
    else target.once('drain', () => setImmediate(more))
  }
  more()
}

/** Sends one byte at a time, until there are no more or the other side has gone. */
export function drip(target: Writable, bytes: Buffer, everyMs: number): void {
  if (isBodiless(target)) return void target.end()
  let at = 0
  const timer = setInterval(() => {
    if (target.destroyed || at >= bytes.length) return clearInterval(timer)
    target.write(bytes.subarray(at, ++at))
  }, everyMs)
}

/** The value, made when it is first asked for: a bomb costs time to build. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** Sends the HTTP requests of plug-ins: to addresses that connectors may reach too, within bounds of time and size. */
import type { Response } from 'undici'
import { reasonOf } from '../errors/reason-of.ts'
import { REQUEST_BYTES_MAX, REQUEST_MS_MAX, type PlugInAnswer, type SendRequest } from '../model/plug-in-http.ts'
import type { AddressRules } from './address-guard.ts'
import { bodyOf, openHttpClient } from './http-client.ts'

/** Size of an answer's headers, which a plug-in gets as one JSON object. */
const HEADER_BYTES_MAX = 65_536
const PROBLEM_MAX = 300
const BAD_GATEWAY = 502
const GATEWAY_TIMEOUT = 504
/** Methods that change nothing (RFC 9110 §9.2.1): what a trial may send. */
const SAFE_METHODS = new Set(['GET', 'HEAD'])
/** Headers that say how a message is sent, which is the client's matter (RFC 9110 §7.6.1). */
const OF_THE_MESSAGE = new Set(['connection', 'content-length', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'])

/** Sends the requests of one account's plug-ins. */
export type PlugInSender = { send: SendRequest; close(): Promise<void> }

/**
 * A sender for one account. A trial only reads, and all of its requests together get `trialMs`. A request that can't be sent, or whose
 * answer does not come, is answered as a proxy would.
 */
export function openPlugInRequests(addresses: AddressRules, trialMs?: number): PlugInSender {
  const client = openHttpClient(
    { headers: {}, timeout_ms: REQUEST_MS_MAX },
    { defaults: { addresses }, now: Date.now, secret: () => '', learn: () => {} },
  )
  const isTrial = trialMs !== undefined
  const until = isTrial ? performance.now() + trialMs : Infinity
  const failed = (status: number, problem: string): PlugInAnswer => ({
    status,
    headers: {},
    body: new Uint8Array(),
    problem: problem.slice(0, PROBLEM_MAX),
  })
  return {
    close: client.close,
    async send({ method, url, headers, body }) {
      if (isTrial && !SAFE_METHODS.has(method)) return failed(BAD_GATEWAY, `a trial sends no ${method}`)
      const withinMs = Math.min(REQUEST_MS_MAX, until - performance.now())
      if (withinMs <= 0) return failed(GATEWAY_TIMEOUT, 'the trial has waited for too many answers')
      const signal = AbortSignal.timeout(Math.ceil(withinMs))
      try {
        const own = Object.entries(headers).filter(([name]) => !OF_THE_MESSAGE.has(name.toLowerCase()))
        const sent = body.length > 0 && !SAFE_METHODS.has(method) ? { body } : {}
        const answer = await client.request(url, { method, headers: Object.fromEntries(own), ...sent }, signal)
        // Its own bytes alone: what is posted to a lane is copied with all of its buffer.
        return { status: answer.status, headers: headersOf(answer), body: Uint8Array.from(await bodyOf(answer, REQUEST_BYTES_MAX)) }
      } catch (error) {
        if (signal.aborted) return failed(GATEWAY_TIMEOUT, `no answer within ${Math.ceil(withinMs)} ms`)
        return failed(BAD_GATEWAY, reasonOf(error))
      }
    },
  }
}

/** The headers of the answer as it is handed on: decoded, and each name once. */
function headersOf({ headers }: Response): Record<string, string> {
  const all: Record<string, string> = {}
  let bytes = 0
  for (const [name, value] of headers) {
    if (OF_THE_MESSAGE.has(name) || name === 'content-encoding') continue
    bytes += name.length + value.length
    if (bytes <= HEADER_BYTES_MAX) all[name] = Object.hasOwn(all, name) ? `${all[name]}, ${value}` : value
  }
  return all
}

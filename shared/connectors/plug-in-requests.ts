/** Sends the HTTP requests of plug-ins: to addresses that connectors may reach too, within bounds of time and size. */
import { reasonOf } from '../errors/reason-of.ts'
import { REQUEST_BYTES_MAX, REQUEST_MS_MAX, type PlugInAnswer, type SendRequest } from '../model/plug-in-requests.ts'
import type { AddressRules } from './address-guard.ts'
import { bytesOf, openHttpClient } from './http-client.ts'

/** Of the headers of an answer, which are one JSON object to a plug-in. */
const HEADER_BYTES_MAX = 65_536
const BAD_GATEWAY = 502
const GATEWAY_TIMEOUT = 504
/** Methods that change nothing (RFC 9110 §9.2.1): what a trial may send. */
const SAFE_METHODS = new Set(['GET', 'HEAD'])

/** A sender for one account; `isTrial`: it only reads. What can't be sent or does not come back is answered as a proxy would. */
export function openPlugInRequests(addresses: AddressRules, isTrial: boolean): { send: SendRequest; close(): Promise<void> } {
  const client = openHttpClient(
    { headers: {}, timeout_ms: REQUEST_MS_MAX },
    { defaults: { addresses }, now: Date.now, secret: () => '', learn: () => {} },
  )
  const failed = (status: number, problem: string): PlugInAnswer => ({ status, headers: {}, body: new Uint8Array(), problem })
  return {
    close: client.close,
    async send({ method, url, headers, body }) {
      if (isTrial && !SAFE_METHODS.has(method)) return failed(BAD_GATEWAY, `a trial sends no ${method}`)
      const signal = AbortSignal.timeout(REQUEST_MS_MAX)
      try {
        const asked = { method, headers, ...(body.length > 0 && !SAFE_METHODS.has(method) ? { body } : {}) }
        const answer = await client.request(url, asked, signal)
        return {
          status: answer.status,
          headers: Object.fromEntries(fitting(answer.headers)),
          body: await bytesOf(answer, REQUEST_BYTES_MAX),
        }
      } catch (error) {
        if (signal.aborted) return failed(GATEWAY_TIMEOUT, `no answer within ${REQUEST_MS_MAX} ms`)
        return failed(BAD_GATEWAY, reasonOf(error))
      }
    },
  }
}

function fitting(headers: Iterable<[string, string]>): [string, string][] {
  let bytes = 0
  return [...headers].filter(([name, value]) => (bytes += name.length + value.length) <= HEADER_BYTES_MAX)
}

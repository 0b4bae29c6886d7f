/** Requests to web services on behalf of accounts: only to public addresses unless the operator allows others, redirects included. */
import { Agent, fetch, type Response } from 'undici'
import { z } from 'zod'
import { ConfigRefused, type ConnectorContext } from './connector.ts'
import { addressGuardOf, AddressRefused } from './address-guard.ts'
import { hasCredentials } from './http-url.ts'
import type { Secret } from './secret.ts'

type Auth =
  | { kind: 'bearer'; token: Secret }
  | { kind: 'oauth2'; token_url: string; client_id: string; client_secret: Secret; scope?: string }
/** What every request of a connector has: headers, authentication, and a time limit in milliseconds. */
export type HttpSettings = { headers: Record<string, string | Secret>; auth?: Auth; timeout_ms: number }
/** One request. */
export type Asked = { method: string; headers?: Record<string, string>; body?: Uint8Array | string }

/** A client with the connector’s headers and authentication; it resolves and checks hosts itself. */
export type HttpClient = {
  /** Throws AddressRefused or ConfigRefused for permanent failures, any other error for temporary ones. A refused token is renewed once. */
  request(url: string, asked: Asked, signal: AbortSignal): Promise<Response>
  close(): Promise<void>
}

const REDIRECTS_MAX = 3
const CONNECTIONS_MAX = 8
const TOKEN_BYTES_MAX = 1 << 20
const EXCERPT_BYTES_MAX = 64 << 10
const EXCERPT_CHARACTERS = 300
/** A token is renewed this long before it expires: clocks differ and requests take time. */
const RENEW_BEFORE_MS = 30_000
const Token = z.object({ access_token: z.string().min(1), expires_in: z.coerce.number().positive().default(300) })

/** What a client needs of the context. */
type HttpContext = Pick<ConnectorContext, 'secret' | 'learn' | 'now'> & { defaults: Pick<ConnectorContext['defaults'], 'addresses'> }

/** Opens the client; secrets are read when a request needs them. */
export function openHttpClient({ headers, auth, timeout_ms }: HttpSettings, context: HttpContext): HttpClient {
  const guard = addressGuardOf(context.defaults.addresses)
  const agent = new Agent({
    connections: CONNECTIONS_MAX,
    connect: { timeout: 5000, ...(guard ? { lookup: guard.lookup } : {}) },
  })
  let token: { value: string; until: number } | undefined

  async function send(url: string, { method, headers: own, body }: Asked, signal: AbortSignal): Promise<Response> {
    let at = new URL(url)
    for (let hop = 0; ; hop++) {
      guard?.assertHost(at.hostname)
      const answer = await fetch(at, { method, headers: own, body, redirect: 'manual', dispatcher: agent, signal })
      const location = answer.headers.get('location')
      // Only redirects that keep method and body are followed (RFC 9110 §15.4.8, §15.4.9); credentials never go to another host.
      if ((answer.status !== 307 && answer.status !== 308) || location === null) return answer
      await answer.body?.cancel()
      const next = new URL(location, at)
      if (hop >= REDIRECTS_MAX) throw new ConfigRefused(`${at.host} redirects more than ${REDIRECTS_MAX} times`)
      if (next.host !== at.host || (at.protocol === 'https:' && next.protocol !== 'https:'))
        throw new ConfigRefused(`${at.host} redirects to another host, ${next.origin}: put its address into the config`)
      if (hasCredentials(next)) throw new ConfigRefused(`${at.host} redirects to an address with a user or a password in it`)
      at = next
    }
  }

  async function renew(oauth: Extract<Auth, { kind: 'oauth2' }>, signal: AbortSignal): Promise<string> {
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...(oauth.scope === undefined ? {} : { scope: oauth.scope }) })
    // RFC 6749 §2.3.1: both are form-encoded before they are joined.
    const basic = Buffer.from(`${encodeURIComponent(oauth.client_id)}:${encodeURIComponent(context.secret(oauth.client_secret))}`).toString(
      'base64',
    )
    const answer = await send(
      oauth.token_url,
      {
        method: 'POST',
        headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
        body: body.toString(),
      },
      signal,
    )
    if (answer.status === 400 || answer.status === 401)
      throw new ConfigRefused(`the token endpoint refuses the credentials (${answer.status})`)
    if (!answer.ok) throw new Error(`the token endpoint answered ${answer.status}`)
    const { access_token, expires_in } = Token.parse(JSON.parse(await textOf(answer, TOKEN_BYTES_MAX)))
    context.learn(access_token)
    token = { value: access_token, until: context.now() + expires_in * 1000 - RENEW_BEFORE_MS }
    return access_token
  }

  async function authorization(signal: AbortSignal): Promise<Record<string, string>> {
    if (!auth) return {}
    if (auth.kind === 'bearer') return { authorization: `Bearer ${context.secret(auth.token)}` }
    const value = token && token.until > context.now() ? token.value : await renew(auth, signal)
    return { authorization: `Bearer ${value}` }
  }

  return {
    async request(url, asked, outer) {
      const signal = AbortSignal.any([outer, AbortSignal.timeout(timeout_ms)])
      const fixed = Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : context.secret(value)])
      try {
        for (let attempt = 0; ; attempt++) {
          const all = { ...Object.fromEntries(fixed), ...(await authorization(signal)), ...asked.headers }
          const answer = await send(url, { ...asked, headers: all }, signal)
          if (answer.status !== 401 || auth?.kind !== 'oauth2' || attempt > 0) return answer
          await answer.body?.cancel()
          token = undefined
        }
      } catch (error) {
        throw plain(error)
      }
    },
    // Without waiting for answers: a silent server would give none.
    close: () => agent.destroy(),
  }
}

/**
 * What an answer that is no success says, for a message: without secrets, at most 300 characters; empty where it is longer than 64 KiB or
 * can't be read.
 */
export async function excerptOf(answer: Response, { mask }: Pick<ConnectorContext, 'mask'>): Promise<string> {
  // Masked before it is cut: what is cut through is not found any more.
  return mask(await textOf(answer, EXCERPT_BYTES_MAX).catch(() => '')).slice(0, EXCERPT_CHARACTERS)
}

/** The response's text, decompressed. Throws ConfigRefused as soon as it has more than `bytesMax`; the rest is not read. */
export async function textOf(answer: Response, bytesMax: number): Promise<string> {
  return (await bodyOf(answer, bytesMax)).toString('utf8')
}

/** Like `textOf`, without decoding it. */
export async function bodyOf(answer: Response, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of answer.body ?? []) {
    parts.push(part as Uint8Array)
    bytes += (part as Uint8Array).length
    if (bytes > bytesMax) throw new ConfigRefused(`the response has more than ${bytesMax} bytes`)
  }
  return Buffer.concat(parts)
}

/** Unwraps undici's "fetch failed", which has the reason as its cause. */
function plain(error: unknown): unknown {
  const { cause } = error as { cause?: unknown }
  if (cause instanceof AddressRefused) return cause
  return cause instanceof Error ? new Error(cause.message || cause.name, { cause: error }) : error
}

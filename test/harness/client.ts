/** An HTTP client for tests that returns status, headers and body, and a poll for named conditions. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { inject } from 'vitest'
import type { Key } from '../../deploy/local/launcher.ts'
import { assertKept } from './contract-check.ts'
import type { Shared } from './global-setup.ts'
import { slowness } from './machine-speed.ts'

export type Answer<T = Record<string, never>> = {
  status: number
  headers: Headers
  body: T &
    Record<string, unknown> & { error?: { code: string; message: string; status: number; details?: { path: string; message: string }[] } }
}
export type Client = {
  call<T = Record<string, never>>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<T>>
  token: string | undefined
}

/** The launched service of this file's test worker. */
export function service(): Shared {
  // Vitest numbers the files that run side by side from 1 on.
  const shared = inject('services')[Number(process.env.VITEST_POOL_ID) - 1]
  if (!shared) throw new Error('this test needs the launched service: its folder is not in NEEDS_SERVICE')
  return shared
}

/** The machine had no time for what a workshop does. It is said before anything is stored, so that the request may be sent again. */
const isForWantOfTime = ({ status, body }: Pick<Answer<unknown>, 'status' | 'body'>): boolean =>
  status === 503 && /enough CPU time|a process for the request/.test(body.error?.message ?? '')
const WANT_OF_TIME_MAX_MS = 300_000
/** Postgres did not answer for two seconds: what only reads may be asked again. */
const isForWantOfDatabase = ({ status, body }: Pick<Answer<unknown>, 'status' | 'body'>): boolean =>
  status === 503 && (body.error?.message ?? '').startsWith('the database')

export function anonymous(token?: string): Client {
  const { apiUrl } = service()
  return {
    token,
    async call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer<T>> {
      const isText = typeof body === 'string'
      const ask = async (): Promise<Answer<T>> => {
        // A test that compiles may stand still for a minute, after which the service ends the connection: first that is heard of.
        for (let turn = 0; turn < 2; turn++) await nextTurn()
        const answer = await fetch(`${apiUrl}${path}`, {
          method,
          headers: {
            ...(token ? { Authorization: `Bearer ${token}` } : {}),
            ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
            ...headers,
          },
          body: body === undefined ? undefined : isText ? body : JSON.stringify(body),
        })
        const text = await answer.text()
        const parsed: unknown = text === '' ? {} : JSON.parse(text)
        assertKept(method, path, answer.status, parsed)
        return { status: answer.status, headers: answer.headers, body: parsed } as Answer<T>
      }
      for (const from = Date.now(); ; await sleep(500)) {
        const answer = await ask()
        const isToRepeat = isForWantOfTime(answer) || (method === 'GET' && isForWantOfDatabase(answer))
        if (!isToRepeat || Date.now() - from > WANT_OF_TIME_MAX_MS) return answer
      }
    },
  }
}

/** A client with a token for the key. */
export async function loggedIn({ api_key, api_secret }: Key): Promise<Client> {
  const ask = () => anonymous().call<{ access_token: string }>('POST', '/api/v1/auth/token', { api_key, api_secret })
  const answer = await patiently(ask)
  if (answer.status !== 200) throw new Error(`the token call answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return anonymous(answer.body.access_token)
}

type Refusable = { status: number; body: { error?: unknown } }
const LOAD = /is still in progress|did not end within|timed out|timeout expired|Query read timeout|aborted due to timeout/

/** What the service says where it met a limit of its own: on a loaded machine that is no fault of the request. */
const isOfItsLoad = ({ status, body: { error } }: Refusable): boolean =>
  status === 503 || (typeof error === 'object' && error !== null && 'message' in error && LOAD.test(String(error.message)))

/** Asks up to four times while the service refuses because of its load; each try must be a request that may be repeated. */
export async function patiently<A extends Refusable>(ask: () => Promise<A>): Promise<A> {
  for (let tries = 1; ; tries++) {
    const answer = await ask()
    if (tries === 4 || !isOfItsLoad(answer)) return answer
    await sleep(tries * 1000)
  }
}

/** Measured once in each file of tests. */
const SLOWNESS = slowness()

/** So long a wait is said once, since a run that is ended meanwhile would not say what it waited for. */
const SAID_AFTER_MS = 30_000

/**
 * Polls until `condition` returns something other than undefined or false; the timeout error names `what`. `quickMs`: the time it may take
 * on the reference machine.
 */
export async function eventually<T>(what: string, condition: () => Promise<T | undefined | false>, quickMs = 120_000): Promise<T> {
  let deadlineMs = Math.round(quickMs * SLOWNESS)
  let last: unknown
  let isSaid = false
  for (const from = Date.now(); ;) {
    try {
      const found = await condition()
      if (found !== undefined && found !== false) return found
      last = found
    } catch (error) {
      last = error
    }
    const waitedMs = Date.now() - from
    if (!isSaid && waitedMs > SAID_AFTER_MS) {
      isSaid = true
      console.log(`still waiting until ${what} (last: ${String(last)})`)
    }
    // The machine may have become slower since.
    if (waitedMs > deadlineMs) deadlineMs = Math.max(deadlineMs, Math.round(quickMs * slowness()))
    if (waitedMs > deadlineMs) throw new Error(`${what}: not within ${deadlineMs / 1000} s (last: ${String(last)})`)
    // Ten requests per second would soon use up an account's quota of them.
    await sleep(Math.min(500, 100 + waitedMs / 50))
  }
}

let counter = 0
/** A name that no other test uses. */
export const unique = (prefix: string): string => `${prefix}-${process.pid}-${Date.now().toString(36)}-${++counter}`

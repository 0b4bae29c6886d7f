/** An account's HTTP client for the attack: it returns every status, and gives up where no answer comes. */
import type { Account } from '../../deploy/local/launcher.ts'

/** `status` 0: no answer within the deadline. */
export type Reply<T = Record<string, unknown>> = { status: number; body: T; tookMs: number }
export type Caller = <T = Record<string, unknown>>(method: string, path: string, body?: unknown, deadlineMs?: number) => Promise<Reply<T>>

const DEADLINE_MS = 30_000

export async function openAccount(apiUrl: string, { api_key, api_secret }: Account): Promise<Caller> {
  let token = ''
  async function send<T>(method: string, path: string, body: unknown, deadlineMs: number): Promise<Reply<T>> {
    const from = performance.now()
    try {
      const answer = await fetch(`${apiUrl}/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(deadlineMs),
      })
      const text = await answer.text()
      return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as T, tookMs: performance.now() - from }
    } catch {
      return { status: 0, body: {} as T, tookMs: performance.now() - from }
    }
  }
  const logIn = async () => {
    token = (await send<{ access_token: string }>('POST', '/auth/token', { api_key, api_secret }, DEADLINE_MS)).body.access_token
  }
  await logIn()
  return async <T>(method: string, path: string, body?: unknown, deadlineMs = DEADLINE_MS) => {
    for (;;) {
      const reply = await send<T>(method, path, body, deadlineMs)
      if (reply.status === 401) await logIn()
      else if (reply.status === 429 || reply.status === 503) await new Promise((resolve) => setTimeout(resolve, 1000))
      else return reply
    }
  }
}

/** The body of an answer that must be a success. */
export function good<T>({ status, body }: Reply<T>, what: string): T {
  if (status < 200 || status > 299) throw new Error(`${what} answered ${status}: ${JSON.stringify(body).slice(0, 300)}`)
  return body
}

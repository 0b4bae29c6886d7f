/** The API client of the chaos harness: a call throws when a part of the service is down. */
import type { Launched } from '../../deploy/local/launcher.ts'
import { limitMs } from '../harness/machine-speed.ts'

export type Api = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) => Promise<T>

const ANSWER_MS_MAX = limitMs(12_000)
const ONLY_ANSWER_MS_MAX = limitMs(30_000)

/** With several addresses, a control plane that does not answer is left for the next one. */
export async function openApi(launched: Launched, apiUrls: readonly string[] = [launched.apiUrl]): Promise<Api> {
  const { api_key, api_secret } = await launched.createAccount('Chaos', 'enterprise')
  let token = ''
  let turn = 0
  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${apiUrls[turn % apiUrls.length]}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(apiUrls.length > 1 ? ANSWER_MS_MAX : ONLY_ANSWER_MS_MAX),
    }).catch((error: unknown) => {
      turn++
      throw error
    })
    const text = await answer.text()
    if (answer.status === 401 && !path.startsWith('/auth')) {
      await logIn()
      return call(method, path, body)
    }
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 300)}`)
    return (text === '' ? {} : JSON.parse(text)) as T
  }
  async function logIn(): Promise<void> {
    token = (await call<{ access_token: string }>('POST', '/auth/token', { api_key, api_secret })).access_token
  }
  await logIn()
  return call
}

/**
 * Polls until `condition` returns something; errors count as not yet. The timeout error names `what`. `quickMs`: on the reference machine.
 */
export async function until<T>(what: string, quickMs: number, condition: () => Promise<T | undefined | false>): Promise<T> {
  const deadlineMs = limitMs(quickMs)
  let last: unknown
  for (const deadline = Date.now() + deadlineMs; Date.now() < deadline; await new Promise((resolve) => setTimeout(resolve, 250))) {
    const found = await condition().catch((error: unknown) => void (last = error))
    if (found !== undefined && found !== false) return found
  }
  throw new Error(`${what}: not within ${deadlineMs / 1000} s${last === undefined ? '' : ` (last: ${String(last)})`}`)
}

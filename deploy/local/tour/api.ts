/** The HTTP calls that the tour makes, with an access token. Errors contain the service's own message. */
import type { Key } from '../launcher.ts'

export type Api = {
  get<T>(path: string): Promise<T>
  post<T = unknown>(path: string, body: unknown): Promise<T>
  remove(path: string): Promise<void>
}

export async function openApi(apiUrl: string, { api_key, api_secret }: Key): Promise<Api> {
  async function call<T>(method: string, path: string, body: unknown, token?: string): Promise<T> {
    const answer = await fetch(`${apiUrl}/api/v1${path}`, {
      method,
      headers: {
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    })
    const text = await answer.text()
    const json: unknown = text === '' ? undefined : JSON.parse(text)
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(json)}`)
    return json as T
  }
  const { access_token } = await call<{ access_token: string }>('POST', '/auth/token', { api_key, api_secret })
  return {
    get: (path) => call('GET', path, undefined, access_token),
    post: (path, body) => call('POST', path, body, access_token),
    remove: (path) => call('DELETE', path, undefined, access_token),
  }
}

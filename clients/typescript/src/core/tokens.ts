/** The access token: fetched once for all requests that wait for it, and again before it expires. */

/** What the service answers to `POST /auth/token`. */
export type Token = { access_token: string; expires_in: number }

/** How long before its end a token is replaced, so that none expires on its way. */
const EARLY_MS = 60_000

export type Tokens = {
  /** The current token. */
  get(): Promise<string>
  /** The service has refused this one: the next `get` fetches another. */
  refuse(token: string): void
}

export function createTokens(fetchToken: () => Promise<Token>): Tokens {
  let known: { token: string; until: number } | undefined
  let loading: Promise<string> | undefined

  async function load(): Promise<string> {
    const { access_token, expires_in } = await fetchToken()
    known = { token: access_token, until: Date.now() + expires_in * 1000 - EARLY_MS }
    return access_token
  }

  return {
    get() {
      if (known && known.until > Date.now()) return Promise.resolve(known.token)
      loading ??= load().finally(() => (loading = undefined))
      return loading
    },
    refuse(token) {
      if (known?.token === token) known = undefined
    },
  }
}

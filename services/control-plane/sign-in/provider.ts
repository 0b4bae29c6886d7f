/**
 * An OpenID Connect provider that members sign in with: the authorization code flow with PKCE (OpenID Connect Core 1.0 §3.1, RFC 7636). It is
 * asked for its addresses and keys at the first sign-in, and again until it answers.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  discovery,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type Configuration,
} from 'openid-client'

export type ProviderOptions = {
  issuer: string
  clientId: string
  clientSecret: string | undefined
  /** How the sign-in page names it. */
  name: string
  /** Where browsers reach the service. */
  publicUrl: string
}

/** What the browser keeps until it comes back from the provider, and what its answer is checked against. */
export type Pending = { state: string; nonce: string; verifier: string }

export type Provider = {
  name: string
  /** Where to send the browser. Rejects while the provider can't be reached. */
  begin(): Promise<{ url: URL; pending: Pending }>
  /** The address of the person who comes back with this query. Rejects when the answer is not the one to `pending`. */
  finish(search: string, pending: Pending): Promise<{ email: string | undefined; isVerified: boolean }>
}

const TIMEOUT_S = 10
/** Where the provider sends browsers back to, below the public URL. */
export const CALLBACK = 'sign-in/callback'

export function openProvider({ issuer, clientId, clientSecret, name, publicUrl }: ProviderOptions): Provider {
  const callback = new URL(CALLBACK, publicUrl.endsWith('/') ? publicUrl : `${publicUrl}/`)
  let known: Promise<Configuration> | undefined

  function configuration(): Promise<Configuration> {
    const url = new URL(issuer)
    // Plain HTTP is for a provider on one's own machine; the settings allow no other.
    const execute = url.protocol === 'http:' ? [allowInsecureRequests] : []
    const asked = (known ??= discovery(url, clientId, clientSecret, undefined, { execute, timeout: TIMEOUT_S }))
    asked.catch(() => (known = undefined))
    return asked
  }

  return {
    name,
    async begin() {
      const pending = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
      const url = buildAuthorizationUrl(await configuration(), {
        redirect_uri: callback.href,
        scope: 'openid email',
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
      })
      return { url, pending }
    },
    async finish(search, { state, nonce, verifier }) {
      const config = await configuration()
      const tokens = await authorizationCodeGrant(config, new URL(search, callback), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()!
      // Some providers give the address only for the access token (OpenID Connect Core 1.0 §5.4).
      const { email, email_verified } =
        claims.email === undefined && config.serverMetadata().userinfo_endpoint
          ? await fetchUserInfo(config, tokens.access_token, claims.sub)
          : claims
      return { email: typeof email === 'string' ? email : undefined, isVerified: email_verified === true }
    },
  }
}

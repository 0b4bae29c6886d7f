/**
 * An OpenID Connect provider that members sign in with, by the authorization code flow with PKCE (OpenID Connect Core 1.0 §3.1, RFC 7636).
 * Its addresses and keys are fetched at the first sign-in, and again until it answers.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  discovery,
  fetchUserInfo,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
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

/** What the provider's answer is checked against. */
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

/** A secret goes into the header unless the provider wants it in the body (OpenID Connect Core 1.0 §9: the header is the default). */
async function configure(issuer: URL, clientId: string, secret: string | undefined): Promise<Configuration> {
  // Without TLS only where the settings allow it.
  const isPlain = issuer.protocol === 'http:'
  const options = { execute: isPlain ? [allowInsecureRequests] : [], timeout: TIMEOUT_S }
  const found = await discovery(issuer, clientId, undefined, secret === undefined ? None() : ClientSecretPost(secret), options)
  const methods = found.serverMetadata().token_endpoint_auth_methods_supported
  if (secret === undefined || (methods && !methods.includes('client_secret_basic'))) return found
  const config = new Configuration(found.serverMetadata(), clientId, undefined, ClientSecretBasic(secret))
  config.timeout = TIMEOUT_S
  if (isPlain) allowInsecureRequests(config)
  return config
}

export function openProvider({ issuer, clientId, clientSecret, name, publicUrl }: ProviderOptions): Provider {
  const callback = new URL(CALLBACK, publicUrl.endsWith('/') ? publicUrl : `${publicUrl}/`)
  let known: Promise<Configuration> | undefined

  function configuration(): Promise<Configuration> {
    const url = new URL(issuer)
    const asked = (known ??= configure(url, clientId, clientSecret))
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

/** An OpenID Connect provider of a test's own: a certified implementation, with its pages for development. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import Provider from 'oidc-provider'
import { freePort } from '../../deploy/local/ports.ts'
import { startControlPlane, type OwnControlPlane } from './own-control-plane.ts'

/** Who signs in with `login`: the address is `<login>@example.com`, and checked unless the login begins with `unchecked`. */
const emailOf = (login: string) => `${login}@example.com`

export type TestProvider = { issuer: string; emailOf(login: string): string; close(): Promise<void> }

async function startProvider(redirectUri: string): Promise<TestProvider> {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'dps', client_secret: 'a-secret-of-the-client', redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    cookies: { keys: ['a-key-of-the-test'] },
    findAccount: (_context, login) => ({
      accountId: login,
      claims: () => ({ sub: login, email: emailOf(login), email_verified: !login.startsWith('unchecked') }),
    }),
  })
  const server: Server = createServer((request, response) => void provider.callback()(request, response))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    issuer,
    emailOf,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A provider, and a control plane that its members sign in to with it as “Example Inc.”. */
export async function startWithProvider(): Promise<{ provider: TestProvider; own: OwnControlPlane; close(): Promise<void> }> {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const provider = await startProvider(`${publicUrl}/sign-in/callback`)
  const own = await startControlPlane(port, {
    PUBLIC_URL: publicUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: 'dps',
    OIDC_CLIENT_SECRET: 'a-secret-of-the-client',
    OIDC_NAME: 'Example Inc.',
  }).catch(async (error: unknown) => {
    await provider.close()
    throw error
  })
  return {
    provider,
    own,
    async close() {
      await own.close()
      await provider.close()
    },
  }
}

/** Clients that are signed in as a member, as a browser is: by a cookie. */
import { anonymous, patiently, type Client } from './client.ts'

/** What signs in; other members of a link are ignored. */
type Signer = { sign_in_token: string; email?: string } | { email: string; password: string; account_id?: string }

/** Signs in with a link's token or a password; throws where the answer is no session. */
export async function signedIn(by: Signer): Promise<Client & { cookie: string }> {
  const body = 'password' in by ? by : { sign_in_token: by.sign_in_token }
  const answer = await patiently(() => anonymous().call('POST', '/v1/sessions', body))
  if (answer.status !== 201) throw new Error(`signing in answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  const cookie = answer.headers.get('Set-Cookie')!.split(';')[0]!
  const client = anonymous()
  return {
    token: undefined,
    cookie,
    call: (method, path, sent, headers = {}) => client.call(method, path, sent, { Cookie: cookie, 'X-Requested-By': 'test', ...headers }),
  }
}

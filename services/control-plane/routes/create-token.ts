/** API key and secret → access token. Needs no token itself; also accepts the OAuth 2 client-credentials form. */
import { createTokenContract, TokenRequest } from '../../../shared/api/auth.ts'
import { invalidRequest } from '../service-error.ts'
import { findActiveKey } from '../store/accounts.ts'
import { invalidCredentials, TOKEN_SECONDS } from '../access/credentials.ts'
import type { Deps, Reply } from '../deps.ts'
import { assertActive } from '../middleware/authenticate.ts'
import { validated } from '../middleware/validate.ts'

type TokenInput = {
  body: unknown
  authorization: string
  /** Counts failures with a key, and refuses when there were too many. */
  guarded<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** RFC 6749 §2.3.1: HTTP Basic with the key as user and the secret as password, both form-encoded. */
function fromBasic(authorization: string): { key: string; secret: string } | undefined {
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(authorization)?.[1]
  if (encoded === undefined) return undefined
  const [key, secret] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  try {
    return key && secret ? { key: decodeURIComponent(key), secret: decodeURIComponent(secret) } : undefined
  } catch {
    return undefined
  }
}

function credentialsOf({ body, authorization }: Pick<TokenInput, 'body' | 'authorization'>): { key: string; secret: string } {
  const form = typeof body === 'object' && body !== null && 'grant_type' in body ? TokenRequest.options[1] : TokenRequest.options[0]
  const result = validated(form, body)
  if ('details' in result) throw invalidRequest(result.details)
  if ('api_key' in result.value) return { key: result.value.api_key, secret: result.value.api_secret }
  const { client_id, client_secret } = result.value
  if (client_id && client_secret) return { key: client_id, secret: client_secret }
  const basic = fromBasic(authorization)
  if (!basic) throw invalidRequest([{ path: '/client_id', message: 'is required, with client_secret, in the body or as HTTP Basic' }])
  return basic
}

const KEY_CHARACTERS_MAX = 70
const KEY_ID = /^key_[0-9a-z]{1,64}$/

export const createToken = {
  contract: createTokenContract,
  async handle({ db, credentials }: Pick<Deps, 'db' | 'credentials'>, input: TokenInput): Promise<Reply> {
    const { key, secret } = credentialsOf(input)
    const row = await input.guarded(key.slice(0, KEY_CHARACTERS_MAX), async () => {
      const found = KEY_ID.test(key) ? await findActiveKey(db, key) : undefined
      // An unknown key takes as long as a wrong secret.
      const isRight = credentials.matches(secret, found?.secret_hash ?? Buffer.alloc(32))
      if (!found || !isRight) throw invalidCredentials('the API key or secret is wrong')
      return found
    })
    assertActive(row)
    return {
      status: 200,
      body: { access_token: credentials.signToken(row.id, row.account_id), token_type: 'Bearer', expires_in: TOKEN_SECONDS },
      headers: { 'Cache-Control': 'no-store' },
    }
  },
}

/** API secrets and access tokens. Secrets: 256 random bits, stored as keyed hashes. Tokens: HS256, one hour, with key rotation. */
import { createSecretKey, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { z } from 'zod'
import { ServiceError } from '../service-error.ts'

export const TOKEN_SECONDS = 3600
const ISSUER = 'data-pipeline-service'
const AUDIENCE = 'data-pipeline-service-api'

const Claims = z.object({ sub: z.string(), acc: z.string() })

export type Credentials = {
  newSecret(): string
  hashOf(secret: string): Buffer
  /** Constant-time compare. */
  matches(secret: string, hash: Buffer): boolean
  signToken(keyId: string, accountId: string): string
  /** Throws invalid_credentials unless the token was signed by this service and is still valid. */
  verifyToken(token: string): { keyId: string; accountId: string }
}

export function createCredentials(options: { jwtKeys: { kid: string; secret: string }[]; secretHashKey: string }): Credentials {
  const [signing] = options.jwtKeys as [{ kid: string; secret: string }]
  // As key objects: given a string, the library tries to parse it as a public key on every call.
  const byKid = new Map(options.jwtKeys.map(({ kid, secret }) => [kid, createSecretKey(Buffer.from(secret))]))
  const hashOf = (secret: string) => createHmac('sha256', options.secretHashKey).update(secret).digest()
  return {
    newSecret: () => randomBytes(32).toString('base64url'),
    hashOf,
    matches(secret, hash) {
      const own = hashOf(secret)
      return own.length === hash.length && timingSafeEqual(own, hash)
    },
    signToken: (keyId, accountId) =>
      jwt.sign({ acc: accountId }, signing.secret, {
        algorithm: 'HS256',
        keyid: signing.kid,
        subject: keyId,
        issuer: ISSUER,
        audience: AUDIENCE,
        expiresIn: TOKEN_SECONDS,
      }),
    verifyToken(token) {
      try {
        const kid = jwt.decode(token, { complete: true })?.header.kid
        const secret = kid === undefined ? undefined : byKid.get(kid)
        if (secret === undefined) throw new Error('unknown signing key')
        // The algorithm is pinned: a token that names another one, or none, is rejected.
        const claims = Claims.parse(jwt.verify(token, secret, { algorithms: ['HS256'], issuer: ISSUER, audience: AUDIENCE }))
        return { keyId: claims.sub, accountId: claims.acc }
      } catch (error) {
        throw invalidCredentials('the access token is invalid or has expired', error)
      }
    },
  }
}

export function invalidCredentials(message: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_credentials', message, { headers: { 'WWW-Authenticate': 'Bearer' }, cause })
}

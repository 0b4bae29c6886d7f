/** Idempotency-Key: the same key and body get the same answer for 24 h; another body, or a request still under way, is a conflict. */
import { ServiceError, invalidRequest } from '../../../shared/errors/service-error.ts'
import { claimKey, keepAnswer, releaseKey } from '../../../shared/store/idempotency.ts'
import type { Deps, Reply } from '../deps.ts'

const KEY = /^[\x21-\x7e]{1,255}$/

/** Runs `work` once per key. Failed requests release their key: a repeat may succeed. */
export async function withIdempotency(
  { db, credentials }: Pick<Deps, 'db' | 'credentials'>,
  accountId: string,
  key: string,
  operationId: string,
  path: string,
  body: unknown,
  work: () => Promise<Reply>,
): Promise<Reply> {
  if (!KEY.test(key)) throw invalidRequest([{ path: '/header/Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }])
  // Keyed: a body may hold a secret, which a plain hash would let others guess at.
  const fingerprint = credentials.hashOf([operationId, path, JSON.stringify(body) ?? ''].join('\n')).toString('hex')
  const claim = await claimKey(db, accountId, key, fingerprint)
  switch (claim.kind) {
    case 'done':
      return { ...claim.answer, headers: { ...claim.answer.headers, 'Idempotency-Replayed': 'true' } }
    case 'mismatch':
      throw new ServiceError('conflict', 'the Idempotency-Key was used before with another request')
    case 'in_flight':
      throw new ServiceError('conflict', 'a request with this Idempotency-Key is still under way', { headers: { 'Retry-After': '1' } })
    default: {
      let reply: Reply
      try {
        reply = await work()
      } catch (error) {
        await releaseKey(db, accountId, key).catch(() => {})
        throw error
      }
      await keepAnswer(db, accountId, key, { status: reply.status, headers: reply.headers ?? {}, body: reply.body })
      return reply
    }
  }
}

/**
 * Idempotency-Key: the same key and body get the same response for 24 h; another body, or a request still in progress, is a conflict. A
 * write whose outcome is unknown keeps its key, and a retry is the same write to the broker: written once, however often it is tried.
 */
import { ServiceError, invalidRequest } from '../service-error.ts'
import { claimKey, keepAnswer, keepBegun, markInDoubt, releaseKey, renewClaim, type Held } from '../store/idempotency.ts'
import { Envelope } from '../../../shared/secrets/envelope.ts'
import type { KeyedWrite, Deps, Reply } from '../deps.ts'

/** A third of the time after which a claim can be taken over. */
const RENEWED_MS = 20_000

const KEY = /^[\x21-\x7e]{1,255}$/

/** `secretFor`: the API key that alone may see the answer, which is stored encrypted then. */
export type IdempotentRequest = { accountId: string; key: string; operationId: string; path: string; body: unknown; secretFor?: string }

/** Runs `work` once per key. A failed request releases its key, because a retry may succeed. */
export async function withIdempotency(
  { db, credentials, secretBox }: Pick<Deps, 'db' | 'credentials' | 'secretBox'>,
  { accountId, key, operationId, path, body, secretFor }: IdempotentRequest,
  work: (keyed?: KeyedWrite) => Promise<Reply>,
): Promise<Reply> {
  if (!KEY.test(key)) throw invalidRequest([{ path: '/header/Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }])
  if (secretFor !== undefined && !secretBox.isEnabled)
    throw invalidRequest([
      {
        path: '/header/Idempotency-Key',
        message: 'can’t be given here: the answer holds a secret, which would be kept encrypted, and the operator has not set SECRETS_KEYS',
      },
    ])
  // A keyed hash: a body may contain a secret, which could be guessed from a plain hash.
  const parts = [operationId, path, JSON.stringify(body) ?? '', ...(secretFor === undefined ? [] : [secretFor])]
  const fingerprint = credentials.hashOf(parts.join('\n')).toString('hex')
  const owner = `idempotency/${accountId}/${key}`
  const claim = await claimKey(db, accountId, key, fingerprint)
  switch (claim.kind) {
    case 'done':
      return {
        ...claim.answer,
        body: claim.isSealed ? JSON.parse(secretBox.open(owner, Envelope.parse(claim.answer.body))) : claim.answer.body,
        headers: { ...claim.answer.headers, 'Idempotency-Replayed': 'true' },
      }
    case 'mismatch':
      throw new ServiceError('conflict', 'the Idempotency-Key was already used for a different request')
    case 'in_flight':
      throw new ServiceError('conflict', 'a request with this Idempotency-Key is still in progress', { headers: { 'Retry-After': '1' } })
    default: {
      let reply: Reply
      let { begun } = claim
      let held: Held = { accountId, key, token: claim.token }
      // One after the other: a renewal changes what the next one finds the claim by.
      let last: Promise<unknown> = Promise.resolve()
      const inTurn = <T>(change: () => Promise<T>): Promise<T> => {
        const done = last.then(change)
        last = done.catch(() => {})
        return done
      }
      const renewal = setInterval(() => {
        inTurn(async () => (held = await renewClaim(db, held))).catch(() => {})
      }, RENEWED_MS)
      // Set when the request has failed: work that is still running must not begin its write then, because a retry may.
      let isOver = false
      const keyed: KeyedWrite = {
        begun,
        async begin(what) {
          if (isOver) throw new Error('the request was given up before its write began')
          begun = what
          await inTurn(() => keepBegun(db, held, what))
        },
        async keep(trx, { status, headers = {}, body: kept }) {
          const isHeld = await inTurn(() => keepAnswer(trx, held, { status, headers, body: kept }, false))
          if (!isHeld) throw new ServiceError('conflict', 'another request has taken the Idempotency-Key over')
        },
      }
      try {
        reply = await work(keyed)
      } catch (error) {
        isOver = true
        clearInterval(renewal)
        await last
        // A refused request wrote nothing; after any other error, records may be written if this or an earlier request had begun.
        const isRefused = error instanceof ServiceError && error.status < 500 && claim.begun === undefined
        const settle = begun !== undefined && !isRefused ? markInDoubt : releaseKey
        await settle(db, held).catch(() => {})
        throw error
      }
      clearInterval(renewal)
      await last
      const isSealed = secretFor !== undefined && reply.body !== undefined
      const kept = isSealed ? secretBox.seal(owner, JSON.stringify(reply.body)) : reply.body
      await keepAnswer(db, held, { status: reply.status, headers: reply.headers ?? {}, body: kept }, isSealed)
      return reply
    }
  }
}

/** Responses stored for 24 h under the client's Idempotency-Key. */
import type { Queryable } from './database.ts'

/** A stored response. */
export type KeptAnswer = { status: number; headers: Record<string, string>; body: unknown }
/**
 * With which producer a write began, so that the broker recognises a repeat as the same write; where it puts records without a key, and
 * among how many partitions those with one. Rows of earlier versions don't say the latter.
 */
export type Begun = { producer_id: string; epoch: number; partition: number; partitions?: number }

/**
 * The result of a claim. `token`: tells this claim from one that took the key over. `begun` is set if an earlier request under the key
 * ended with an unknown result.
 */
export type Claim =
  | { kind: 'new'; token: string; begun?: Begun }
  | { kind: 'mismatch' }
  | { kind: 'in_flight' }
  | { kind: 'done'; answer: KeptAnswer; isSealed: boolean }

/** A claim without a response can be taken over after this time: its holder, which renews it (`renewClaim`), has died or stands still. */
const IN_FLIGHT_SECONDS = 60

/** The time of a claim tells it from others: the database writes it, to the microsecond. */
const tokenOf = (db: Queryable) => db.raw('created_at::text AS token')

/** The account, the key and the claim that a request holds. */
export type Held = { accountId: string; key: string; token: string }
const heldBy = (db: Queryable, { accountId, key, token }: Held) =>
  db('idempotency_keys').where({ account_id: accountId, key }).whereRaw('created_at = ?::timestamptz', [token])

/** Claims the key for a request with this fingerprint, or returns the state of the earlier request. A write in doubt is resumed. */
export async function claimKey(db: Queryable, accountId: string, key: string, fingerprint: string): Promise<Claim> {
  await db.raw(
    `DELETE FROM idempotency_keys WHERE account_id = ? AND key = ? AND (created_at < now() - interval '24 hours' OR (status IS NULL AND begun IS NULL AND created_at < now() - ? * interval '1 second'))`,
    [accountId, key, IN_FLIGHT_SECONDS],
  )
  const inserted = await db('idempotency_keys')
    .insert({ account_id: accountId, key, fingerprint })
    .onConflict(['account_id', 'key'])
    .ignore()
    .returning(tokenOf(db))
  if (inserted.length > 0) return { kind: 'new', token: inserted[0].token }
  const row = await db('idempotency_keys').where({ account_id: accountId, key }).first()
  if (!row) return { kind: 'in_flight' }
  if (row.fingerprint !== fingerprint) return { kind: 'mismatch' }
  if (row.status === null && row.begun) {
    // Its holder has marked it as in doubt, has died, or is still at work.
    const resumed = await db('idempotency_keys')
      .where({ account_id: accountId, key })
      .whereNull('status')
      .whereRaw(`(in_doubt OR created_at < now() - ? * interval '1 second')`, [IN_FLIGHT_SECONDS])
      .update({ in_doubt: false, created_at: db.raw('clock_timestamp()') })
      .returning(tokenOf(db))
    return resumed.length > 0 ? { kind: 'new', token: resumed[0].token, begun: row.begun } : { kind: 'in_flight' }
  }
  return row.status === null
    ? { kind: 'in_flight' }
    : { kind: 'done', answer: { status: row.status, headers: row.headers, body: row.body }, isSealed: row.is_sealed }
}

/** Renews the claim while its request is at work. Returns the claim that it has now: another one took it over where it is as before. */
export async function renewClaim(db: Queryable, held: Held): Promise<Held> {
  const renewed = await heldBy(db, held)
    .whereNull('status')
    .update({ created_at: db.raw('clock_timestamp()') })
    .returning(tokenOf(db))
  return renewed.length > 0 ? { ...held, token: renewed[0].token } : held
}

/** Stores the response of the request that holds the key; `isSealed`: its body is an encrypted one. False where it holds it no more. */
export async function keepAnswer(db: Queryable, held: Held, answer: KeptAnswer, isSealed: boolean): Promise<boolean> {
  const kept = await heldBy(db, held).update({
    status: answer.status,
    headers: JSON.stringify(answer.headers),
    body: JSON.stringify(answer.body ?? null),
    is_sealed: isSealed,
  })
  return kept > 0
}

/** Stores what a write begins with, before its first byte is sent. Throws an Error when the key was released before. */
export async function keepBegun(db: Queryable, held: Held, begun: Begun): Promise<void> {
  const kept = await heldBy(db, held)
    .whereNull('status')
    .update({ begun: JSON.stringify(begun) })
  if (kept === 0) throw new Error('the key was released before the write began')
}

/** Marks a write that may or may not have happened; the next request under the key finds out. */
export async function markInDoubt(db: Queryable, held: Held): Promise<void> {
  await heldBy(db, held).whereNull('status').update({ in_doubt: true })
}

/** Deletes the key, unless a response is stored under it, so that the request may be repeated. */
export async function releaseKey(db: Queryable, held: Held): Promise<void> {
  await heldBy(db, held).whereNull('status').delete()
}

/** Deletes keys that are older than 24 h. */
export async function deleteOldKeys(db: Queryable): Promise<void> {
  await db('idempotency_keys').whereRaw(`created_at < now() - interval '24 hours'`).delete()
}

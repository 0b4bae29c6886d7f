/** Advisory locks, and probes of the connection to Postgres. */
import type { Queryable, Transaction } from './database.ts'

/** Advisory locks of the service; each number is used for one purpose. */
export const ADVISORY_LOCKS = { reconciler: 7001, publisher: 7002, builtIns: 7003 } as const

/** Takes an advisory lock until the transaction ends, waiting for it. */
export async function waitForLock(trx: Transaction, lock: number): Promise<void> {
  await trx.raw('SELECT pg_advisory_xact_lock(?)', [lock])
}

/** True where the advisory lock was free; it is held until the transaction ends. */
export async function tryLock(trx: Transaction, lock: number): Promise<boolean> {
  const { rows } = await trx.raw('SELECT pg_try_advisory_xact_lock(?) AS mine', [lock])
  return rows[0]?.mine === true
}

/** Postgres ends the transaction when its owner stands still for longer than this. */
export async function limitIdleTime(trx: Transaction, ms: number): Promise<void> {
  await trx.raw(`SET LOCAL idle_in_transaction_session_timeout = ${Math.trunc(ms)}`)
}

/**
 * Does the work, and queries in the transaction now and then, so that its idle limit (`limitIdleTime`) does not end it. A suspended process
 * sends no queries: then the limit ends its transaction, and another process takes over.
 */
export async function keptAwake<T>(trx: Transaction, everyMs: number, work: () => Promise<T>): Promise<T> {
  // Where it fails, the transaction has ended, and what follows in it fails too.
  const timer = setInterval(() => void ping(trx).catch(() => {}), everyMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/** Throws where the database, or the transaction, is not there any more. */
export async function ping(db: Queryable): Promise<void> {
  await db.raw('SELECT 1')
}

/**
 * Checks the database several times a second, so that requests fail at once while it is away, and soon when it goes away during them: a
 * frozen server or a cut connection sends no error to the client that waits for it.
 */
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { unavailable } from '../service-error.ts'

const LOOK_MS = 400
/** A server that takes longer to answer counts as away. */
const ANSWER_MS = 800
const TICK_MS = 100

/**
 * What comes within `ANSWER_MS`. While this thread is busy, no answer can be read: however long it stood still, only one tick passes, and
 * what has come is read before the next.
 */
async function answerOf<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  let left = ANSWER_MS / TICK_MS
  const timer = setInterval(() => {
    // Sockets are read between timers and immediates.
    if (--left === 0) setImmediate(() => late.reject(new Error(`no answer within ${ANSWER_MS} ms`)))
  }, TICK_MS)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearInterval(timer)
  }
}

/** Ends waits for the database when it goes away. */
export type DatabaseWatch = {
  /** The result of `work`. Throws 503 when the database is away, or goes away before `work` is done; `work` itself continues. */
  during<T>(work: () => Promise<T>): Promise<T>
  /** When, by `performance.now()`, a connection was last found silent or cut; others that were open by then may be dead too. */
  lostAt(): number
  close(): Promise<void>
}

/** A watch that runs until it is closed. */
export function openDatabaseWatch(url: string): DatabaseWatch {
  const stop = new AbortController()
  let client: pg.Client | undefined
  let isAway = false
  let lostAt = 0
  /** Reject functions of the calls of `during` that are waiting. */
  const waiting = new Set<(error: Error) => void>()

  async function look(): Promise<void> {
    if (!client) {
      const socket = new Socket()
      const opening = new pg.Client({ connectionString: url, stream: () => socket })
      opening.on('error', () => {})
      try {
        await answerOf(opening.connect())
      } catch (error) {
        socket.destroy()
        throw error
      }
      client = opening
    }
    await answerOf(client.query('SELECT 1'))
  }

  async function forget(): Promise<void> {
    const before = client
    client = undefined
    // A connection that hangs may never end: wait for it only briefly.
    await Promise.race([before?.end().catch(() => {}), sleep(100)])
  }

  const looking = (async () => {
    while (!stop.signal.aborted) {
      try {
        // A single connection may fail although the database is up: a second one decides.
        await look().catch(async () => {
          lostAt = performance.now()
          await forget()
          await look()
        })
        isAway = false
      } catch (error) {
        if (stop.signal.aborted) break
        isAway = true
        lostAt = performance.now()
        for (const reject of waiting) reject(unavailable('the database', error))
        waiting.clear()
        await forget()
      }
      await sleep(LOOK_MS, undefined, { signal: stop.signal }).catch(() => {})
    }
    await forget()
  })()

  return {
    async during<T>(work: () => Promise<T>) {
      if (isAway) throw unavailable('the database')
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      waiting.add(reject)
      work()
        .then(resolve, reject)
        .finally(() => waiting.delete(reject))
      return promise
    },
    lostAt: () => lostAt,
    async close() {
      stop.abort()
      await looking
    },
  }
}

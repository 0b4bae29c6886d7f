/**
 * Looks at the database several times a second, so that requests are answered at once while it is away, and soon where it goes away under them: a
 * server that is frozen, or a line that is cut, says nothing to whoever waits for it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { unavailable } from '../errors/service-error.ts'

const LOOK_MS = 400
/** Slower than this is away. */
const ANSWER_MS = 800

export type DatabaseWatch = {
  /** The work's value. Throws 503 where the database is away already, or goes away before the work is done; the work itself goes on. */
  during<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function openDatabaseWatch(url: string): DatabaseWatch {
  const stop = new AbortController()
  let client: pg.Client | undefined
  let isAway = false
  /** Of those who wait for work that is under way. */
  const waiting = new Set<(error: Error) => void>()

  async function look(): Promise<void> {
    if (!client) {
      const opening = new pg.Client({ connectionString: url, connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS })
      opening.on('error', () => {})
      await opening.connect()
      client = opening
    }
    await client.query('SELECT 1')
  }

  async function forget(): Promise<void> {
    const before = client
    client = undefined
    // The end of a connection that hangs is not waited for.
    await Promise.race([before?.end().catch(() => {}), sleep(100)])
  }

  const looking = (async () => {
    while (!stop.signal.aborted) {
      try {
        // One connection may end for reasons of its own: a second one decides.
        await look().catch(async () => {
          await forget()
          await look()
        })
        isAway = false
      } catch (error) {
        if (stop.signal.aborted) break
        isAway = true
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
    async close() {
      stop.abort()
      await looking
    },
  }
}

/** Caches look-ups for two seconds: changes take effect within seconds, and bursts of requests query once. */
import { openLruCache } from './lru-cache.ts'

const CACHE_MS = 2000
const CACHE_ENTRIES_MAX = 10_000

export type MomentCache<T> = { get(id: string): Promise<T> }

/** Caches results for a moment; a failed look-up is not cached. `now`: in milliseconds, by a clock that only goes forward. */
export function createMomentCache<T>(find: (id: string) => Promise<T>, now = () => performance.now()): MomentCache<T> {
  const cache = new Map<string, { found: Promise<T>; until: number }>()
  return {
    get(id) {
      const known = cache.get(id)
      if (known && known.until > now()) return known.found
      if (cache.size >= CACHE_ENTRIES_MAX) cache.clear()
      const found = find(id)
      cache.set(id, { found, until: now() + CACHE_MS })
      found.catch(() => {
        // One that takes long may fail after the next look-up has begun.
        if (cache.get(id)?.found === found) cache.delete(id)
      })
      return found
    },
  }
}

/**
 * The same for what strangers may ask for: `admit` may refuse to look for an id that was never found here. One that was is looked for in
 * any case: others at an address must not end the work of those who have proven to know it.
 */
export function createAdmittingCache<T>(find: (id: string) => Promise<T | undefined>, now?: () => number) {
  const cache = createMomentCache(find, now)
  const known = openLruCache<string, true>(CACHE_ENTRIES_MAX)
  return async (id: string, admit: () => Promise<void>): Promise<T | undefined> => {
    if (!known.get(id)) await admit()
    const found = await cache.get(id)
    if (found) known.set(id, true)
    return found
  }
}

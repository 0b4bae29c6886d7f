/** Checks that the bucket can be listed. */
import type { CheckConnector } from '../check.ts'
import { ConfigRefused } from '../connector.ts'
import { openObjectStore, type Place } from './open-store.ts'

/** Lists the bucket once. */
export const checkBucket: CheckConnector<Place & { prefix: string }> = async (config, context, signal) => {
  try {
    const store = await openObjectStore(config, context)
    try {
      for await (const _page of store.list(config.prefix, signal)) break
      return []
    } finally {
      store.close()
    }
  } catch (error) {
    const message = context.mask(error instanceof Error ? error.message || error.name : String(error))
    return [{ path: '/bucket', message: error instanceof ConfigRefused ? message : `can't be listed: ${message}` }]
  }
}

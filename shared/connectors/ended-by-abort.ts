/** For sources whose requests are cut off when reading is to stop. */
import type { OpenSource } from './source.ts'

/**
 * The source, whose reads end without an error once their signal has aborted: a request that it has cut off is no failure. Any other error
 * is thrown as what `failureOf` makes of it.
 */
export function endingQuietly(source: OpenSource, failureOf: (error: unknown) => unknown): OpenSource {
  return {
    ...source,
    async *read(split, position, seen, signal) {
      try {
        yield* source.read(split, position, seen, signal)
      } catch (error) {
        if (!signal.aborted) throw failureOf(error)
      }
    },
  }
}

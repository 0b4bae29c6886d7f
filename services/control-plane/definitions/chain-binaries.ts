/** The binaries of a chain's steps: each distinct one once, however many steps run it. */
import { LIMITS } from '../../../shared/model/limits.ts'
import type { Detail } from '../service-error.ts'
import type { Queryable } from '../store/database.ts'
import { getBinary } from '../store/smartmodules.ts'

/** Binaries that are not stored, by SHA-256 hash. */
export type Binaries = ReadonlyMap<string, Uint8Array>

/** For a job of a workshop: how its binaries are loaded, and which of them a step runs. */
export function binariesOf(db: Queryable, sha256s: readonly string[], unstored: Binaries) {
  const distinct = [...new Set(sha256s)]
  return {
    binaries: distinct.map((sha256) => async (): Promise<Uint8Array> => unstored.get(sha256) ?? getBinary(db, sha256)),
    indexOf: (sha256: string): number => distinct.indexOf(sha256),
  }
}

/** The step with which the chain's binaries become too large, if there is one: a workshop gets all of them for every look at the chain. */
export function sizeFaults(steps: readonly { index: number; bytes: number; definition: { sha256: string } }[]): Detail[] {
  const seen = new Set<string>()
  let sum = 0
  for (const { index, bytes, definition } of steps) {
    if (!seen.has(definition.sha256)) sum += bytes
    seen.add(definition.sha256)
    if (sum > LIMITS.chain_binaries_bytes_max)
      return [
        {
          path: `/processors/${index}`,
          message: `brings the binaries of the chain's SmartModules to more than ${LIMITS.chain_binaries_bytes_max >> 20} MiB together`,
        },
      ]
  }
  return []
}

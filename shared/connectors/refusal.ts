/** What no repetition helps: a config that can't work, or an address that connectors may not reach. */
import { AddressRefused } from './address-guard.ts'
import { ConfigRefused } from './connector.ts'

/** Drivers wrap what a resolver answers, some of them twice. */
const DEPTH_MAX = 5

/** The refusal that the error is or was caused by; undefined where a repetition may help. */
export function refusalIn(error: unknown, depth = 0): AddressRefused | ConfigRefused | undefined {
  if (error instanceof AddressRefused || error instanceof ConfigRefused) return error
  if (!(error instanceof Error) || depth === DEPTH_MAX) return undefined
  const causes: unknown[] = error instanceof AggregateError ? [...error.errors, error.cause] : [error.cause]
  for (const cause of causes) {
    const found = refusalIn(cause, depth + 1)
    if (found) return found
  }
  return undefined
}

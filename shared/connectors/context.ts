/** What a connector gets besides its config, made alike for tasks and for checks: secrets by name, and texts that never show them. */
import { createMaskedValues } from '../secrets/envelope.ts'
import type { ConnectorContext } from './connector.ts'
import { hiddenIn } from './operator-secrets.ts'

/** A server gives out tokens without end: those that were replaced long ago are not masked any more. */
const LEARNED_MAX = 8

/** `secretOf`: the account's secret of that name, undefined where it has none. What was read, and the operator's own, is masked. */
export function createConnectorContext({
  secretOf,
  log,
  ...rest
}: Omit<ConnectorContext, 'secret' | 'learn' | 'mask'> & { secretOf(name: string): string | undefined }): ConnectorContext {
  const masked = createMaskedValues(hiddenIn(rest.defaults))
  /** Oldest first. */
  const learned = new Set<string>()
  const { mask } = masked
  return {
    ...rest,
    secret({ $secret }) {
      const value = secretOf($secret)
      if (value === undefined) throw new Error(`the account has no secret "${$secret}"`)
      masked.add(value)
      learned.delete(value)
      return value
    },
    learn(value) {
      const isAccountSecret = !masked.add(value) && !learned.has(value)
      if (isAccountSecret) return
      learned.delete(value)
      learned.add(value)
      const [oldest] = learned
      if (oldest === undefined || learned.size <= LEARNED_MAX) return
      learned.delete(oldest)
      masked.drop(oldest)
    },
    mask,
    log: (level, message) => log(level, mask(message)),
  }
}

/** What a connector gets besides its config, made alike for tasks and for checks: secrets by name, and texts that never show them. */
import { maskAll } from '../secrets/envelope.ts'
import type { ConnectorContext } from './connector.ts'
import { hiddenIn } from './operator-secrets.ts'

/** `secretOf`: the account's secret of that name, undefined where it has none. What was read, and the operator's own, is masked. */
export function createConnectorContext({
  secretOf,
  log,
  ...rest
}: Omit<ConnectorContext, 'secret' | 'learn' | 'mask'> & { secretOf(name: string): string | undefined }): ConnectorContext {
  const secrets = new Set(hiddenIn(rest.defaults))
  const mask = (text: string): string => maskAll(text, secrets)
  return {
    ...rest,
    secret({ $secret }) {
      const value = secretOf($secret)
      if (value === undefined) throw new Error(`the account has no secret "${$secret}"`)
      secrets.add(value)
      return value
    },
    learn: (value) => void secrets.add(value),
    mask,
    log: (level, message) => log(level, mask(message)),
  }
}

/** What a task's connectors get: the operator's defaults, the account's secrets one by one, and a log that tells none of them. */
import type { ConnectorContext, OperatorDefaults } from '../../../shared/connectors/connector.ts'
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { maskAll } from '../../../shared/secrets/envelope.ts'
import type { Definitions } from './definitions.ts'

export function connectorContextOf(
  definition: PipelineDefinition,
  definitions: Definitions,
  defaults: OperatorDefaults,
  now: () => number,
  log: (level: 'info' | 'warn', message: string) => void,
): ConnectorContext {
  const told = new Set<string>(
    [defaults.bucket?.secret_key, defaults.warehouse_url, passwordOf(defaults.warehouse_url)].filter((value) => value !== undefined),
  )
  const mask = (text: string): string => maskAll(text, told)
  return {
    defaults,
    runId: runIdOf(definition),
    fields: definition.sink?.fields,
    secret({ $secret }) {
      const value = definitions.secret(definition.account_id, $secret)
      told.add(value)
      // A connection string is taken apart by its driver, whose errors may hold the parts.
      const password = passwordOf(value)
      if (password !== undefined) told.add(password)
      return value
    },
    mask,
    log: (level, message) => log(level, mask(message)),
    now,
  }
}

function passwordOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? decodeURIComponent(new URL(url).password) || undefined : undefined
}

/** What a task's connectors get: the operator's defaults, the account's secrets by name, and a log that masks them. */
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
  const secretValues = new Set<string>([defaults.bucket?.secret_key, defaults.warehouse_url].filter((value) => value !== undefined))
  const mask = (text: string): string => maskAll(text, secretValues)
  return {
    defaults,
    runId: runIdOf(definition),
    origin: definition.sink?.origin ?? definition.pipeline_id,
    fields: definition.sink?.fields,
    secret({ $secret }) {
      const value = definitions.secret(definition.account_id, $secret)
      secretValues.add(value)
      return value
    },
    learn: (value) => void secretValues.add(value),
    mask,
    log: (level, message) => log(level, mask(message)),
    now,
  }
}

/** What a task's connectors get: the operator's defaults, the account's secrets by name, and a log that masks them. */
import type { ConnectorContext } from '../../../shared/connectors/connector.ts'
import { createConnectorContext } from '../../../shared/connectors/context.ts'
import { runIdOf, sinkFieldsOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import type { RunnerDefinitions } from './definitions.ts'

export function connectorContextOf(
  definition: PipelineDefinition,
  definitions: RunnerDefinitions,
  now: () => number,
  log: (level: 'info' | 'warn', message: string) => void,
): ConnectorContext {
  const { sink } = definition
  return createConnectorContext({
    defaults: definitions.defaultsOf(definition.account_id),
    runId: runIdOf(definition),
    origin: (sink.kind === 'connector' ? sink.origin : undefined) ?? definition.pipeline_id,
    fields: sinkFieldsOf(definition),
    secretOf: (name) => definitions.secret(definition.account_id, name),
    log,
    now,
  })
}

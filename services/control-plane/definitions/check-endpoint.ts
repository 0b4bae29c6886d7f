/** Connects to the system that a connector's config names, reading only metadata, with a time limit; errors become faults of the config. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import type { ConnectorContext } from '../../../shared/connectors/connector.ts'
import { createConnectorContext } from '../../../shared/connectors/context.ts'
import { secretsIn } from '../../../shared/connectors/secret.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Detail } from '../service-error.ts'
import { ownerOf } from '../../../shared/secrets/envelope.ts'
import { findSecretByName } from '../store/secrets.ts'
import type { Deps } from '../deps.ts'

const TIMEOUT_MS = 8000

type CheckDeps = Pick<Deps, 'db' | 'secretBox' | 'connectorDefaults' | 'log'>

/** The account's secrets that the config names, opened only for this check. */
async function secretsOf({ db, secretBox }: CheckDeps, accountId: string, config: unknown): Promise<Map<string, string>> {
  const values = new Map<string, string>()
  for (const { name } of secretsIn(config)) {
    const row = await findSecretByName(db, accountId, name)
    if (row) values.set(name, secretBox.open(ownerOf(accountId, name), row.envelope))
  }
  return values
}

async function contextOf(deps: CheckDeps, accountId: string, runId: string, config: unknown): Promise<ConnectorContext> {
  const secrets = await secretsOf(deps, accountId, config)
  return createConnectorContext({
    defaults: deps.connectorDefaults,
    runId,
    origin: runId,
    fields: undefined,
    secretOf: (name) => secrets.get(name),
    log: (level, message) => deps.log[level]({ run_id: runId }, message),
    now: () => Date.now(),
  })
}

/** Removes what a pipeline's source and sink created in the other systems. Throws if that fails, unless `isLast`: then it only warns. */
export async function disposeEndpoints(
  deps: CheckDeps,
  { account_id, pipeline_id, source, sink }: PipelineDefinition,
  isLast: boolean,
): Promise<void> {
  for (const [side, endpoint] of [
    ['source', source],
    ['sink', sink],
  ] as const) {
    const dispose = endpoint && (await findConnector(endpoint.connector_id)?.[side]?.dispose?.())
    if (!dispose) continue
    const context = await contextOf(deps, account_id, pipeline_id, endpoint.config)
    await dispose(endpoint.config, context).catch((error: unknown) => {
      const reason = `the ${side} could not be cleaned up: ${reasonOf(error)}`
      if (!isLast) throw new Error(context.mask(reason))
      context.log('warn', reason)
    })
  }
}

/** Returns faults with pointers below `at`; none for a connector without a check. The config was validated before. */
export async function checkEndpoint(
  deps: CheckDeps,
  accountId: string,
  side: 'source' | 'sink',
  endpoint: { connector_id: string; config: unknown },
  at: string,
): Promise<Detail[]> {
  const check = await findConnector(endpoint.connector_id)?.[side]?.check?.()
  if (!check) return []
  const context = await contextOf(deps, accountId, 'check', endpoint.config)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const late = new Promise<Detail[]>((resolve) =>
    signal.addEventListener('abort', () => resolve([{ path: '', message: `did not answer within ${TIMEOUT_MS / 1000} s` }]), {
      once: true,
    }),
  )
  const faults = await Promise.race([
    late,
    check(endpoint.config, context, signal).catch((error: unknown): Detail[] => [{ path: '', message: reasonOf(error) }]),
  ])
  return faults.map(({ path, message }) => ({ path: `${at}${path}`, message: context.mask(message) }))
}

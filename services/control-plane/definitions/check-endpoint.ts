/**
 * Has a workshop ask the system that a connector's config names (`workshop/endpoints.ts`): servers may lie, and drivers throw. Errors
 * become faults of the config.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { secretsIn } from '../../../shared/connectors/secret.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { accountDefaultsOf } from '../../../shared/connectors/account-defaults.ts'
import { ensureAccountSchema } from '../../../shared/connectors/table/account-schema.ts'
import { defaultsOfEndpoint } from '../../../shared/connectors/operator-secrets.ts'
import { unavailable, type Detail } from '../service-error.ts'
import { ownerOf } from '../../../shared/secrets/envelope.ts'
import { findSecretByName } from '../store/secrets.ts'
import { secretFaults } from './may-use.ts'
import type { JobEndpoint } from '../workshop/jobs.ts'
import type { Deps } from '../deps.ts'

const TIMEOUT_MS = 8000

const CHECK = { cpuMs: 4000, wallMs: TIMEOUT_MS + 1000, isWaiting: true }
const DISPOSE = { cpuMs: 10_000, wallMs: 10_000, isWaiting: true }

/** What a check of a connector takes. */
export type CheckDeps = Pick<Deps, 'db' | 'secretBox' | 'connectorDefaults' | 'workshop' | 'log'>

/** The account's secrets that the config names, opened only for this check. */
async function secretsOf({ db, secretBox }: CheckDeps, accountId: string, config: unknown): Promise<Map<string, string>> {
  const values = new Map<string, string>()
  for (const { name } of secretsIn(config)) {
    const row = await findSecretByName(db, accountId, name)
    if (row) values.set(name, secretBox.open(ownerOf(accountId, name), row.envelope))
  }
  return values
}

async function jobEndpoint(
  deps: CheckDeps,
  accountId: string,
  side: 'source' | 'sink',
  { connector_id, config }: { connector_id: string; config: Record<string, unknown> },
  runId: string,
): Promise<JobEndpoint> {
  const secrets = Object.fromEntries(await secretsOf(deps, accountId, config))
  // It may be given by its name.
  const id = findConnector(connector_id)?.id ?? connector_id
  const used = defaultsOfEndpoint(deps.connectorDefaults, { connector_id: id, config })
  const { warehouse_url, per_account } = used
  if (warehouse_url !== undefined && per_account.warehouse)
    await ensureAccountSchema(warehouse_url, accountId).catch((error: unknown) => {
      throw unavailable('the warehouse', error)
    })
  return { side, connector_id, config, runId, secrets, defaults: accountDefaultsOf(used, accountId) }
}

/** Why it could not be done; undefined when it is done. */
async function dispose(...[deps, accountId, side, endpoint, runId]: Parameters<typeof jobEndpoint>): Promise<string | undefined> {
  const job = { kind: 'dispose', endpoint: await jobEndpoint(deps, accountId, side, endpoint, runId) } as const
  const answer = await deps.workshop.run(accountId, job, DISPOSE)
  return 'refused' in answer ? answer.refused : undefined
}

/** Removes what a pipeline's source and sink created in the other systems. Throws if that fails, unless `isGivenUp`: then it only warns. */
export async function disposeEndpoints(
  deps: CheckDeps,
  { account_id, pipeline_id, source, sink }: PipelineDefinition,
  isGivenUp: boolean,
): Promise<void> {
  for (const [side, endpoint] of [
    ['source', source],
    ['sink', sink],
  ] as const) {
    if (endpoint.kind === 'topic' || !findConnector(endpoint.connector_id)?.[side]?.dispose) continue
    const refused = await dispose(deps, account_id, side, endpoint, pipeline_id).catch(reasonOf)
    if (refused === undefined) continue
    const reason = `the ${side} could not be cleaned up: ${refused}`
    if (!isGivenUp) throw new Error(reason)
    deps.log.warn({ run_id: pipeline_id }, reason)
  }
}

/** Returns faults with pointers below `at`; none for a connector without a check. The config was validated before. */
export async function checkEndpoint(
  deps: CheckDeps,
  accountId: string,
  side: 'source' | 'sink',
  endpoint: { connector_id: string; config: Record<string, unknown> },
  at: string,
): Promise<Detail[]> {
  if (!findConnector(endpoint.connector_id)?.[side]?.check) return []
  const beyond = await secretFaults(deps.db, accountId, endpoint)
  if (beyond.length > 0) return beyond.map(({ path, message }) => ({ path: `${at}${path}`, message }))
  const job = { kind: 'check', endpoint: await jobEndpoint(deps, accountId, side, endpoint, 'check'), withinMs: TIMEOUT_MS } as const
  const answer = await deps.workshop.run(accountId, job, CHECK)
  const faults =
    'checked' in answer
      ? answer.checked
      : [{ path: '', message: 'refused' in answer ? `the check failed: ${answer.refused}` : 'no answer' }]
  return faults.map(({ path, message }) => ({ path: `${at}${path}`, message }))
}

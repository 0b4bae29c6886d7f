/** Asks the system that a connector's config names, reading only metadata; and removes what a pipeline created there. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import type { ConnectorContext } from '../../../shared/connectors/connector.ts'
import { createConnectorContext } from '../../../shared/connectors/context.ts'
import { cutText, REASON_CHARACTERS_MAX } from '../../../shared/model/text.ts'
import type { JobEndpoint } from './jobs.ts'

function contextOf({ runId, defaults, secrets }: JobEndpoint): ConnectorContext {
  return createConnectorContext({
    defaults,
    runId,
    origin: runId,
    fields: undefined,
    secretOf: (name) => secrets[name],
    log: () => {},
    now: () => Date.now(),
  })
}

/** A server's text may have any length, and an answer goes to the control plane's main thread. Masked first: no secret remains in part. */
const shown = ({ mask }: ConnectorContext, text: string): string => cutText(mask(text), REASON_CHARACTERS_MAX)

/** The faults that the system finds with the config; errors are faults too. Secrets are masked. */
export async function tryEndpoint(endpoint: JobEndpoint, withinMs: number): Promise<{ path: string; message: string }[]> {
  const check = await findConnector(endpoint.connector_id)?.[endpoint.side]?.check?.()
  if (!check) return []
  const context = contextOf(endpoint)
  const faults = await check(endpoint.config, context, AbortSignal.timeout(withinMs)).catch((error: unknown) => [
    { path: '', message: reasonOf(error) },
  ])
  return faults.map(({ path, message }) => ({ path, message: shown(context, message) }))
}

/** Throws an Error with masked secrets when it could not be removed. */
export async function disposeEndpoint(endpoint: JobEndpoint): Promise<void> {
  const dispose = await findConnector(endpoint.connector_id)?.[endpoint.side]?.dispose?.()
  if (!dispose) return
  const context = contextOf(endpoint)
  await dispose(endpoint.config, context).catch((error: unknown) => {
    throw new Error(shown(context, reasonOf(error)))
  })
}

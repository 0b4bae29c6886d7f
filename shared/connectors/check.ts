/** The check of a connector's config that `POST /connectors/{id}/check` and every creation of a pipeline run. */
import type { ConnectorContext } from './connector.ts'

/** A fault of the config that only the external system can reveal. `path` is a JSON pointer into the config. */
export type CheckFault = { path: string; message: string }

/** Connects, reads metadata only, and closes. Returns the faults of the config; throws only for errors that the config did not cause. */
export type CheckConnector<Config> = (config: Config, context: ConnectorContext, signal: AbortSignal) => Promise<CheckFault[]>

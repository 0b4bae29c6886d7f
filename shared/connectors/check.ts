/** What `POST /connectors/{id}/check`, and every creation of a pipeline, asks of a connector. */
import type { ConnectorContext } from './connector.ts'

/** A fault of the config that only the other system could tell, with a JSON pointer into the config. */
export type CheckFault = { path: string; message: string }

/** Connects, looks at metadata alone, and closes. Answers faults; throws only what is nobody's fault. */
export type CheckConnector<Config> = (config: Config, context: ConnectorContext, signal: AbortSignal) => Promise<CheckFault[]>

/** Client for Data Pipeline Service. */
export { createClient, type Client, type WaitOptions } from './client.ts'
export { ApiError, ConnectionError, type Detail } from './core/errors.ts'
export type { ListenOptions, ServerEvent } from './core/events.ts'
export { ExactNumber, parseAsWritten, parseJson, writeJson } from './core/exact-json.ts'
export type { ClientOptions } from './core/transport.ts'
export type * from './generated/types.ts'
export { signIngest } from './sign-ingest.ts'
export { WriteError, type WriteOptions, type Written } from './write-records.ts'

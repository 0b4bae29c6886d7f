/** What every connector's `connector.ts` exports: its name, its texts, its config schema. No driver is imported before `open`. */
import type { z } from 'zod'

export type ConnectorKind = 'source' | 'sink' | 'both'

export type Connector = {
  /** Fixed for ever: clients keep it in their pipelines. */
  id: string
  name: string
  description: string
  version: string
  kind: ConnectorKind
  created_at: string
  /** Schema of `source.config` and `sink.config`; API validation, OpenAPI and docs read it. */
  config: z.ZodObject
}

/**
 * What every connector's `connector.ts` exports: its name, its texts, the schema of its config for each direction, and how to open it.
 * No driver is imported before `open`. A new connector is a folder beside this file and a line in `catalogue.ts`.
 */
import type { z } from 'zod'
import type { CheckConnector } from './check.ts'
import type { OpenSink } from './sink.ts'
import type { OpenSource } from './source.ts'

/** A config that can't work, whatever the other system does: the pipeline fails with the message. */
export class ConfigRefused extends Error {}

export type ConnectorKind = 'source' | 'sink' | 'both'

/** One direction of a connector, for configs of any sort: what it gets was checked by its schema. */
export type Direction<Open> = {
  /** Schema of the endpoint's config; API validation, OpenAPI and docs read it. Members may be `Secret`s. */
  config: z.ZodObject
  /** Types, by name, of the members that a source's records have, where its config tells. */
  fields?: (config: unknown) => Record<string, string> | undefined
  /** Left out by the connector `stream`, whose topics are read and written by the tasks themselves. */
  open?: () => Promise<(config: unknown, context: ConnectorContext) => Promise<Open>>
  /** Really connects, with metadata alone: nothing is read or written. */
  check?: () => Promise<CheckConnector<unknown>>
  /** Members of a sink's config that say where it keeps its position: elsewhere there is none, so that a pipeline can't change them. */
  holdsPosition?: readonly string[]
  /** Undoes what opening made on the other side, when the pipeline is deleted. */
  dispose?: () => Promise<(config: unknown, context: ConnectorContext) => Promise<void>>
}

/** The same, as a connector writes it down. */
export type TypedDirection<Open, Config extends z.ZodObject> = {
  config: Config
  fields?: (config: z.output<Config>) => Record<string, string> | undefined
  open: () => Promise<(config: z.output<Config>, context: ConnectorContext) => Promise<Open>>
  check?: () => Promise<CheckConnector<z.output<Config>>>
  holdsPosition?: readonly (string & keyof z.output<Config>)[]
  dispose?: () => Promise<(config: z.output<Config>, context: ConnectorContext) => Promise<void>>
}

export function direction<Open, Config extends z.ZodObject>(typed: TypedDirection<Open, Config>): Direction<Open> {
  const { config, fields, check, holdsPosition, dispose } = typed
  return {
    config,
    ...(holdsPosition ? { holdsPosition } : {}),
    ...(fields ? { fields: (given) => fields(config.parse(given)) } : {}),
    async open() {
      const open = await typed.open()
      return (given, context) => open(config.parse(given), context)
    },
    ...(check
      ? {
          async check() {
            const run = await check()
            return (given, context, signal) => run(config.parse(given), context, signal)
          },
        }
      : {}),
    ...(dispose
      ? {
          async dispose() {
            const run = await dispose()
            return (given, context) => run(config.parse(given), context)
          },
        }
      : {}),
  }
}

export type Connector = {
  /** Fixed for ever: clients keep it in their pipelines. */
  id: string
  name: string
  description: string
  version: string
  created_at: string
  source?: Direction<OpenSource>
  sink?: Direction<OpenSink>
}

export const kindOf = ({ source, sink }: Connector): ConnectorKind => (source && sink ? 'both' : source ? 'source' : 'sink')

/** Defaults that the operator sets for all accounts; an account's own config goes before them. */
export type OperatorDefaults = {
  bucket?: { endpoint: string; region: string; access_key: string; secret_key: string }
  /** Connection string of the database that the table connector writes to. */
  warehouse_url?: string
  /** Whether connectors may reach loopback, private and link-local addresses. */
  allow_private_addresses: boolean
  /** Folders below which `file:///…` buckets may lie; none by default. */
  bucket_folders: string[]
}

/** What a connector gets beside its config. */
export type ConnectorContext = {
  defaults: OperatorDefaults
  /** The pipeline's id, or the job's. */
  runId: string
  /** Of a sink's records: the source stream's name; the pipeline's id where they come from elsewhere. */
  origin: string
  /** Types, by name, of the members that a sink's records are known to have. */
  fields: Readonly<Record<string, string>> | undefined
  /** The value behind `{"$secret": name}`. Throws when the account has no such secret. */
  secret(reference: { $secret: string }): string
  /** A secret that the other system gave us, a token for one: it is masked like the others. */
  learn(secret: string): void
  /** The text without the secrets that were asked for. */
  mask(text: string): string
  log(level: 'info' | 'warn', message: string): void
  now(): number
}

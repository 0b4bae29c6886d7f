/**
 * What every connector's `connector.ts` exports: its name, its texts, the config schema of each direction, and how to open it. No driver is
 * imported before `open`. To add a connector, create a folder beside this file, and add it to `catalogue.ts`.
 */
import { AddressRules } from './address-guard.ts'
import { z } from 'zod'
import type { CheckConnector } from './check.ts'
import type { OpenSink } from './sink.ts'
import type { OpenSource } from './source.ts'

/** Thrown for a config that can't work, whatever the external system does. The pipeline fails with the message. */
export class ConfigRefused extends Error {}

/** The directions that a connector supports. */
export type ConnectorKind = 'source' | 'sink' | 'both'

/** One direction of a connector without its config's type. Every config was checked by the schema. */
export type Direction<Open> = {
  /** Schema of the endpoint's config, read by API validation, `GET /connectors/{id}` and the docs. Members may be `Secret`s. */
  config: z.ZodObject
  /** Types of the members of a source's records, by name, if the config determines them. */
  fields?: (config: unknown) => Record<string, string> | undefined
  /** Omitted by the connector `stream`: tasks read and write its topics themselves. */
  open?: () => Promise<(config: unknown, context: ConnectorContext) => Promise<Open>>
  /** Really connects, but reads only metadata: no record is read or written. */
  check?: () => Promise<CheckConnector<unknown>>
  /**
   * Config members that determine where a sink keeps its position. A pipeline can't change them, because the new location would hold no
   * position.
   */
  holdsPosition?: readonly string[]
  /** Of a source that reads its parts side by side: the config member that names the records' key. Records of one key stay in order. */
  keyMember?: string
  /** Of a sink that keeps the last of several records: the member that these share. Undefined where a config keeps all. */
  lastWinsBy?: (config: unknown) => string | undefined
  /** Removes what opening created in the external system. Called when the pipeline is deleted. */
  dispose?: () => Promise<(config: unknown, context: ConnectorContext) => Promise<void>>
}

/** A direction as a connector declares it, with its config's type. */
export type TypedDirection<Open, Config extends z.ZodObject> = {
  config: Config
  fields?: (config: z.output<Config>) => Record<string, string> | undefined
  open: () => Promise<(config: z.output<Config>, context: ConnectorContext) => Promise<Open>>
  check?: () => Promise<CheckConnector<z.output<Config>>>
  holdsPosition?: readonly (string & keyof z.output<Config>)[]
  keyMember?: string & keyof z.output<Config>
  lastWinsBy?: (config: z.output<Config>) => string | undefined
  dispose?: () => Promise<(config: z.output<Config>, context: ConnectorContext) => Promise<void>>
}

/**
 * Returns the direction without its config's type. Its functions parse the config, and throw ZodError when it does not match the schema.
 */
export function direction<Open, Config extends z.ZodObject>(typed: TypedDirection<Open, Config>): Direction<Open> {
  const { config, fields, check, holdsPosition, keyMember, lastWinsBy, dispose } = typed
  return {
    config,
    ...(holdsPosition ? { holdsPosition } : {}),
    ...(keyMember ? { keyMember } : {}),
    ...(lastWinsBy ? { lastWinsBy: (given) => lastWinsBy(config.parse(given)) } : {}),
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

/**
 * How a config of either direction identifies an external place: configs whose `members` are equal mean the same place. `called` is
 * displayed, so it must not reveal secrets; texts are '' where the config has none.
 */
export type ConnectorPlace = { members: readonly string[]; called(text: (member: string) => string): string }

/** A connector of the catalogue, with the directions it supports. */
export type Connector = {
  /** Never changes: clients keep it in their pipelines. */
  id: string
  name: string
  description: string
  version: string
  created_at: string
  /** The external place that a config names; left out where no two pipelines share one. */
  place?: ConnectorPlace
  source?: Direction<OpenSource>
  sink?: Direction<OpenSink>
}

/** Returns the directions that the connector supports. */
export const kindOf = ({ source, sink }: Connector): ConnectorKind => (source && sink ? 'both' : source ? 'source' : 'sink')

/** Defaults that the operator sets for all accounts. An account's own config takes precedence. */
export const OperatorDefaults = z.object({
  bucket: z
    .object({
      endpoint: z.string(),
      region: z.string(),
      access_key: z.string(),
      secret_key: z.string(),
      /** Where an account's objects are; it sees no others. */
      prefix: z.string().optional(),
    })
    .optional(),
  /** Connection string of the database that the table connector uses by default. */
  warehouse_url: z.string().optional(),
  /** Which addresses connectors may reach with an account's own config. */
  addresses: AddressRules,
  /** Whether each account has its own role and schema in the warehouse, and its own prefix in the bucket (`account-defaults.ts`). */
  per_account: z.object({ warehouse: z.boolean(), bucket: z.boolean() }),
  /** Folders that may contain `file:///…` buckets; none by default. */
  bucket_folders: z.array(z.string()),
})
/** Validated defaults. */
export type OperatorDefaults = z.infer<typeof OperatorDefaults>

/** What a connector gets besides its config. */
export type ConnectorContext = {
  defaults: OperatorDefaults
  /** Id of the pipeline or the job. */
  runId: string
  /** Origin of a sink's records: the name of the source stream, or the pipeline's id if the source is not a stream. */
  origin: string
  /** Known types of the members of a sink's records, by name. */
  fields: Readonly<Record<string, string>> | undefined
  /** What a source does whose position the other system has not kept, asked when it is lost; left out, it fails. */
  onLostPosition?(): 'fail' | 'earliest'
  /** Returns the value of the secret. Throws when the account has no such secret. */
  secret(reference: { $secret: string }): string
  /** Registers a secret that the external system issued, such as a token, so that it is masked like the others. */
  learn(secret: string): void
  /** Returns the text with every known secret masked. */
  mask(text: string): string
  log(level: 'info' | 'warn', message: string): void
  now(): number
}

/**
 * The environment as typed, frozen values, one schema per service. Only a service's entry files import this; other code is passed values.
 * Relations between values are checked here too, so that a wrong setting stops the service with a message that names it.
 */
import { isIP } from 'node:net'
import { availableParallelism, homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

const integer = (fallback: number, min: number, max: number) => z.coerce.number().int().min(min).max(max).default(fallback)
/** The parts of a comma-separated setting. */
const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
const list = z
  .string()
  .transform(partsOf)
  .refine((parts) => parts.length > 0, 'must not be empty')
const optionalList = z.string().default('').transform(partsOf)

const flagOf = (fallback: 'true' | 'false') =>
  z
    .enum(['true', 'false'])
    .default(fallback)
    .transform((text) => text === 'true')
const flag = flagOf('false')

/** Whether the text is an IP address with an optional number of bits. */
function isRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return rest.length === 0 && most > 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= most))
}

function rangesOf(text: string, context: z.RefinementCtx): string[] {
  const ranges = partsOf(text)
  for (const range of ranges)
    if (!isRange(range)) context.addIssue({ code: 'custom', message: `"${range}" is not a range such as 10.20.0.0/16` })
  return ranges
}

const Shared = {
  // kafkajs takes addresses apart at the first colon.
  KAFKA_BROKERS: list
    .refine((brokers) => !brokers.some((broker) => broker.startsWith('[')), 'an IPv6 address needs a name')
    .describe('addresses of the brokers, comma-separated; an IPv6 address needs a name'),
  KAFKA_TLS: flag.describe('connects to the brokers by TLS'),
  KAFKA_TLS_CA_FILE: z.string().optional().describe('PEM file of a private certificate authority'),
  KAFKA_TLS_CERT_FILE: z.string().optional().describe('PEM file of the client certificate'),
  KAFKA_TLS_KEY_FILE: z.string().optional().describe('PEM file of the client certificate’s key'),
  KAFKA_SASL_MECHANISM: z
    .enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])
    .optional()
    .describe('how to authenticate at the brokers; needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD'),
  KAFKA_SASL_USERNAME: z.string().optional().describe('user at the brokers'),
  KAFKA_SASL_PASSWORD: z.string().optional().describe('password at the brokers'),
  REPLICATION_FACTOR: integer(1, 1, 10).describe('of the topics that the service creates'),
  DPS_PREFIX: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,40}$/)
    .default('dps')
    .describe('prefix of the service’s topics and groups, so that installations can share a cluster'),
  DPS_CACHE: z
    .string()
    .default(join(homedir(), '.cache', 'data-pipeline-service'))
    .describe('folder of compiled SmartModules; `~/.cache/data-pipeline-service` by default'),
  SECRETS_KEYS: z
    .string()
    .default('')
    .transform((text, context) =>
      partsOf(text).map((pair) => {
        const at = pair.indexOf(':')
        const key = Buffer.from(pair.slice(at + 1), 'base64')
        if (at < 1 || key.length !== 32)
          context.addIssue({ code: 'custom', message: 'each entry of SECRETS_KEYS must be kid:key, the key 32 bytes in base64' })
        return { kid: pair.slice(0, at), key }
      }),
    )
    .describe(
      '`kid:key` pairs, comma-separated, each key 32 bytes in base64: the first one encrypts account secrets, all of them decrypt; empty disables secrets. [How to rotate](connectors.md#secrets)',
    ),
  BUCKET_ENDPOINT: z
    .string()
    .optional()
    .describe('S3-compatible store that connectors use by default; needs BUCKET_ACCESS_KEY and BUCKET_SECRET_KEY'),
  BUCKET_REGION: z.string().default('us-east-1').describe('of the default store'),
  BUCKET_ACCESS_KEY: z.string().optional().describe('for the default store'),
  BUCKET_SECRET_KEY: z.string().optional().describe('for the default store'),
  WAREHOUSE_URL: z.string().optional().describe('Postgres that table connectors use by default'),
  WAREHOUSE_PER_ACCOUNT: flagOf('true').describe(
    'each account has its own role and schema in the warehouse; `false` for an installation with one account',
  ),
  BUCKET_PER_ACCOUNT: flagOf('true').describe(
    'each account has its own prefix in the default store, and sees nothing else; `false` for an installation with one account',
  ),
  BUCKET_FOLDERS: optionalList.describe('folders that may contain `file:///` buckets, comma-separated'),
  ALLOW_PRIVATE_ADDRESSES: z
    .string()
    .default('false')
    .transform((text, context) => (text === 'true' ? ('any' as const) : rangesOf(text === 'false' ? '' : text, context)))
    .describe(
      'addresses that connectors may reach beside public ones: CIDR ranges, comma-separated; `true` allows all, the service’s own included, for a stack on one machine',
    ),
  OWN_HOSTS: optionalList.describe(
    'hosts that connectors never reach, comma-separated, beside those that these settings name: its Postgres, Redis, registry',
  ),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('least severe entries that are logged'),
  METRICS_PORT: integer(0, 0, 65_535).describe('port of `/metrics`, `/healthz` and `/readyz`; 0 takes any free one'),
  METRICS_HOST: z.string().default('127.0.0.1').describe('address that this port is bound to'),
}

const ProcessorSchema = z.object({
  ...Shared,
  PROCESSOR_ID: z
    .string()
    .optional()
    .describe('name of the processor in the fleet, which no other one may have; a new one at each start by default'),
  LANES: integer(Math.max(1, availableParallelism() - 1), 1, 64).describe(
    'threads that run chains, in each runner; one less than the cores by default',
  ),
  ROUND_BYTES_MAX: integer(32 << 20, 1 << 20, 256 << 20).describe('of a round’s input, and about of its output'),
  FETCH_BUDGET_BYTES: integer(256 << 20, 16 << 20, 2 ** 40).describe(
    'for everything that is fetched, made of it, or held for a sink, in each runner',
  ),
  CALL_TIMEOUT_MS: integer(5000, 100, 600_000).describe('longest call into a SmartModule, in CPU time of its thread'),
  SESSION_TIMEOUT_MS: integer(6000, 6000, 300_000).describe('after which the groups give a silent processor’s partitions to others'),
  ISOLATION: z
    .enum(['account', 'shared'])
    .default('account')
    .describe('`account`: the pipelines of each account run in a process of their own; `shared`: all run in one, for a single tenant'),
  RUNNER_ACCOUNTS: integer(1, 1, 1000).describe('accounts that share a process; more than one saves memory and widens the border'),
  RUNNER_MEMORY_MIB: z.coerce
    .number()
    .int()
    .min(256)
    .max(1 << 20)
    .optional()
    .describe(
      'resident memory at which an account’s process is ended; by default 2048, or as much as LANES and FETCH_BUDGET_BYTES need, if that is more',
    ),
  DPS_FAULTS: z.string().optional().describe('for tests only: path of a module that breaks something on purpose'),
  NODE_ENV: z.string().optional().describe('`test` permits DPS_FAULTS'),
})

const ControlPlaneSchema = z.object({
  ...Shared,
  DATABASE_URL: z.string().min(1).describe('the control plane’s Postgres'),
  REDIS_URL: z.string().min(1).describe('where requests are counted against rate limits'),
  SCHEMA_REGISTRY_URL: z.string().min(1).describe('of the schema registry'),
  HOST: z.string().default('127.0.0.1').describe('address that the API is bound to'),
  PORT: integer(8080, 0, 65_535).describe('port of the API'),
  JWT_KEYS: list
    .transform((keys, context) =>
      keys.map((key) => {
        const at = key.indexOf(':')
        if (at < 1 || key.length - at < 33)
          context.addIssue({ code: 'custom', message: 'each entry of JWT_KEYS must be kid:secret, the secret at least 32 characters' })
        return { kid: key.slice(0, at), secret: key.slice(at + 1) }
      }),
    )
    .describe('`kid:secret` pairs, comma-separated: the first one signs tokens, all of them verify, so that keys rotate with overlap'),
  SECRET_HASH_KEY: z.string().min(32).describe('key of the hash function with which API secrets are stored'),
  ADOPTABLE_TOPICS: optionalList.describe(
    'topics that accounts may adopt, comma-separated: a name, or a prefix and `*`; after `<account id>/` for that account only',
  ),
  WORKSHOPS: integer(Math.max(2, availableParallelism()), 1, 64).describe(
    'processes for uploads and previews, and as many and one for connector checks; as many as cores by default, at least 2',
  ),
  TOKEN_REQUESTS_PER_MINUTE: integer(120, 1, 1_000_000).describe(
    'at `/auth/token`, `/sessions` and `/sign-in`, by address, whether they succeed or not',
  ),
  CONNECTIONS_PER_ADDRESS: integer(1024, 1, 1_000_000).describe(
    'connections to the API of one address at once; those of TRUSTED_PROXIES are not counted',
  ),
  CONSOLE_PLAIN_HTTP: flagOf('false').describe('`true`: the console’s sessions work without TLS, for a service on one’s own machine'),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('where browsers reach the service; needed for OIDC_ISSUER'),
  OIDC_ISSUER: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('an OpenID Connect provider that members sign in with too; its redirect URI is `sign-in/callback` below PUBLIC_URL'),
  OIDC_CLIENT_ID: z.string().optional().describe('what the provider knows the service by'),
  OIDC_CLIENT_SECRET: z.string().optional().describe('the secret that goes with it; a public client has none'),
  OIDC_NAME: z.string().default('single sign-on').describe('how the sign-in page names the provider'),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform(rangesOf)
    .describe(
      'addresses of load balancers in front of the API, comma-separated ranges: their X-Forwarded-For tells where a request came from',
    ),
})

/** JSON Schemas of both services' settings, for the generated page. */
export const settingsSchemas = () => ({
  processor: z.toJSONSchema(ProcessorSchema, { io: 'input', unrepresentable: 'any' }),
  'control plane': z.toJSONSchema(ControlPlaneSchema, { io: 'input', unrepresentable: 'any' }),
})

/** The settings of a processor. */
export type ProcessorConfig = Readonly<z.infer<typeof ProcessorSchema>>
/** The settings of the control plane. */
export type ControlPlaneConfig = Readonly<z.infer<typeof ControlPlaneSchema>>

const unusable = (faults: string): Error => new Error(`the environment is not usable:\n  ${faults}`)

function load<T>(schema: z.ZodType<T>, env: NodeJS.ProcessEnv): Readonly<T> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = schema.safeParse(given)
  if (parsed.success) return Object.freeze(parsed.data)
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw unusable(faults.join('\n  '))
}

/** The processor's settings. Throws an Error that names every missing or wrong one. */
export function loadProcessorConfig(env: NodeJS.ProcessEnv = process.env): ProcessorConfig {
  const config = load(ProcessorSchema, env)
  if (config.DPS_FAULTS !== undefined && config.NODE_ENV !== 'test') throw unusable('DPS_FAULTS: is for tests alone (NODE_ENV=test)')
  runnerMemoryBytesOf(config)
  return config
}

/** What passes from a service's environment to the processes for what accounts bring: certificates, the time zone, caches. */
const CHILD_ENVIRONMENT = ['NODE_COMPILE_CACHE', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_DIR', 'SSL_CERT_FILE', 'TMPDIR', 'TZ']

/** The whole environment of a process for what accounts bring. The faults of tests pass under NODE_ENV=test only. */
export function childEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const names = env.NODE_ENV === 'test' ? [...CHILD_ENVIRONMENT, 'NODE_ENV', 'FAULT'] : CHILD_ENVIRONMENT
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
}

const RUNNER_MEMORY_MIB = 2048
/**
 * What a runner takes besides what its byte budget counts: its code, and for each lane its heap, the buffers that it reuses, and the one
 * batch that it inflates, of at most 128 MiB.
 */
const RUNNER_BASE_MIB = 512
const RUNNER_LANE_MIB = 256

/** The resident memory at which a runner is ended, in bytes. Throws an Error when the setting is below what the other settings need. */
export function runnerMemoryBytesOf({ RUNNER_MEMORY_MIB: asked, LANES, FETCH_BUDGET_BYTES }: ProcessorConfig): number {
  const needed = RUNNER_BASE_MIB + LANES * RUNNER_LANE_MIB + Math.ceil(FETCH_BUDGET_BYTES / 2 ** 20)
  if (asked !== undefined && asked < needed) throw unusable(`RUNNER_MEMORY_MIB: LANES and FETCH_BUDGET_BYTES need at least ${needed}`)
  return (asked ?? Math.max(RUNNER_MEMORY_MIB, needed)) * 2 ** 20
}

/** The hosts of the service's own parts: no account's connector may reach them, except through the operator's defaults. */
export function ownHostsOf(config: ProcessorConfig | ControlPlaneConfig): string[] {
  const urls = [
    config.BUCKET_ENDPOINT,
    config.WAREHOUSE_URL,
    ...('DATABASE_URL' in config ? [config.DATABASE_URL, config.REDIS_URL, config.SCHEMA_REGISTRY_URL] : []),
  ]
  return [
    ...config.OWN_HOSTS,
    ...config.KAFKA_BROKERS.map((broker) => broker.slice(0, broker.lastIndexOf(':'))),
    ...urls.flatMap((url) => (url !== undefined && URL.canParse(url) ? [new URL(url).hostname] : [])),
  ]
}

/**
 * The operator's connector defaults for all accounts, without address rules. Throws an Error when BUCKET_ENDPOINT lacks one of its keys.
 */
export function connectorDefaultsOf(config: ProcessorConfig | ControlPlaneConfig) {
  const { BUCKET_ENDPOINT: endpoint, BUCKET_REGION: region, BUCKET_ACCESS_KEY: access_key, BUCKET_SECRET_KEY: secret_key } = config
  if (endpoint !== undefined && (access_key === undefined || secret_key === undefined))
    throw unusable('BUCKET_ENDPOINT: needs BUCKET_ACCESS_KEY and BUCKET_SECRET_KEY')
  return {
    ...(endpoint !== undefined ? { bucket: { endpoint, region, access_key: access_key!, secret_key: secret_key! } } : {}),
    warehouse_url: config.WAREHOUSE_URL,
    bucket_folders: config.BUCKET_FOLDERS,
    per_account: { warehouse: config.WAREHOUSE_PER_ACCOUNT, bucket: config.BUCKET_PER_ACCOUNT },
  }
}

/** The TLS and SASL settings for `openKafkaSecurity`. Throws an Error when SASL lacks the user name or the password. */
export function kafkaSecurityOf(config: ProcessorConfig | ControlPlaneConfig) {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = config
  if (mechanism !== undefined && (username === undefined || password === undefined))
    throw unusable('KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD')
  return {
    tls: config.KAFKA_TLS,
    caFile: config.KAFKA_TLS_CA_FILE,
    certFile: config.KAFKA_TLS_CERT_FILE,
    keyFile: config.KAFKA_TLS_KEY_FILE,
    ...(mechanism !== undefined ? { sasl: { mechanism, username: username!, password: password! } } : {}),
  }
}

/** The control plane's settings. Throws an Error that names every missing or wrong one. */
export function loadControlPlaneConfig(env: NodeJS.ProcessEnv = process.env): ControlPlaneConfig {
  const config = load(ControlPlaneSchema, env)
  oidcOf(config)
  return config
}

/** The OpenID Connect provider; undefined where none is set. Throws an Error that names what it lacks. */
export function oidcOf(config: ControlPlaneConfig) {
  const { PUBLIC_URL, OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_NAME } = config
  if (OIDC_ISSUER === undefined) return undefined
  if (OIDC_CLIENT_ID === undefined) throw unusable('OIDC_CLIENT_ID: OIDC_ISSUER needs it')
  if (PUBLIC_URL === undefined) throw unusable('PUBLIC_URL: OIDC_ISSUER needs it')
  if (OIDC_ISSUER.startsWith('http:') && !config.CONSOLE_PLAIN_HTTP)
    throw unusable('OIDC_ISSUER: must be https, unless CONSOLE_PLAIN_HTTP is true')
  return { issuer: OIDC_ISSUER, clientId: OIDC_CLIENT_ID, clientSecret: OIDC_CLIENT_SECRET, name: OIDC_NAME, publicUrl: PUBLIC_URL }
}

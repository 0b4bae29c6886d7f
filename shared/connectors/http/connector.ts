/** The connector `http`: sends batches of records to a web service, and reads records from one. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'
import { HttpUrl } from '../http-url.ts'
import { Secret } from '../secret.ts'

const Url = HttpUrl.max(2000).meta({ title: 'URL' })
/** A field name (RFC 9110 §5.1); names that the connection or this connector sets are refused. */
const HeaderName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be the name of a header')
  .refine((name) => !RESERVED.has(name.toLowerCase()), 'is set by the service itself')
  // It would look like a reference to a secret.
  .refine((name) => name !== '$secret', 'must not be $secret')
const RESERVED = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'content-type',
  'idempotency-key',
  'authorization',
  'expect',
])
const Headers = z
  .record(
    HeaderName,
    z.union([
      z
        .string()
        .max(4000)
        .regex(/^[\t\x20-\x7e]*$/, 'must be visible ASCII'),
      Secret,
    ]),
  )
  .default({})
  .meta({ title: 'Headers' })
const Auth = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('bearer'), token: Secret }),
    z.strictObject({
      kind: z.literal('oauth2'),
      token_url: Url,
      client_id: z.string().min(1).max(1000),
      client_secret: Secret,
      scope: z.string().max(1000).optional(),
    }),
  ])
  .optional()
  .describe('bearer token, or OAuth 2 client credentials (RFC 6749 §4.4)')
  .meta({ title: 'Authentication' })
const timeout_ms = z.number().int().min(100).max(120_000).default(30_000).meta({ title: 'Timeout (ms)' })

/** Config of a web service as a sink, as requests give it. */
export const HttpSinkConfig = z.strictObject({
  url: Url,
  method: z.enum(['POST', 'PUT', 'PATCH']).default('POST').meta({ title: 'Method' }),
  format: z.enum(['ndjson', 'array']).default('ndjson').meta({ title: 'Format' }),
  batch_size: z.number().int().min(1).max(100_000).default(500).describe('records per request').meta({ title: 'Batch size' }),
  headers: Headers,
  auth: Auth,
  timeout_ms,
})
/** A validated config with its defaults filled in. */
export type HttpSinkConfig = z.output<typeof HttpSinkConfig>

/** Config of a web service as a source, as requests give it. */
export const HttpSourceConfig = z.strictObject({
  url: Url,
  headers: Headers,
  auth: Auth,
  records: z
    .string()
    .regex(/^(\/.*)?$/, 'must be a JSON pointer')
    .default('')
    .describe('JSON pointer (RFC 6901) to the array of records in the response; the whole response when omitted, or if it is ndjson')
    .meta({ title: 'Records', examples: ['/items'] }),
  paging: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('whole') }),
      z.strictObject({
        kind: z.literal('cursor'),
        parameter: z.string().min(1).max(200).default('cursor'),
        next: z
          .string()
          .regex(/^\/.+$/, 'must be a JSON pointer')
          .default('/next_cursor'),
      }),
      z.strictObject({
        kind: z.literal('page'),
        parameter: z.string().min(1).max(200).default('page'),
        first: z.number().int().min(0).default(1),
      }),
    ])
    .default({ kind: 'whole' })
    .describe('whole: the response, whenever it has changed (If-None-Match, If-Modified-Since); cursor and page: one page after another')
    .meta({ title: 'Paging' }),
  poll_interval_ms: z.number().int().min(100).max(86_400_000).default(10_000).meta({ title: 'Poll interval (ms)' }),
  timeout_ms,
})
/** A validated config with its defaults filled in. */
export type HttpSourceConfig = z.output<typeof HttpSourceConfig>

/** The connector’s entry in the catalogue. */
export const httpConnector: Connector = {
  id: 'conn_http',
  name: 'http',
  description:
    'Sends batches of records to a web service, at least once under a stable idempotency key; reads records from one by polling.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  // The host, and nothing else of the address: the rest may be secret.
  place: { members: ['url'], called: (text) => (URL.canParse(text('url')) ? new URL(text('url')).host : '') },
  source: direction({
    config: HttpSourceConfig,
    open: async () => (await import('./source.ts')).openHttpSource,
    check: async () => (await import('./check.ts')).checkHttp,
  }),
  sink: direction({
    config: HttpSinkConfig,
    open: async () => (await import('./sink.ts')).openHttpSink,
    check: async () => (await import('./check.ts')).checkHttp,
  }),
}

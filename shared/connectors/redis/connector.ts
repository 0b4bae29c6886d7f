/** The connector `redis`: a Redis stream, as a source or as a sink. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'
import { Secret } from '../secret.ts'

const Place = {
  url: z
    .string()
    .max(500)
    .regex(/^rediss?:\/\/(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?(\/\d{0,5})?$/, 'must be redis://host:port/database or rediss://…')
    .refine((url) => URL.canParse(url), 'is not a URL')
    .describe('redis:// or rediss:// (TLS), optionally with a port and a database number, without credentials')
    .meta({ title: 'URL', examples: ['rediss://redis.example.com:6379'] }),
  username: z.string().min(1).max(200).optional().describe('user of the Redis ACL; needs a password').meta({ title: 'Username' }),
  password: Secret.optional().meta({ title: 'Password' }),
  stream: z
    .string()
    .min(1)
    .max(1000)
    .describe('key of the stream')
    .meta({ title: 'Stream', examples: ['reviews'] }),
}

/** Without a password there is no login, so a username alone would be ignored silently. */
const hasLogin = ({ username, password }: { username?: string | undefined; password?: Secret | undefined }): boolean =>
  username === undefined || password !== undefined
const NO_LOGIN = { path: ['password'], message: 'is required with a username' }

/** Config of a Redis stream as a source, as requests give it. */
export const RedisSourceConfig = z
  .strictObject({
    ...Place,
    start: z.enum(['earliest', 'latest']).default('earliest').meta({ title: 'Start' }),
    field: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('field whose value is the record’s JSON; when omitted, the record is one object with all fields of the entry as strings')
      .meta({ title: 'Field', examples: ['value'] }),
  })
  .refine(hasLogin, NO_LOGIN)
/** A validated config with its defaults filled in. */
export type RedisSourceConfig = z.output<typeof RedisSourceConfig>

/** Config of Redis as a sink, as requests give it. */
export const RedisSinkConfig = z
  .strictObject({
    ...Place,
    field: z.string().min(1).max(1000).default('value').describe('field of an entry that holds the record').meta({ title: 'Field' }),
    max_length: z
      .number()
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('number of entries that the stream keeps, approximately (XADD MAXLEN ~); all of them when omitted')
      .meta({ title: 'Max length' }),
  })
  .refine(hasLogin, NO_LOGIN)
/** A validated config with its defaults filled in. */
export type RedisSinkConfig = z.output<typeof RedisSinkConfig>

/** The members that both directions have: where the stream is. */
export type RedisPlace = Pick<RedisSinkConfig, keyof typeof Place>

/** The connector’s entry in the catalogue. */
export const redisConnector: Connector = {
  id: 'conn_redis',
  name: 'redis',
  description: 'Reads the entries of a Redis stream, each once; appends records to one, each exactly once in effect.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  place: { members: ['url', 'stream'], called: (text) => text('stream') },
  source: direction({
    config: RedisSourceConfig,
    open: async () => (await import('./source.ts')).openRedisSource,
    check: async () => (await import('./check.ts')).checkRedis,
  }),
  sink: direction({
    config: RedisSinkConfig,
    holdsPosition: ['url'],
    open: async () => (await import('./sink.ts')).openRedisSink,
    check: async () => (await import('./check.ts')).checkRedis,
    dispose: async () => (await import('./sink.ts')).disposeRedisSink,
  }),
}

/** The schema registry of another cluster: its schemas as codecs, which are cached. */
import { reasonOf } from '../../errors/reason-of.ts'
import { z } from 'zod'
import { openCodec, textOfValue, type Codec } from '../../codecs/codecs.ts'
import { readSchema, SchemaRefused, type ReadRegistry } from '../../codecs/read-schemas.ts'
import type { CheckConnector } from '../check.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { openHttpClient, textOf } from '../http-client.ts'
import type { KafkaSinkConfig, RegistryConfig } from './connector.ts'

const TIMEOUT_MS = 8000
const ANSWER_BYTES_MAX = 4 << 20
/** A missing schema may be added later: it is looked up again after this time. */
const MISSING_MS = 15_000
const KEPT_MAX = 1000

/** Schemas of another registry, by their ids. */
export type OtherRegistry = {
  /**
   * Returns the codec of a schema; undefined if the id does not exist or can't be used. Throws an Error while the registry is unavailable,
   * ConfigRefused when it refuses the credentials.
   */
  codec(id: number, signal: AbortSignal): Promise<Pick<Codec, 'toJson' | 'fromJson'> | undefined>
  /** Throws like `codec`. */
  ping(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** The codec for JSON Schemas, whose values are already JSON. */
const PLAIN = { toJson: textOfValue, fromJson: (json: string) => Buffer.from(json) }

/** Opens the registry’s client; schemas are kept once they were read. */
export function openOtherRegistry({ url, username, password }: RegistryConfig, context: ConnectorContext): OtherRegistry {
  const client = openHttpClient({ headers: { accept: 'application/json' }, timeout_ms: TIMEOUT_MS }, context)
  const credentials = (): Record<string, string> =>
    username === undefined
      ? {}
      : {
          authorization: `Basic ${Buffer.from(`${username}:${password ? context.secret(password) : ''}`).toString('base64')}`,
        }
  const reader =
    (signal: AbortSignal): ReadRegistry =>
    async <T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
      const answer = await client.request(`${url.replace(/\/$/, '')}${path}`, { method: 'GET', headers: credentials() }, signal)
      if (answer.ok) return schema.parse(JSON.parse(await textOf(answer, ANSWER_BYTES_MAX)))
      await answer.body?.cancel()
      if (answer.status === 404) return undefined
      if (answer.status === 401 || answer.status === 403) throw new ConfigRefused(`the other registry refused access (${answer.status})`)
      throw new Error(`the other registry answered ${answer.status}`)
    }
  /** Returns undefined and logs a warning for a schema that can't be used. */
  async function open(id: number, signal: AbortSignal): Promise<Pick<Codec, 'toJson' | 'fromJson'> | undefined> {
    const unusable = (error: unknown): undefined => {
      context.log('warn', `schema ${id} of the other registry can't be used: ${reasonOf(error)}`)
      return undefined
    }
    const found = await readSchema(reader(signal), id).catch((error: unknown) => {
      if (error instanceof SchemaRefused) return unusable(error)
      throw error
    })
    if (!found) return undefined
    try {
      return found.format === 'json' ? PLAIN : openCodec(found.format, found.text)
    } catch (error) {
      return unusable(error)
    }
  }
  const codecs = new Map<number, Pick<Codec, 'toJson' | 'fromJson'>>()
  const missing = new Map<number, number>()
  return {
    async codec(id, signal) {
      const known = codecs.get(id)
      if (known) return known
      if (performance.now() - (missing.get(id) ?? -Infinity) < MISSING_MS) return undefined
      for (const kept of [codecs, missing]) if (kept.size >= KEPT_MAX) kept.clear()
      const codec = await open(id, signal)
      if (codec) codecs.set(id, codec)
      else missing.set(id, performance.now())
      return codec
    },
    async ping(signal) {
      await reader(signal)('/subjects', z.unknown())
    },
    close: () => client.close(),
  }
}

/** Checks that the registry answers, and that it has the sink's schema. */
export const checkRegistry: CheckConnector<Pick<KafkaSinkConfig, 'registry' | 'schema_id'>> = async (config, context, signal) => {
  if (!config.registry) return []
  const registry = openOtherRegistry(config.registry, context)
  try {
    if (config.schema_id === undefined) {
      await registry.ping(signal)
      return []
    }
    return (await registry.codec(config.schema_id, signal))
      ? []
      : [{ path: '/schema_id', message: 'is not in the other registry, or can’t be used' }]
  } catch (error) {
    return [{ path: '/registry/url', message: `can't be used: ${context.mask(reasonOf(error))}` }]
  } finally {
    await registry.close()
  }
}

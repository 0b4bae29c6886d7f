/**
 * Client of the schema registry: registers a stream's schema under its topic's subject, reads schemas, and removes subjects.
 * `shared/model/framing.ts` frames the values.
 */
import registryPackage from '@kafkajs/confluent-schema-registry'
import { z } from 'zod'
import type { SchemaText } from '../../../shared/model/schema-text.ts'
import type { StreamFormat } from '../../../shared/model/stream-formats.ts'
import { readSchema, SchemaRefused, SchemaVersion, versionPath } from '../../../shared/codecs/read-schemas.ts'
import { inTime } from '../../../shared/waiting/in-time.ts'

/** Client of the schema registry. */
export type Registry = {
  /**
   * Registers a schema made from a stream's fields and returns its id, the same one each time. Throws SchemaRefused when the registry
   * refuses it, or the library that asks it does.
   */
  register(subject: string, format: StreamFormat, text: string, compatibility: string): Promise<number>
  /** The same for a schema from the registry, in whatever form it has there: the library parses only some. */
  registerAsIs(subject: string, format: StreamFormat, schema: SchemaText, compatibility: string): Promise<number>
  /** Returns the schema with this id, every schema it refers to, and the subjects it is registered under; undefined if there is none. */
  find(id: number): Promise<FoundSchema | undefined>
  /** Returns the schema ids of a subject's newest 100 versions, oldest first; none if the subject does not exist. */
  idsOf(subject: string): Promise<number[]>
  /** Returns the schema id of a subject's newest version; undefined if the subject does not exist. */
  newestOf(subject: string): Promise<number | undefined>
  compatibilityOf(subject: string): Promise<string>
  /** What is wrong with a schema as the subject's next version; empty where it could be registered. */
  faultsOf(subject: string, format: StreamFormat, schema: SchemaText): Promise<string[]>
  /** Removes a subject that may already be gone. */
  remove(subject: string): Promise<void>
  /** Resolves when the registry answers. */
  ping(): Promise<void>
}

/** A schema from the registry, with the subjects it is registered under. */
export type FoundSchema = { format: StreamFormat; text: SchemaText; subjects: string[] }

const VERSIONS_MAX = 100
const SHOWN_CHARACTERS = 500
const Registered = z.object({ id: z.number().int() })

const TYPES = { json: 'JSON', avro: 'AVRO', protobuf: 'PROTOBUF' } as const
const TIMEOUT_MS = 8000
/** Time for each of a registration's two tries: the first may get an idle connection that the registry has just closed. */
const TRY_MS = TIMEOUT_MS / 2

const Compared = z.object({
  is_compatible: z.boolean(),
  messages: z
    .array(z.string())
    .nullish()
    .transform((found) => found ?? []),
})

const bodyOf = (format: StreamFormat, { text, references }: SchemaText) => {
  const named = references.map(({ name, subject, version }) => ({ name, subject, version }))
  return { schemaType: TYPES[format], schema: text, ...(named.length > 0 ? { references: named } : {}) }
}

const { SchemaRegistry, SchemaType } = registryPackage
const CLIENT_ID = 'registry'
/**
 * In place of the library's Ajv, which would compile each schema that it registers, on the main thread: a thousand fields take seconds.
 * Nothing here encodes or checks values by the library.
 */
const NO_COMPILER = { compile: () => () => true, addSchema: () => undefined }

type Address = { url: string; auth?: { username: string; password: string } }

/** The registry's address without its user and password, which must not be in messages, and which `fetch` does not take. */
function addressOf(given: string): Address {
  // Without the address, in which there may be a password.
  if (!URL.canParse(given)) throw new Error('SCHEMA_REGISTRY_URL is no address')
  const { username, password, origin, pathname } = new URL(given)
  if (username === '' && password === '') return { url: given }
  const auth = { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  return { url: `${origin}${pathname}`.replace(/\/$/, ''), auth }
}

const openClient = ({ url, auth }: Address) =>
  new SchemaRegistry(
    {
      clientId: CLIENT_ID,
      host: url,
      ...(auth ? { auth } : {}),
      retry: { retries: 1, maxRetryTimeInSecs: 2, initialRetryTimeInSecs: 0.2 },
    },
    { [SchemaType.JSON]: { ajvInstance: NO_COMPILER as never } },
  )

const Refusal = z.object({ message: z.string() })
/** A subject's compatibility, or the one of all. */
const Level = z.object({ compatibilityLevel: z.string() })
/** Apicurio answers so, with 409, where the library sets a new subject's compatibility a second time: the first answer came too late. */
const LEVEL_IS_SET = "A rule named 'COMPATIBILITY' already exists"

/** What a refusal says; the whole of it where it is not of the usual form. */
function reasonIn(text: string): string {
  try {
    return Refusal.parse(JSON.parse(text)).message
  } catch {
    return text
  }
}

const isOtherLevel = ({ cause }: RegistryAway): boolean =>
  cause instanceof Error && cause.name === 'ConfluentSchemaRegistryCompatibilityError'

type Client = ReturnType<typeof openClient>

async function registerBy(
  client: Client,
  subject: string,
  schema: { type: string; schema: string },
  compatibility: string,
): Promise<number> {
  const registered = client.register(schema as never, { subject, compatibility: compatibility as never }).catch((error: unknown) => {
    const { status, name, message = '' } = error as { status?: number; name?: string; message?: string }
    // The library parses the schema itself before it asks the registry.
    const hasRefused = (status === 409 || status === 422) && !message.includes(LEVEL_IS_SET)
    const isRefused = hasRefused || name === 'ConfluentSchemaRegistryArgumentError'
    if (!isRefused) throw new RegistryAway(`it does not register: ${message}`, { cause: error })
    throw new SchemaRefused(message.replace(`${CLIENT_ID} - `, '').slice(0, SHOWN_CHARACTERS), { cause: error })
  })
  return (await inTime(registered, TRY_MS, () => new RegistryAway('the schema registry did not answer in time'))).id
}

/** Returns the registry's subject for the values of a topic. */
export const subjectOf = (topic: string): string => `${topic}-value`

/** Returns a client of the registry at `url`, without connecting to it. */
export function openRegistry(given: string): Registry {
  const address = addressOf(given)
  const { url, auth } = address
  const credentials = auth && { authorization: `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}` }
  const ask = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { ...credentials, ...(body === undefined ? {} : { 'content-type': 'application/vnd.schemaregistry.v1+json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  /** Once more where the connection failed, which may have been an idle one that the registry just closed: all requests can be repeated. */
  const request = (method: string, path: string, body?: unknown): Promise<Response> =>
    ask(method, path, body).catch((error: unknown) => {
      if (!(error instanceof TypeError)) throw error
      return ask(method, path, body)
    })
  /** Undefined when the registry answers 404. */
  async function read<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
    const answer = await request('GET', path)
    if (answer.ok) return schema.parse(await answer.json())
    await answer.arrayBuffer()
    if (answer.status === 404) return undefined
    throw new RegistryAway(`GET ${path} answered ${answer.status}`)
  }

  /** Throws SchemaRefused when the registry refuses the body (409 or 422). */
  async function send(method: string, path: string, body: unknown): Promise<unknown> {
    const answer = await request(method, path, body)
    const text = await answer.text()
    if (answer.ok) return JSON.parse(text)
    if (answer.status === 409 || answer.status === 422) throw new SchemaRefused(reasonIn(text).slice(0, SHOWN_CHARACTERS))
    throw new RegistryAway(`${method} ${path} answered ${answer.status}`)
  }

  return {
    register(subject, format, text, compatibility) {
      const by = (level: string) => registerBy(openClient(address), subject, { type: TYPES[format], schema: text }, level)
      return by(compatibility).catch(async (error: unknown) => {
        if (!(error instanceof RegistryAway)) throw error
        // The library refuses another level than the subject's own, which an operator may have changed.
        const config = isOtherLevel(error) ? await read(`/config/${encodeURIComponent(subject)}`, Level) : undefined
        return by(config?.compatibilityLevel.toUpperCase() ?? compatibility)
      })
    },
    async registerAsIs(subject, format, { text, references }, compatibility) {
      const config = `/config/${encodeURIComponent(subject)}`
      if (!(await read(config, z.unknown()))) await send('PUT', config, { compatibility })
      const body = bodyOf(format, { text, references })
      return Registered.parse(await send('POST', `/subjects/${encodeURIComponent(subject)}/versions`, body)).id
    },
    async faultsOf(subject, format, schema) {
      try {
        const path = `/compatibility/subjects/${encodeURIComponent(subject)}/versions?verbose=true`
        const { is_compatible, messages } = Compared.parse(await send('POST', path, bodyOf(format, schema)))
        return is_compatible ? [] : messages.length > 0 ? messages : ['is not compatible with the versions before it']
      } catch (error) {
        if (!(error instanceof SchemaRefused)) throw error
        return [error.message]
      }
    },
    async find(id) {
      const found = await readSchema(read, id)
      if (!found) return undefined
      const places = (await read(`/schemas/ids/${id}/versions`, z.array(z.object({ subject: z.string() })))) ?? []
      return { ...found, subjects: places.map(({ subject }) => subject) }
    },
    async idsOf(subject) {
      const versions = (await read(`/subjects/${encodeURIComponent(subject)}/versions`, z.array(z.number().int()))) ?? []
      const found = await Promise.all(versions.slice(-VERSIONS_MAX).map((version) => read(versionPath(subject, version), SchemaVersion)))
      return found.flatMap((version) => (version?.id === undefined ? [] : [version.id]))
    },
    async newestOf(subject) {
      return (await read(versionPath(subject, 'latest'), SchemaVersion))?.id
    },
    async compatibilityOf(subject) {
      const path = `/config/${encodeURIComponent(subject)}?defaultToGlobal=true`
      return (await read(path, Level))?.compatibilityLevel ?? 'NONE'
    },
    async remove(subject) {
      const path = `/subjects/${encodeURIComponent(subject)}`
      const answer = await request('DELETE', path)
      if (!answer.ok && answer.status !== 404) throw new RegistryAway(`DELETE ${path} answered ${answer.status}`)
      await answer.arrayBuffer()
    },
    async ping() {
      const answer = await request('GET', '/subjects')
      if (!answer.ok) throw new RegistryAway(`GET /subjects answered ${answer.status}`)
      await answer.arrayBuffer()
    },
  }
}

/** Thrown when the registry does not answer a registration in time, or answers with an unexpected status. */
export class RegistryAway extends Error {}

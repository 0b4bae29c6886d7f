/** The schema registry: register a stream's schema under its topic's subject, and remove it again. Values' framing is `framing.ts`. */
import registryPackage from '@kafkajs/confluent-schema-registry'
import Ajv from 'ajv'
import addFormats from 'ajv-formats'

import { z } from 'zod'
import type { SchemaText } from '../model/schema-text.ts'
import type { StreamFormat } from '../model/stream-formats.ts'
import { readSchema, SchemaRefused, SchemaVersion, versionPath } from './read-schemas.ts'

const { SchemaRegistry, SchemaType } = registryPackage

export type Registry = {
  /** Registers (again) and answers the id. Repeating it answers the same id. */
  register(subject: string, format: StreamFormat, schema: string, compatibility: string): Promise<number>
  /**
   * The same for a schema that came out of the registry, as it is: kafkajs's client would compile it by its own means, which don't know every
   * draft, nor what it refers to.
   */
  registerAsIs(subject: string, format: StreamFormat, schema: SchemaText, compatibility: string): Promise<number>
  /** The schema of an id with everything that it refers to, and the subjects it stands under; undefined when there is none. */
  find(id: number): Promise<FoundSchema | undefined>
  /** Ids of a subject's versions, oldest first, the newest hundred; none for a subject that is not there. */
  idsOf(subject: string): Promise<number[]>
  /** Id of a subject's newest version. */
  newestOf(subject: string): Promise<number | undefined>
  compatibilityOf(subject: string): Promise<string>
  /** Removes a subject that may already be gone. */
  remove(subject: string): Promise<void>
  /** Resolves when the registry answers. */
  ping(): Promise<void>
}

export type FoundSchema = { format: StreamFormat; text: SchemaText; subjects: string[] }

const VERSIONS_MAX = 100
const SHOWN_CHARACTERS = 500
const Registered = z.object({ id: z.number().int() })

const TYPES = { json: SchemaType.JSON, avro: SchemaType.AVRO, protobuf: SchemaType.PROTOBUF } as const
const TIMEOUT_MS = 8000

export const subjectOf = (topic: string): string => `${topic}-value`

export function openRegistry(url: string): Registry {
  // One Ajv per process would collide on schemas of the same name; the library compiles what it registers with this one.
  const newClient = () => {
    const ajvInstance = addFormats.default(new Ajv.Ajv({ strict: false, allErrors: true }))
    // The library's own Ajv knows no formats and throws on `date-time`.
    return new SchemaRegistry(
      { host: url, retry: { retries: 1, maxRetryTimeInSecs: 2, initialRetryTimeInSecs: 0.2 } },
      { [SchemaType.JSON]: { ajvInstance: ajvInstance as never } },
    )
  }
  const request = async (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' }, body: JSON.stringify(body) }),
    })
  /** Undefined for what is not there. */
  async function read<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
    const answer = await request('GET', path)
    if (answer.ok) return schema.parse(await answer.json())
    await answer.arrayBuffer()
    if (answer.status === 404) return undefined
    throw new RegistryAway(`GET ${path} answered ${answer.status}`)
  }

  /** Throws SchemaRefused for what the registry says no to. */
  async function send(method: string, path: string, body: unknown): Promise<unknown> {
    const answer = await request(method, path, body)
    const text = await answer.text()
    if (answer.ok) return JSON.parse(text)
    if (answer.status === 409 || answer.status === 422) throw new SchemaRefused(text.slice(0, SHOWN_CHARACTERS))
    throw new RegistryAway(`${method} ${path} answered ${answer.status}`)
  }

  return {
    async register(subject, format, schema, compatibility) {
      const registered = newClient().register({ type: TYPES[format], schema }, { subject, compatibility: compatibility as never })
      const timeout = new Promise<never>((_resolve, reject) =>
        setTimeout(() => reject(new RegistryAway('the schema registry did not answer in time')), TIMEOUT_MS).unref(),
      )
      const refused = (error: unknown): never => {
        const { status, message } = error as { status?: number; message?: string }
        if (status === 409 || status === 422) throw new SchemaRefused(message ?? 'it is not compatible', { cause: error })
        throw error
      }
      return (await Promise.race([registered.catch(refused), timeout])).id
    },
    async registerAsIs(subject, format, { text, references }, compatibility) {
      const config = `/config/${encodeURIComponent(subject)}`
      if (!(await read(config, z.unknown()))) await send('PUT', config, { compatibility })
      const named = references.map(({ name, subject: of, version }) => ({ name, subject: of, version }))
      const body = { schemaType: TYPES[format], schema: text, ...(named.length > 0 ? { references: named } : {}) }
      return Registered.parse(await send('POST', `/subjects/${encodeURIComponent(subject)}/versions`, body)).id
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
      return (await read(path, z.object({ compatibilityLevel: z.string() })))?.compatibilityLevel ?? 'NONE'
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

export class RegistryAway extends Error {}

/** The schema registry: register a stream's schema under its topic's subject, and remove it again. Values' framing is `framing.ts`. */
import registryPackage from '@kafkajs/confluent-schema-registry'
import Ajv from 'ajv'
import addFormats from 'ajv-formats'

import type { StreamFormat } from '../model/stream-formats.ts'

const { SchemaRegistry, SchemaType } = registryPackage

export type Registry = {
  /** Registers (again) and answers the id. Repeating it answers the same id. */
  register(subject: string, format: StreamFormat, schema: string, compatibility: string): Promise<number>
  /** Removes a subject that may already be gone. */
  remove(subject: string): Promise<void>
  /** Resolves when the registry answers. */
  ping(): Promise<void>
}

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
  const request = async (method: string, path: string): Promise<Response> =>
    fetch(`${url}${path}`, { method, signal: AbortSignal.timeout(TIMEOUT_MS) })

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

/** The registry does not take the schema beside those it has. */
export class SchemaRefused extends Error {}

export class RegistryAway extends Error {}

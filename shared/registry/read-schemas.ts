/** Schemas out of a registry, with what they refer to, over whatever reaches it (Confluent Schema Registry API). */
import { z } from 'zod'
import type { SchemaText } from '../model/schema-text.ts'
import type { StreamFormat } from '../model/stream-formats.ts'

/** The JSON behind a path of the registry; undefined for what is not there. */
export type ReadRegistry = <T>(path: string, schema: z.ZodType<T>) => Promise<T | undefined>

/** The registry does not take the schema beside those it has, or the schema can't be used. */
export class SchemaRefused extends Error {}

const Reference = z.object({ name: z.string(), subject: z.string(), version: z.number().int() })
/** An absent schemaType is Avro. */
export const SchemaVersion = z.object({
  id: z.number().int().optional(),
  schema: z.string(),
  schemaType: z.enum(['JSON', 'AVRO', 'PROTOBUF']).default('AVRO'),
  references: z.array(Reference).nullish(),
})
type SchemaVersion = z.infer<typeof SchemaVersion>

const FORMATS = { JSON: 'json', AVRO: 'avro', PROTOBUF: 'protobuf' } as const
const REFERENCES_MAX = 100
/** Parsing takes time by their length. */
const SCHEMA_BYTES_MAX = 256 << 10

export const versionPath = (subject: string, version: number | 'latest'): string =>
  `/subjects/${encodeURIComponent(subject)}/versions/${version}`

/** Undefined for an id that is not there. Throws SchemaRefused for one that refers to too much, or to what is not there. */
export async function readSchema(read: ReadRegistry, id: number): Promise<{ format: StreamFormat; text: SchemaText } | undefined> {
  const found = await read(`/schemas/ids/${id}`, SchemaVersion)
  if (!found) return undefined
  const seen = { versions: new Set<string>(), bytes: found.schema.length }
  const references: SchemaText['references'] = []
  await resolve(read, found, references, seen)
  return { format: FORMATS[found.schemaType], text: { text: found.schema, references } }
}

/** Deepest first, each once, also where they go in a circle. */
async function resolve(
  read: ReadRegistry,
  version: SchemaVersion,
  into: SchemaText['references'],
  seen: { versions: Set<string>; bytes: number },
): Promise<void> {
  if (seen.bytes > SCHEMA_BYTES_MAX) throw new SchemaRefused(`it has more than ${SCHEMA_BYTES_MAX} bytes, with what it refers to`)
  for (const reference of version.references ?? []) {
    const key = `${reference.version}/${reference.subject}`
    if (seen.versions.has(key)) continue
    seen.versions.add(key)
    if (seen.versions.size > REFERENCES_MAX) throw new SchemaRefused(`it refers to more than ${REFERENCES_MAX} others`)
    const found = await read(versionPath(reference.subject, reference.version), SchemaVersion)
    if (!found) throw new SchemaRefused(`it refers to version ${reference.version} of ${reference.subject}, which is not there`)
    seen.bytes += found.schema.length
    await resolve(read, found, into, seen)
    into.push({ ...reference, text: found.schema })
  }
}

/** Reads schemas and the schemas they refer to from a registry, through any client (Confluent Schema Registry API). */
import { z } from 'zod'
import type { SchemaText } from '../model/schema-text.ts'
import type { StreamFormat } from '../model/stream-formats.ts'

/** Reads the JSON at a path of the registry; undefined if there is nothing at it. */
export type ReadRegistry = <T>(path: string, schema: z.ZodType<T>) => Promise<T | undefined>

/** Thrown when the registry refuses a schema next to those it has, or when a schema can't be used. */
export class SchemaRefused extends Error {}

const Reference = z.object({ name: z.string(), subject: z.string(), version: z.number().int() })
/** One version of a subject in the registry's answer. An absent `schemaType` means Avro. */
export const SchemaVersion = z.object({
  id: z.number().int().optional(),
  schema: z.string(),
  schemaType: z.enum(['JSON', 'AVRO', 'PROTOBUF']).default('AVRO'),
  references: z.array(Reference).nullish(),
})
type SchemaVersion = z.infer<typeof SchemaVersion>

const FORMATS = { JSON: 'json', AVRO: 'avro', PROTOBUF: 'protobuf' } as const
const REFERENCES_MAX = 100
/** Parsing time grows with the length. */
const SCHEMA_BYTES_MAX = 256 << 10

/** Returns the registry's path of a version of a subject. */
export const versionPath = (subject: string, version: number | 'latest'): string =>
  `/subjects/${encodeURIComponent(subject)}/versions/${version}`

/**
 * Returns the schema with this id and every schema it refers to, or undefined if there is none. Throws SchemaRefused when it refers to too
 * much, or to a schema that does not exist.
 */
export async function readSchema(read: ReadRegistry, id: number): Promise<{ format: StreamFormat; text: SchemaText } | undefined> {
  const found = await read(`/schemas/ids/${id}`, SchemaVersion)
  if (!found) return undefined
  const seen = { versions: new Set<string>(), bytes: found.schema.length }
  const references: SchemaText['references'] = []
  await resolve(read, found, references, seen)
  return { format: FORMATS[found.schemaType], text: { text: found.schema, references } }
}

/** Collects referenced schemas depth first, each once, even if references are circular. */
async function resolve(
  read: ReadRegistry,
  version: SchemaVersion,
  into: SchemaText['references'],
  seen: { versions: Set<string>; bytes: number },
): Promise<void> {
  if (seen.bytes > SCHEMA_BYTES_MAX) throw new SchemaRefused(`it has more than ${SCHEMA_BYTES_MAX} bytes, including what it refers to`)
  for (const reference of version.references ?? []) {
    const key = `${reference.version}/${reference.subject}`
    if (seen.versions.has(key)) continue
    seen.versions.add(key)
    if (seen.versions.size > REFERENCES_MAX) throw new SchemaRefused(`it refers to more than ${REFERENCES_MAX} other schemas`)
    const found = await read(versionPath(reference.subject, reference.version), SchemaVersion)
    if (!found) throw new SchemaRefused(`it refers to version ${reference.version} of ${reference.subject}, which does not exist`)
    seen.bytes += found.schema.length
    await resolve(read, found, into, seen)
    into.push({ ...reference, text: found.schema })
  }
}

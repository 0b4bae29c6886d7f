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

export const versionPath = (subject: string, version: number | 'latest'): string =>
  `/subjects/${encodeURIComponent(subject)}/versions/${version}`

/** Undefined for an id that is not there. Throws SchemaRefused for one that refers to too much, or to what is not there. */
export async function readSchema(read: ReadRegistry, id: number): Promise<{ format: StreamFormat; text: SchemaText } | undefined> {
  const found = await read(`/schemas/ids/${id}`, SchemaVersion)
  return found && { format: FORMATS[found.schemaType], text: { text: found.schema, references: await resolve(read, found, []) } }
}

/** Deepest first, each once. */
async function resolve(read: ReadRegistry, version: SchemaVersion, into: SchemaText['references']): Promise<SchemaText['references']> {
  for (const reference of version.references ?? []) {
    if (into.some(({ subject, version: known }) => subject === reference.subject && known === reference.version)) continue
    if (into.length >= REFERENCES_MAX) throw new SchemaRefused(`it refers to more than ${REFERENCES_MAX} others`)
    const found = await read(versionPath(reference.subject, reference.version), SchemaVersion)
    if (!found) throw new SchemaRefused(`it refers to version ${reference.version} of ${reference.subject}, which is not there`)
    await resolve(read, found, into)
    into.push({ ...reference, text: found.schema })
  }
  return into
}

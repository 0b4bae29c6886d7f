/** A schema as the registry stores it: its text and the schemas that it references. Pure. */
import { z } from 'zod'
import { formatTextOf, type StreamFormat } from './stream-formats.ts'
import { jsonSchemaOf } from './stream-schema.ts'

/**
 * A schema's text and its references, each of which comes before those that need it. `message`: of a Protobuf schema, the message that the
 * stream's own records are, by its name without the package; the first one when absent.
 */
export const SchemaText = z.object({
  text: z.string(),
  message: z.string().optional(),
  references: z.array(z.object({ name: z.string(), subject: z.string(), version: z.number().int(), text: z.string() })),
})
/** A validated schema text. */
export type SchemaText = z.infer<typeof SchemaText>

/** A stream's schema. `schema_text` is set if it came from the registry; else the text is made from the fields, which fit the format. */
export type Schemed = { name: string; format: StreamFormat; schema: Record<string, string>; schema_text: SchemaText | null }

/** A stream's schema as text for the registry. */
export function schemaTextOf({ name, format, schema, schema_text }: Schemed): SchemaText {
  if (schema_text) return schema_text
  return { text: format === 'json' ? JSON.stringify(jsonSchemaOf(name, schema)) : formatTextOf(format, schema), references: [] }
}

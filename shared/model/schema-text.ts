/** A schema as the registry has it: its text, and what that refers to by name, each before those that need it. Pure. */
import { z } from 'zod'
import { formatTextOf, type StreamFormat } from './stream-formats.ts'
import { jsonSchemaOf } from './stream-schema.ts'

export const SchemaText = z.object({
  text: z.string(),
  references: z.array(z.object({ name: z.string(), subject: z.string(), version: z.number().int(), text: z.string() })),
})
export type SchemaText = z.infer<typeof SchemaText>

/** `schema_text` is set where the schema came from the registry; else the text is made of the fields, which fit the format. */
export type Schemed = { name: string; format: StreamFormat; schema: Record<string, string>; schema_text: SchemaText | null }

/** The text that stands in the registry for a stream's schema. */
export function schemaTextOf({ name, format, schema, schema_text }: Schemed): SchemaText {
  if (schema_text) return schema_text
  return { text: format === 'json' ? JSON.stringify(jsonSchemaOf(name, schema)) : formatTextOf(format, schema), references: [] }
}

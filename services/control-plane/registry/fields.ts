/** The fields that a stream shows of a schema from the registry: stream type names by field name. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import type { SchemaText } from '../../../shared/model/schema-text.ts'
import type { StreamFormat } from '../../../shared/model/stream-formats.ts'
import { openCodec } from '../../../shared/codecs/codecs.ts'
import { ServiceError } from '../service-error.ts'
import { assertForeignJsonSchema, isNode } from './json-schema.ts'
import { SchemaRefused } from '../../../shared/codecs/read-schemas.ts'

/** Returns stream type names by field name. Throws SchemaRefused, which says why, when a stream can't have the schema. */
export function fieldsOf(format: StreamFormat, schema: SchemaText): Record<string, string> {
  const fields = parsedFields(format, schema)
  if (Object.keys(fields).length === 0) throw new SchemaRefused('it does not describe an object with fields')
  return fields
}

function parsedFields(format: StreamFormat, schema: SchemaText): Record<string, string> {
  try {
    return format === 'json' ? jsonFields(schema) : openCodec(format, schema).fields
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw new SchemaRefused(reasonOf(error), { cause: error })
  }
}

const BY_FORMAT: Record<string, string> = { 'date-time': 'datetime', date: 'date', uuid: 'uuid' }
const SCALARS = new Set(['integer', 'number', 'boolean', 'object'])

function jsonFields(schema: SchemaText): Record<string, string> {
  assertForeignJsonSchema(schema)
  const root: unknown = JSON.parse(schema.text)
  if (!isNode(root) || !isNode(root.properties)) return {}
  const required = new Set(Array.isArray(root.required) ? root.required : [])
  return Object.fromEntries(
    Object.entries(root.properties).map(([name, property]) => [name, `${typeNameOf(property)}${required.has(name) ? '' : '?'}`]),
  )
}

/** The stream type name of a property; `any` for types without one, and for references to other schemas. */
function typeNameOf(property: unknown): string {
  if (!isNode(property)) return 'any'
  const { type, format, items } = property
  if (type === 'string') return BY_FORMAT[String(format)] ?? 'string'
  if (type === 'array') return `array<${typeNameOf(items)}>`
  return typeof type === 'string' && SCALARS.has(type) ? type : 'any'
}

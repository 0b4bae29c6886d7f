/** A stream's schema as users write it ({field: type}) and as it is registered (JSON Schema draft-07). Pure. */

const SCALARS: Record<string, Record<string, unknown>> = {
  string: { type: 'string' },
  // JavaScript and many JSON readers lose digits beyond 2^53 − 1: larger values need the type `decimal`, a string.
  integer: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  datetime: { type: 'string', format: 'date-time' },
  date: { type: 'string', format: 'date' },
  uuid: { type: 'string', format: 'uuid' },
  decimal: { type: 'string', pattern: '^-?(0|[1-9][0-9]*)(\\.[0-9]+)?$' },
  bytes: { type: 'string', contentEncoding: 'base64', pattern: '^[A-Za-z0-9+/]*={0,2}$' },
  object: { type: 'object' },
  any: {},
}

/** The pattern of a field's name. */
export const FIELD_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const ARRAY_DEPTH_MAX = 8

/** The names of all field types, for error messages. */
export const TYPE_NAMES = [...Object.keys(SCALARS), 'array<T>']

/** The JSON Schema of a type name without its `?`; undefined for an unknown name. */
function schemaOfType(name: string, depth = 0): Record<string, unknown> | undefined {
  if (Object.hasOwn(SCALARS, name)) return SCALARS[name]
  const array = /^array<(.+)>$/.exec(name)
  if (!array || depth >= ARRAY_DEPTH_MAX) return undefined
  const items = schemaOfType(array[1]!, depth + 1)
  return items && { type: 'array', items }
}

/** True for a type name that a field may have; a trailing `?` makes the field optional. */
export function isTypeName(name: string): boolean {
  return schemaOfType(name.endsWith('?') ? name.slice(0, -1) : name) !== undefined
}

/** The JSON Schema of a stream, without additional properties. Field names and types must have been checked before. */
export function jsonSchemaOf(name: string, fields: Record<string, string>): Record<string, unknown> {
  const properties: Record<string, unknown> = {}
  const required: string[] = []
  for (const [field, type] of Object.entries(fields)) {
    const isOptional = type.endsWith('?')
    properties[field] = schemaOfType(isOptional ? type.slice(0, -1) : type)
    if (!isOptional) required.push(field)
  }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: name,
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

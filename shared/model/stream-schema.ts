/** A stream's schema as users write it ({field: type}) and as it is registered (JSON Schema draft-07). Pure. */

type Scalars = Readonly<Record<string, Record<string, unknown>>>
const SCALARS: Scalars = {
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

/** Whether a member of the type may be missing: its name ends in `?`. */
export const isOptional = (type: string): boolean => type.endsWith('?')
/** The type's name without its `?`. */
export const bare = (type: string): string => (isOptional(type) ? type.slice(0, -1) : type)

/** The names of all field types, for error messages. */
export const TYPE_NAMES = [...Object.keys(SCALARS), 'array<T>']

/** The JSON Schema of a type name without its `?`; undefined for an unknown name. */
function schemaOfType(name: string, scalars: Scalars, depth = 0): Record<string, unknown> | undefined {
  if (Object.hasOwn(scalars, name)) return scalars[name]
  const array = /^array<(.+)>$/.exec(name)
  if (!array || depth >= ARRAY_DEPTH_MAX) return undefined
  const items = schemaOfType(array[1]!, scalars, depth + 1)
  return items && { type: 'array', items }
}

/** True for a type name that a field may have; a trailing `?` makes the field optional. */
export function isTypeName(name: string): boolean {
  return schemaOfType(bare(name), SCALARS) !== undefined
}

/**
 * The JSON Schema of a stream, without additional properties; `other`: schemas of types that differ from those of JSON streams. Field names
 * and types must have been checked before.
 */
export function jsonSchemaOf(name: string, fields: Record<string, string>, other: Scalars = {}): Record<string, unknown> {
  const scalars = { ...SCALARS, ...other }
  const properties: Record<string, unknown> = {}
  const required: string[] = []
  for (const [field, type] of Object.entries(fields)) {
    properties[field] = schemaOfType(bare(type), scalars)
    if (!isOptional(type)) required.push(field)
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

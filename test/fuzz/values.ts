/** Values that fit a JSON Schema of the OpenAPI document, or nearly: some of them are odd on purpose. */
import type { Random } from '../chaos/random.ts'

export type Schema = Record<string, unknown>
/**
 * `ids` of existing resources, by the first part of their path or the parameter that names them; `words` that turn up in requests; a
 * SmartModule in base64; a key that the requests have made.
 */
export type Names = {
  ids: Map<string, string[]>
  words: string[]
  binary: string
  credentials?: { api_key: string; api_secret: string }
}

export const anyId = (random: Random, { ids }: Names): string =>
  random.pick(['dps/filter', 'conn_stream', 'nothing', ...[...ids.values()].flat()])

const DEPTH_MAX = 6

/** Values that break parsers: empty ones, too large ones, the limits of types, malformed text. */
const ODD: readonly ((random: Random) => unknown)[] = [
  () => null,
  () => '',
  () => '\u0000',
  () => '\ud800',
  () => '𝒳 é ‮ \u200b',
  () => '../../etc/passwd',
  () => "'; DROP TABLE pipelines; --",
  () => '__proto__',
  () => 'x'.repeat(70_000),
  () => -1,
  () => 0,
  () => 1.5,
  () => 2 ** 53,
  () => 1e308,
  () => -(2 ** 31) - 1,
  () => true,
  () => [],
  () => ({}),
  () => ({ __proto__: null, constructor: 1, toString: [] }),
  () => Array.from({ length: 300 }, (_, index) => index),
  (random) => deep(random.between(1, 60)),
]

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

export const oddValue = (random: Random): unknown => random.pick(ODD)(random)

export type Make = {
  random: Random
  components: Record<string, Schema>
  names: Names
  /** The share of odd values, from 0 to 1. */
  oddness: number
}

const asSchema = (value: unknown): Schema => (typeof value === 'object' && value !== null ? (value as Schema) : {})
const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function textFor(schema: Schema, { random, names }: Make): string {
  const { format, minLength = 0, maxLength = 40 } = schema as { format?: string; minLength?: number; maxLength?: number }
  if (format === 'date-time') return new Date(random.between(0, 2_000_000_000) * 1000).toISOString()
  if (random.next() < 0.5) return anyId(random, names)
  const word = random.next() < 0.7 ? random.pick(names.words) : Math.floor(random.next() * 2 ** 40).toString(36)
  return word.padEnd(minLength, 'x').slice(0, Math.max(minLength, Math.min(maxLength, 200)))
}

function numberFor(schema: Schema, random: Random): number {
  const { minimum = -1000, maximum = 100_000, type } = schema as { minimum?: number; maximum?: number; type?: string }
  if (random.next() < 0.2) return random.pick([minimum, maximum])
  // The first partitions and offsets exist more often than others.
  if (random.next() < 0.3) return Math.min(minimum + random.between(0, 2), maximum)
  const value = minimum + random.next() * (Math.min(maximum, minimum + 1000) - minimum)
  return type === 'integer' ? Math.round(value) : value
}

/** One value. A reference is followed, an alternative chosen, an optional member left out now and then. */
export function valueFor(given: unknown, make: Make, depth = 0): unknown {
  const { random, components } = make
  if (random.next() < make.oddness) return oddValue(random)
  const schema = asSchema(given)
  if (typeof schema.$ref === 'string') return valueFor(components[schema.$ref.split('/').at(-1)!], make, depth)
  const alternatives = [...asList(schema.anyOf), ...asList(schema.oneOf)]
  if (alternatives.length > 0) return valueFor(random.pick(alternatives), make, depth)
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return random.pick(schema.enum as unknown[])
  if (depth > DEPTH_MAX) return null
  const type = Array.isArray(schema.type) ? random.pick(schema.type as string[]) : schema.type
  switch (type) {
    case 'string':
      return textFor(schema, make)
    case 'integer':
    case 'number':
      return numberFor(schema, random)
    case 'boolean':
      return random.next() < 0.5
    case 'null':
      return null
    case 'array':
      return Array.from({ length: random.between(Number(schema.minItems ?? 0), 3) }, () => valueFor(schema.items ?? {}, make, depth + 1))
    case 'object': {
      const required = new Set(asList(schema.required))
      const members: Record<string, unknown> = {}
      for (const [name, member] of Object.entries(asSchema(schema.properties)))
        if (required.has(name) || random.next() < 0.4) members[name] = valueFor(member, make, depth + 1)
      if (typeof schema.additionalProperties === 'object' && Object.keys(members).length === 0)
        for (let i = random.between(0, 3); i > 0; i--)
          members[random.pick(make.names.words)] = valueFor(schema.additionalProperties, make, depth + 1)
      if (random.next() < make.oddness) members[random.pick(['unknown', '__proto__', '', 'a/b~c'])] = oddValue(random)
      return members
    }
    default:
      return random.pick([oddValue(random), random.pick(make.names.words), random.between(0, 9)])
  }
}

/** Fields of Avro's records and their defaults. avsc takes defaults of a union's first branch only, and none beyond 2^53. */
import { doubleOf, integerOf, isObject, isRawJSON } from '../model/exact-json.ts'
import { LONG, takeDefaultText, type Shape } from './avro-types.ts'

type Fields = {
  /** Types by the fields' names. */
  fields: ReadonlyMap<string, Shape>
  /** Defaults as avsc takes values, by the fields' names. */
  defaults: ReadonlyMap<string, unknown>
}

const known = new WeakMap<Shape, Fields>()
/** Defaults as they are in the schema. */
const givenDefaults = new WeakMap<Shape, ReadonlyMap<string, unknown>>()

/** Keeps the defaults of a record's schema, which `openDefaults` then opens. */
export function keepDefaults(type: Shape, fields: readonly { name: string; default?: unknown }[]): void {
  const given = fields.filter((field) => Object.hasOwn(field, 'default'))
  givenDefaults.set(type, new Map(given.map((field) => [field.name, field.default])))
}

/** The fields of a record type whose defaults are open. */
export const recordOf = (type: Shape): Fields => known.get(type)!

/** Opens the defaults of the record type. Throws an Error that names the field for one that does not fit. */
export function openDefaults(type: Shape): void {
  const fields = new Map(type.fields!.map((field) => [field.name, field.type]))
  const defaults = new Map<string, unknown>()
  for (const [name, given] of givenDefaults.get(type) ?? []) {
    const value = defaultFor(fields.get(name)!, given)
    if (value === undefined) throw new Error(`the field "${name}" of ${type.branchName} has a default that does not fit its type`)
    defaults.set(name, value)
  }
  known.set(type, { fields, defaults })
}

const LATIN1 = /^[\u0000-\u00ff]*$/

/**
 * The value of a default (Avro 1.12, "Complex Types", "Records"): bytes are characters, a value of a logical type is that of its underlying
 * type, and one of a union may be of any branch. Undefined if it does not fit the type.
 */
function defaultFor(type: Shape, given: unknown): unknown {
  const value = converted(type, given)
  return value !== undefined && type.isValid(value) ? value : undefined
}

function converted(type: Shape, given: unknown): unknown {
  if (type.underlyingType) {
    const value = defaultFor(type.underlyingType, given)
    return value === undefined ? undefined : (type as Shape & { _fromValue(value: unknown): unknown })._fromValue(value)
  }
  switch (type.typeName) {
    case 'union:unwrapped':
    case 'union:wrapped':
      for (const branch of type.types!) {
        const value = defaultFor(branch, given)
        if (value === undefined) continue
        return value === null || type.typeName === 'union:unwrapped' ? value : { [branch.branchName!]: value }
      }
      return undefined
    case 'bytes':
    case 'fixed':
      return typeof given === 'string' && LATIN1.test(given) ? Buffer.from(given, 'latin1') : undefined
    case LONG:
      return integerOf(given) === undefined ? undefined : given
    case 'float':
    case 'double':
      return doubleOf(given)
    case 'array':
      return Array.isArray(given) ? given.map((item) => defaultFor(type.itemsType!, item)) : undefined
    case 'map':
      if (!isObject(given)) return undefined
      return Object.fromEntries(Object.entries(given).map(([key, item]) => [key, defaultFor(type.valuesType!, item)]))
    case 'record':
    case 'error': {
      if (!isObject(given)) return undefined
      const defaults = givenDefaults.get(type)
      const member = (name: string): unknown => (Object.hasOwn(given, name) ? given[name] : defaults?.get(name))
      return Object.fromEntries(type.fields!.map((field) => [field.name, defaultFor(field.type, member(field.name))]))
    }
    default:
      if (typeof given === 'string') takeDefaultText(type, given)
      // A number as it was written fits no other type.
      return isRawJSON(given) ? undefined : given
  }
}

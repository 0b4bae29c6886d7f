/** Opens Avro schemas with avsc, so that longs are exact, unions unambiguous in JSON, and values become only so much JSON. */
import { createRequire } from 'node:module'
import type { Type } from 'avsc'
import { isObject, parseExactly } from '../model/exact-json.ts'
import type { SchemaText } from '../model/schema-text.ts'
import { keepDefaults, openDefaults } from './avro-records.ts'
import { exactLong, logicalOf, logicalTypes, uuidText, type Shape } from './avro-types.ts'
import type { JsonBudget } from './expansion.ts'

// Loaded by the first stream that needs it, so that lanes of JSON streams start without it.
const load = createRequire(import.meta.url)

type Tap = { pos: number; readonly buf: Uint8Array; readLong(): number; skipLong(): void; readString(): string }
type Reading = { _read(tap: Tap): unknown }
type Open<T> = new (schema: object, given: object) => Shape & T
/** Members of avsc that are missing from its declarations. */
type Internals = {
  Type: { forSchema(schema: unknown, given: object): Shape }
  types: {
    RecordType: Open<{ _createReader(): (tap: Tap) => unknown }>
    EnumType: Open<Reading>
    FixedType: Open<Reading>
    ArrayType: Open<Reading>
    MapType: Open<Reading>
    WrappedUnionType: Open<Reading>
  }
}
type Given = { registry: Record<string, Shape>; namespace?: string }

/**
 * Returns the type of a schema, whose values spend their names, which their bytes don't have, of `budget`. Throws an Error that says why
 * the schema can't be used.
 */
export function openAvroType({ text, references }: SchemaText, budget: JsonBudget): Shape {
  const avro = load('avsc') as typeof import('avsc')
  const { Type, types } = avro as unknown as Internals
  const named = countedTypes(types, budget)
  const options = { wrapUnions: 'auto', logicalTypes: logicalTypes(avro.types, budget), registry: {}, typeHook }
  const long = exactLong(avro.types)
  const opened = new Set<object>()
  /** Whether avsc should make a logical type of the schema. It then asks again for the underlying type, which is answered with false. */
  function isLogical(schema: Record<string, unknown>): boolean {
    if (logicalOf(schema) === undefined || opened.delete(schema)) return false
    opened.add(schema)
    return true
  }
  /**
   * Makes longs exact, and wraps unions with several branches that are strings in JSON, or several that are numbers: JSON can't tell those
   * apart, although avsc may tell their bytes apart.
   */
  function typeHook(schema: unknown, given: Given): Type | undefined {
    if (schema === 'long') return long
    if (Array.isArray(schema)) {
      const isClear = schema.filter((branch) => isText(branch, given)).length < 2 && schema.filter(isNumeric).length < 2
      return isClear ? undefined : new types.WrappedUnionType(schema, given)
    }
    if (!isObject(schema) || isLogical(schema)) return undefined
    if (schema.logicalType !== undefined && logicalOf(schema) === undefined) {
      const { logicalType: _ignored, ...plain } = schema
      return schema.logicalType === 'uuid' && schema.type === 'string' ? uuidText(avro.types) : Type.forSchema(plain, given)
    }
    return schema.type === 'long' ? long : named(schema, given)
  }
  for (const reference of references) Type.forSchema(parseExactly(reference.text), options)
  const type = Type.forSchema(parseExactly(text), options)
  const reachable = new Set<Shape>()
  collect(type, reachable)
  for (const each of reachable) {
    if (each.itemsType && isEmpty(each.itemsType, new Set())) throw new Error('it has a list of items that take no bytes')
    if (each.fields) openDefaults(each)
  }
  return type
}

/**
 * The number of items in the next block of a list or map (Avro 1.12, "Arrays"); 0 at its end. Throws for more items than there are bytes:
 * avsc would read on behind the end of the value, for half a minute for five bytes that name fifty million.
 */
function sizeOfBlock(tap: Tap): number {
  const count = tap.readLong()
  if (count < 0) tap.skipLong()
  const size = Math.abs(count)
  if (size > tap.buf.length - tap.pos) throw new Error('the value has a list or map that is longer than the value')
  return size
}

/** Returns what makes avsc's types of records, enums, fixed bytes, lists and maps; undefined for other schemas. */
function countedTypes({ RecordType, EnumType, FixedType, ArrayType, MapType }: Internals['types'], budget: JsonBudget) {
  class CountedRecord extends RecordType {
    override _createReader() {
      const read = super._createReader()
      // With quotes, a colon, a comma, and the four letters of a null; in a union, the record's own name is in the JSON too.
      const characters = this.fields!.reduce((sum, { name }) => sum + name.length + 8, (this.name ?? '').length)
      return (tap: Tap) => {
        budget.spend(characters)
        return read(tap)
      }
    }
  }
  class CountedEnum extends EnumType {
    override _read(tap: Tap) {
      const symbol = super._read(tap) as string
      budget.spend(symbol.length + this.name!.length)
      return symbol
    }
  }
  class CountedFixed extends FixedType {
    override _read(tap: Tap) {
      budget.spend(this.name!.length)
      return super._read(tap)
    }
  }
  class BoundedArray extends ArrayType {
    override _read(tap: Tap) {
      const type = this.itemsType as Shape & Reading
      const items: unknown[] = []
      for (let count = sizeOfBlock(tap); count > 0; count = sizeOfBlock(tap))
        for (let left = count; left > 0; left--) items.push(type._read(tap))
      return items
    }
  }
  class BoundedMap extends MapType {
    override _read(tap: Tap) {
      const values: Record<string, unknown> = {}
      const type = this.valuesType as Shape & Reading
      for (let count = sizeOfBlock(tap); count > 0; count = sizeOfBlock(tap))
        for (let left = count; left > 0; left--) {
          const key = tap.readString()
          const value = type._read(tap)
          // Assigned, it would be the object's prototype.
          if (key === '__proto__') Object.defineProperty(values, key, { value, enumerable: true, configurable: true, writable: true })
          else values[key] = value
        }
      return values
    }
  }
  return (schema: Record<string, unknown>, given: object): Shape | undefined => {
    switch (schema.type) {
      case 'record':
      case 'error': {
        if (!Array.isArray(schema.fields) || !schema.fields.every(isNamed)) return undefined
        if (schema.fields.some(({ name }) => name === '__proto__')) throw new Error('a field can’t be named "__proto__"')
        const type = new CountedRecord({ ...schema, fields: schema.fields.map(({ default: _own, ...field }) => field) }, given)
        keepDefaults(type, schema.fields)
        return type
      }
      case 'enum':
        return new CountedEnum(schema, given)
      case 'fixed':
        return new CountedFixed(schema, given)
      case 'map':
        return new BoundedMap(schema, given)
      case 'array':
        return new BoundedArray(schema, given)
      default:
        return undefined
    }
  }
}

const isNamed = (field: unknown): field is { name: string; default?: unknown } => isObject(field) && typeof field.name === 'string'

const NUMBERS = new Set(['int', 'long', 'float', 'double'])
const TEXTS = new Set(['string', 'bytes', 'fixed', 'enum'])

/** Whether a branch of a union is a number in JSON. */
const isNumeric = (branch: unknown): boolean =>
  typeof branch === 'string' ? NUMBERS.has(branch) : isObject(branch) && NUMBERS.has(String(branch.type)) && logicalOf(branch) === undefined

/** Whether a branch of a union is a string in JSON, as all logical types are. */
function isText(branch: unknown, { registry, namespace }: Given): boolean {
  if (typeof branch === 'string') {
    const known = registry[`${namespace ?? ''}.${branch}`] ?? registry[branch]
    return TEXTS.has(branch) || (known !== undefined && (known.underlyingType !== undefined || TEXTS.has(known.typeName)))
  }
  return isObject(branch) && (TEXTS.has(String(branch.type)) || logicalOf(branch) !== undefined)
}

/** Adds the type and every type within it. */
function collect(type: Shape, into: Set<Shape>): void {
  if (into.has(type)) return
  into.add(type)
  const inner = [type.itemsType, type.valuesType, ...(type.types ?? []), ...(type.fields ?? []).map((field) => field.type)]
  for (const each of inner) if (each) collect(each, into)
}

/** Whether a value takes no bytes: a list of five bytes could have a billion of them. */
function isEmpty(type: Shape, seen: Set<Shape>): boolean {
  if (type.typeName === 'null' || (type.typeName === 'fixed' && (type as { size?: number }).size === 0)) return true
  if (!type.fields || seen.has(type)) return false
  seen.add(type)
  return type.fields.every((field) => isEmpty(field.type, seen))
}

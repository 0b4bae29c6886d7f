/** A JSON Schema (2020-12) as the validator runs it, read from the step's config once. */
import { Regex } from '../cel/regex-program'
import { compileRegex } from '../cel/regex'
import { itemsOf, keysOf } from '../cel/json'
import { K, Value, stringOf } from '../cel/value'

/** The types that a schema allows, as bits. */
export const enum T { Null = 1, Boolean = 2, Integer = 4, Number = 8, String = 16, Array = 32, Object = 64 }
const TYPE_NAMES: string[] = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']

export const enum Format { None, DateTime, Date, Time, Email, Uuid, Ipv4, Uri }
const FORMAT_NAMES: string[] = ['', 'date-time', 'date', 'time', 'email', 'uuid', 'ipv4', 'uri']

/** Words that stand for something else than a check, or whose place is in another word. */
const NOTES: string[] = [
  '$schema', '$id', '$comment', '$defs', 'definitions', 'title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly',
  '$anchor', 'contentEncoding', 'contentMediaType',
]

export class Schema {
  /** False: nothing is valid. */
  allows: bool = true
  types: i32 = 0
  values: Value[] | null = null
  constant: Value | null = null
  minimum: Value | null = null
  maximum: Value | null = null
  above: Value | null = null
  below: Value | null = null
  multipleOf: Value | null = null
  minLength: i64 = 0
  maxLength: i64 = i64.MAX_VALUE
  pattern: Regex | null = null
  patternText: string = ''
  format: Format = Format.None
  minItems: i32 = 0
  maxItems: i32 = i32.MAX_VALUE
  isUnique: bool = false
  prefix: Schema[] = []
  items: Schema | null = null
  contains: Schema | null = null
  minContains: i32 = 1
  maxContains: i32 = i32.MAX_VALUE
  minProperties: i32 = 0
  maxProperties: i32 = i32.MAX_VALUE
  required: Value[] = []
  names: Value[] = []
  properties: Schema[] = []
  patterns: Regex[] = []
  patternProperties: Schema[] = []
  additional: Schema | null = null
  propertyNames: Schema | null = null
  dependentNames: Value[] = []
  dependentRequired: Value[] = []
  dependentSchemaNames: Value[] = []
  dependentSchemas: Schema[] = []
  allOf: Schema[] = []
  anyOf: Schema[] = []
  oneOf: Schema[] = []
  not: Schema | null = null
  condition: Schema | null = null
  then: Schema | null = null
  otherwise: Schema | null = null
  reference: Schema | null = null
}

/** What is wrong with the schema; empty while nothing is. */
export let problem: string = ''
let root: Value | null = null
/** Schemas by the place of their JSON, so that a reference to itself ends. */
const known: Map<usize, Schema> = new Map<usize, Schema>()
const SCHEMAS_MAX: i32 = 5000

/** The value, with all that is in it: what is opened later is read within the bounds of a record. */
function opened(value: Value): Value {
  if (value.kind != K.List && value.kind != K.Map) return value
  const items = itemsOf(value)
  for (let i = 0; i < items.length; i++) opened(items[i])
  return value
}

/** The names on the way to what is being read, for `refuse`. */
let places: string[] = []

/** Refuses what is being read, or a word of it; `what` is what it must be, or what is wrong with it behind a colon. */
function refuse(word: string, what: string): void {
  if (problem.length > 0) return
  let pointer = ''
  for (let i = 0; i < places.length; i++) pointer += '/' + places[i].replaceAll('~', '~0').replaceAll('/', '~1')
  if (word.length > 0 && (places.length == 0 || places[places.length - 1] != word)) pointer += '/' + word
  problem = (pointer.length == 0 ? 'the schema' : pointer) + (what.startsWith(':') ? '' : ' ') + what
}

/** Reads a schema that is one of the parts of the one at hand. */
function readAt(place: string, value: Value): Schema {
  places.push(place)
  const schema = read(value)
  places.pop()
  return schema
}

/** The schema that the value stands for. */
export function schemaOf(value: Value): Schema {
  root = value
  problem = ''
  places = []
  known.clear()
  return read(value)
}

function read(value: Value): Schema {
  const schema = new Schema()
  if (value.kind == K.Bool) {
    schema.allows = value.n != 0
    return schema
  }
  if (value.kind != K.Map) {
    refuse('', 'must be an object, true or false')
    return schema
  }
  if (known.has(value.jsonStart)) return known.get(value.jsonStart)
  if (known.size >= SCHEMAS_MAX) {
    refuse('', 'has too many parts')
    return schema
  }
  known.set(value.jsonStart, schema)
  const keys = keysOf(value)
  const items = itemsOf(value)
  for (let i = 0; i < keys.length && problem.length == 0; i++) {
    const word = stringOf(keys[i])
    places.push(word)
    readWord(schema, word, items[i])
    places.pop()
  }
  return schema
}

function readWord(schema: Schema, word: string, value: Value): void {
  if (readNumberWord(schema, word, value) || readObjectWord(schema, word, value) || readChoiceWord(schema, word, value)) return
  if (word == 'type') schema.types = typesOf(value)
  else if (word == 'enum') {
    schema.values = listOf(word, value)
    opened(value)
  } else if (word == 'const') schema.constant = opened(value)
  else if (word == 'pattern') {
    schema.patternText = textOf(word, value)
    schema.pattern = regexOf(schema.patternText)
  } else if (word == 'format') {
    const format = FORMAT_NAMES.indexOf(textOf(word, value))
    schema.format = format > 0 ? (format as Format) : Format.None
  } else if (word == 'uniqueItems') {
    if (value.kind != K.Bool) refuse(word, 'must be true or false')
    schema.isUnique = value.n != 0
  }
  else if (word == 'prefixItems') schema.prefix = schemasOf(word, value)
  else if (word == 'items') schema.items = read(value)
  else if (word == 'contains') schema.contains = read(value)
  else if (word == '$ref') schema.reference = referred(textOf(word, value))
  else if (!NOTES.includes(word)) refuse(word, 'is not supported')
}

function readNumberWord(schema: Schema, word: string, value: Value): bool {
  if (word == 'minimum') schema.minimum = numberOf(word, value)
  else if (word == 'maximum') schema.maximum = numberOf(word, value)
  else if (word == 'exclusiveMinimum') schema.above = numberOf(word, value)
  else if (word == 'exclusiveMaximum') schema.below = numberOf(word, value)
  else if (word == 'multipleOf') {
    const by = numberOf(word, value)
    // Also where it is no number, which is said already.
    if (by.kind == K.Double ? by.d > 0 : by.kind == K.Int && by.n > 0) schema.multipleOf = by
    else refuse(word, 'must be above 0')
  } else if (word == 'minLength') schema.minLength = countOf(word, value)
  else if (word == 'maxLength') schema.maxLength = countOf(word, value)
  else if (word == 'minItems') schema.minItems = countOf(word, value)
  else if (word == 'maxItems') schema.maxItems = countOf(word, value)
  else if (word == 'minContains') schema.minContains = countOf(word, value)
  else if (word == 'maxContains') schema.maxContains = countOf(word, value)
  else if (word == 'minProperties') schema.minProperties = countOf(word, value)
  else if (word == 'maxProperties') schema.maxProperties = countOf(word, value)
  else return false
  return true
}

function readObjectWord(schema: Schema, word: string, value: Value): bool {
  if (word == 'required') schema.required = textsOf(word, value)
  else if (word == 'additionalProperties') schema.additional = read(value)
  else if (word == 'propertyNames') schema.propertyNames = read(value)
  else if (word == 'properties' || word == 'patternProperties' || word == 'dependentSchemas' || word == 'dependentRequired') {
    if (value.kind != K.Map) refuse(word, 'must be an object')
    else readMembers(schema, word, value)
  } else return false
  return true
}

function readMembers(schema: Schema, word: string, value: Value): void {
  const keys = keysOf(value)
  const items = itemsOf(value)
  for (let i = 0; i < keys.length && problem.length == 0; i++) {
    if (word == 'properties') {
      schema.names.push(keys[i])
      schema.properties.push(readAt(stringOf(keys[i]), items[i]))
    } else if (word == 'patternProperties') {
      places.push(stringOf(keys[i]))
      schema.patterns.push(regexOf(stringOf(keys[i])))
      places.pop()
      schema.patternProperties.push(readAt(stringOf(keys[i]), items[i]))
    } else if (word == 'dependentSchemas') {
      schema.dependentSchemaNames.push(keys[i])
      schema.dependentSchemas.push(readAt(stringOf(keys[i]), items[i]))
    } else {
      schema.dependentNames.push(keys[i])
      schema.dependentRequired.push(items[i])
      textsOf(word, items[i])
    }
  }
}

function readChoiceWord(schema: Schema, word: string, value: Value): bool {
  if (word == 'allOf') schema.allOf = schemasOf(word, value)
  else if (word == 'anyOf') schema.anyOf = schemasOf(word, value)
  else if (word == 'oneOf') schema.oneOf = schemasOf(word, value)
  else if (word == 'not') schema.not = read(value)
  else if (word == 'if') schema.condition = read(value)
  else if (word == 'then') schema.then = read(value)
  else if (word == 'else') schema.otherwise = read(value)
  else return false
  return true
}

/** The schema that a pointer within this document names. */
function referred(pointer: string): Schema {
  if (!pointer.startsWith('#') || (pointer.length > 1 && pointer.charCodeAt(1) != 47)) {
    refuse('$ref', 'must be a pointer within the schema, as #/$defs/name: ' + pointer)
    return new Schema()
  }
  let at = root!
  const names = pointer.length > 1 ? pointer.substring(2).split('/') : []
  for (let i = 0; i < names.length; i++) {
    const name = unescaped(names[i])
    const found = memberOf(at, name)
    if (found === null) {
      refuse('$ref', 'names nothing in the schema: ' + pointer)
      return new Schema()
    }
    at = found
  }
  const way = places
  places = names
  const schema = read(at)
  places = way
  return schema
}

/** RFC 6901, in a URI fragment. */
function unescaped(name: string): string { return decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~') }

function memberOf(value: Value, name: string): Value | null {
  if (value.kind == K.List) {
    const items = itemsOf(value)
    const index = name.length > 0 && name.length < 9 ? (I32.parseInt(name) as i32) : -1
    return index >= 0 && index < items.length ? items[index] : null
  }
  if (value.kind != K.Map) return null
  const keys = keysOf(value)
  for (let i = 0; i < keys.length; i++) if (stringOf(keys[i]) == name) return itemsOf(value)[i]
  return null
}

function typesOf(value: Value): i32 {
  const names = value.kind == K.List ? itemsOf(value) : [value]
  let types = 0
  if (names.length == 0) refuse('type', 'must not be empty')
  for (let i = 0; i < names.length; i++) {
    const at = names[i].kind == K.String ? TYPE_NAMES.indexOf(stringOf(names[i])) : -1
    if (at < 0) refuse('type', 'must be of ' + TYPE_NAMES.join(', '))
    else types |= 1 << at
  }
  return types
}

/** The names of the types, for a message. */
export function namesOf(types: i32): string {
  const names: string[] = []
  for (let i = 0; i < TYPE_NAMES.length; i++) if ((types & (1 << i)) != 0) names.push(TYPE_NAMES[i])
  return names.join(' or ')
}
export function formatName(format: Format): string { return FORMAT_NAMES[format as i32] }

function regexOf(pattern: string): Regex {
  const regex = compileRegex(pattern)
  if (regex.error.length > 0) refuse('', ': ' + regex.error)
  return regex
}
function textOf(word: string, value: Value): string {
  if (value.kind == K.String) return stringOf(value)
  refuse(word, 'must be a string')
  return ''
}
function numberOf(word: string, value: Value): Value {
  if (value.kind != K.Int && value.kind != K.Uint && value.kind != K.Double) refuse(word, 'must be a number')
  return value
}
function countOf(word: string, value: Value): i32 {
  if (value.kind == K.Int && value.n >= 0 && value.n <= i32.MAX_VALUE) return value.n as i32
  if (value.kind == K.Double && value.d >= 0 && value.d <= 1e9 && Math.trunc(value.d) == value.d) return value.d as i32
  refuse(word, 'must be a whole number from 0')
  return 0
}
function listOf(word: string, value: Value): Value[] {
  if (value.kind == K.List) return itemsOf(value)
  refuse(word, 'must be a list')
  return []
}
function textsOf(word: string, value: Value): Value[] {
  const texts = listOf(word, value)
  for (let i = 0; i < texts.length; i++) if (texts[i].kind != K.String) refuse(word, 'must be a list of strings')
  return texts
}
function schemasOf(word: string, value: Value): Schema[] {
  const values = listOf(word, value)
  if (values.length == 0) refuse(word, 'must not be empty')
  const schemas: Schema[] = []
  for (let i = 0; i < values.length; i++) schemas.push(readAt(i.toString(), values[i]))
  return schemas
}

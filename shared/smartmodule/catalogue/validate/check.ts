/** Whether a value is valid, and if not, the first thing that is wrong with it. */
import { isFound } from '../cel/regex-run'
import { compareNumbers, isNumber } from '../cel/compare'
import { doubleText, itemsOf, keysOf } from '../cel/json'
import { countOf } from '../cel/strings'
import { K, Value, excerptOf, isTooMuch, ofInt } from '../cel/value'
import { isOfFormat } from './formats'
import { Format, Schema, T, formatName, namesOf } from './schema'
import { hasTwice, isEqual } from './unique'

/** Of schemas within each other: a document's 128 levels, with several for each. */
const DEPTH_MAX: i32 = 1024
let depth: i32 = 0
let isTooDeep: bool = false

/** Where the value at hand is, as the names and indices on the way to it. */
const names: Value[] = []
/** What is checked, for messages: the value, or a field of it. */
let subject: string = 'the value'
let before: string = ''
export function setSubject(field: string): void {
  subject = field.length > 0 ? 'the field ' + field : 'the value'
  before = field.length > 0 ? subject + ': ' : ''
}

/** The first fault, and where it is. */
export let fault: string = ''
/** Neither valid nor wrong: the record takes more than its share to find out. `fault` then says so. */
export let isUndecided: bool = false
/** Set while it only matters whether there is a fault. */
let isQuiet: i32 = 0

/** False for a value that is not valid: `fault` then says why, with a JSON pointer. */
export function isValid(schema: Schema, value: Value): bool {
  fault = ''
  names.length = 0
  isQuiet = 0
  depth = 0
  isTooDeep = false
  const valid = check(schema, value)
  isUndecided = isTooDeep || isTooMuch(0)
  if (!isUndecided) return valid
  fault = isTooDeep
    ? 'it takes more than 1,024 parts of the schema within each other to validate the record'
    : 'it takes more than 400,000 steps or 32 MiB to validate the record'
  return false
}

function wrong(what: string): bool {
  if (isQuiet > 0 || fault.length > 0) return false
  let pointer = ''
  for (let i = 0; i < names.length; i++) {
    const name = names[i]
    pointer += '/' + (name.kind == K.Int ? name.n.toString() : excerptOf(name).replaceAll('~', '~0').replaceAll('/', '~1'))
  }
  fault = (pointer.length == 0 ? subject : before + pointer) + ' ' + what
  return false
}

/** The same without a message. */
function passes(schema: Schema, value: Value): bool {
  isQuiet++
  const valid = check(schema, value)
  isQuiet--
  return valid
}

function isWhole(value: Value): bool {
  return value.kind == K.Int || value.kind == K.Uint || (value.kind == K.Double && Math.trunc(value.d) == value.d && isFinite(value.d))
}

function typeOf(value: Value): i32 {
  switch (value.kind) {
    case K.Null: return T.Null
    case K.Bool: return T.Boolean
    case K.String: return T.String
    case K.List: return T.Array
    case K.Map: return T.Object
    default: return isWhole(value) ? T.Integer | T.Number : T.Number
  }
}

function check(schema: Schema, value: Value): bool {
  if (isTooMuch(2) || isTooDeep) return false
  if (!schema.allows) return wrong('is not allowed')
  if (depth >= DEPTH_MAX) {
    isTooDeep = true
    return false
  }
  depth++
  const valid = checkWords(schema, value)
  depth--
  return valid
}

function checkWords(schema: Schema, value: Value): bool {
  if (schema.types != 0 && (schema.types & typeOf(value)) == 0) return wrong('must be ' + namesOf(schema.types))
  const allowed = schema.values
  if (allowed !== null) {
    let isOne = false
    for (let i = 0; i < allowed.length && !isOne; i++) isOne = isEqual(allowed[i], value)
    if (!isOne) return wrong('must be one of the values that the schema lists')
  }
  if (schema.constant !== null && !isEqual(schema.constant!, value)) return wrong('must be the value that the schema names')
  if (isNumber(value)) {
    if (!checkNumber(schema, value)) return false
  } else if (value.kind == K.String) {
    if (!checkText(schema, value)) return false
  } else if (value.kind == K.List) {
    if (!checkList(schema, value)) return false
  } else if (value.kind == K.Map && !checkObject(schema, value)) return false
  return checkChoices(schema, value)
}

function checkNumber(schema: Schema, value: Value): bool {
  if (schema.minimum !== null && compareNumbers(value, schema.minimum!) < 0) return wrong('must be at least ' + shown(schema.minimum!))
  if (schema.maximum !== null && compareNumbers(value, schema.maximum!) > 0) return wrong('must be at most ' + shown(schema.maximum!))
  if (schema.above !== null && compareNumbers(value, schema.above!) <= 0) return wrong('must be above ' + shown(schema.above!))
  if (schema.below !== null && compareNumbers(value, schema.below!) >= 0) return wrong('must be below ' + shown(schema.below!))
  if (schema.multipleOf !== null && !isMultiple(value, schema.multipleOf!)) return wrong('must be a multiple of ' + shown(schema.multipleOf!))
  return true
}

/** What is whole after doubling it twenty times has few bits: its double is exact. */
const TWENTY_TIMES: f64 = 1048576

/** Whether a number is a multiple, as far as doubles can tell. */
function isMultiple(value: Value, by: Value): bool {
  if (value.kind == K.Int && by.kind == K.Int) return value.n % by.n == 0
  const d = asDouble(value)
  const divisor = asDouble(by)
  if (d % divisor == 0) return true
  // Of a whole divisor, or one like 0.25, the double is the number itself, and what is left is left.
  if (Math.trunc(divisor * TWENTY_TIMES) == divisor * TWENTY_TIMES) return false
  // By division, as validators do: 0.3 is a multiple of 0.1 although its double is not.
  const quotient = d / divisor
  return Math.abs(quotient - Math.round(quotient)) <= 1e-15 * Math.max(1, Math.abs(quotient))
}

function asDouble(value: Value): f64 {
  return value.kind == K.Double ? value.d : value.kind == K.Int ? (value.n as f64) : ((value.n as u64) as f64)
}

function shown(value: Value): string {
  return value.kind == K.Double ? doubleText(value.d) : value.kind == K.Int ? value.n.toString() : (value.n as u64).toString()
}

function checkText(schema: Schema, value: Value): bool {
  if (schema.minLength > 0 || schema.maxLength != i64.MAX_VALUE) {
    const length = countOf(value)
    if (length < schema.minLength) return wrong('must have at least ' + schema.minLength.toString() + ' characters')
    if (length > schema.maxLength) return wrong('must have at most ' + schema.maxLength.toString() + ' characters')
  }
  if (schema.pattern !== null && !isFound(schema.pattern!, value)) return wrong('must match ' + schema.patternText)
  if (schema.format != Format.None && !isOfFormat(schema.format, value)) return wrong('must have the format ' + formatName(schema.format))
  return true
}

function checkList(schema: Schema, value: Value): bool {
  const items = itemsOf(value)
  const count = items.length
  if (count < schema.minItems) return wrong('must have at least ' + schema.minItems.toString() + ' items')
  if (count > schema.maxItems) return wrong('must have at most ' + schema.maxItems.toString() + ' items')
  const prefix = schema.prefix
  for (let i = 0; i < count; i++) {
    const own: Schema | null = i < prefix.length ? prefix[i] : schema.items
    if (own === null) break
    names.push(ofInt(i))
    const valid = check(own, items[i])
    names.pop()
    if (!valid) return false
  }
  if (schema.contains !== null) {
    let found = 0
    for (let i = 0; i < count; i++) if (passes(schema.contains!, items[i])) found++
    if (found < schema.minContains) return wrong('must have at least ' + schema.minContains.toString() + ' items of the kind that the schema asks for')
    if (found > schema.maxContains) return wrong('must have at most ' + schema.maxContains.toString() + ' items of the kind that the schema counts')
  }
  return !schema.isUnique || !hasTwice(items) || wrong('must not have the same item twice')
}

function indexOf(keys: Value[], name: Value): i32 {
  if (isTooMuch((keys.length >> 3) + 1)) return -1
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]
    if (key.length == name.length && memory.compare(key.ptr, name.ptr, name.length) == 0) return i
  }
  return -1
}

function checkObject(schema: Schema, value: Value): bool {
  const keys = keysOf(value)
  const items = itemsOf(value)
  const count = keys.length
  if (count < schema.minProperties) return wrong('must have at least ' + schema.minProperties.toString() + ' members')
  if (count > schema.maxProperties) return wrong('must have at most ' + schema.maxProperties.toString() + ' members')
  for (let i = 0; i < schema.required.length; i++) {
    const name = schema.required[i]
    if (name.kind == K.String && indexOf(keys, name) < 0) return wrong('must have the member ' + excerptOf(name))
  }
  for (let i = 0; i < schema.dependentNames.length; i++) {
    if (indexOf(keys, schema.dependentNames[i]) < 0) continue
    const others = itemsOf(schema.dependentRequired[i])
    for (let k = 0; k < others.length; k++) {
      if (indexOf(keys, others[k]) < 0) return wrong('must have the member ' + excerptOf(others[k]) + ' beside ' + excerptOf(schema.dependentNames[i]))
    }
  }
  for (let i = 0; i < schema.dependentSchemaNames.length; i++) {
    if (indexOf(keys, schema.dependentSchemaNames[i]) >= 0 && !check(schema.dependentSchemas[i], value)) return false
  }
  const looksAtMembers = schema.names.length > 0 || schema.patterns.length > 0 || schema.additional !== null || schema.propertyNames !== null
  for (let i = 0; looksAtMembers && i < count; i++) {
    names.push(keys[i])
    const valid = checkMember(schema, keys[i], items[i])
    names.pop()
    if (!valid) return false
  }
  return true
}

function checkMember(schema: Schema, name: Value, value: Value): bool {
  if (schema.propertyNames !== null && !passes(schema.propertyNames!, name)) return wrong('has a name that is not allowed')
  const own = indexOf(schema.names, name)
  let isKnown = own >= 0
  if (own >= 0 && !check(schema.properties[own], value)) return false
  for (let i = 0; i < schema.patterns.length; i++) {
    if (!isFound(schema.patterns[i], name)) continue
    isKnown = true
    if (!check(schema.patternProperties[i], value)) return false
  }
  return isKnown || schema.additional === null || check(schema.additional!, value)
}

function checkChoices(schema: Schema, value: Value): bool {
  if (schema.reference !== null && !check(schema.reference!, value)) return false
  for (let i = 0; i < schema.allOf.length; i++) if (!check(schema.allOf[i], value)) return false
  if (schema.anyOf.length > 0) {
    let isOne = false
    for (let i = 0; i < schema.anyOf.length && !isOne; i++) isOne = passes(schema.anyOf[i], value)
    if (!isOne) return wrong('fits none of the kinds that the schema allows')
  }
  if (schema.oneOf.length > 0) {
    let fitting = 0
    for (let i = 0; i < schema.oneOf.length && fitting < 2; i++) if (passes(schema.oneOf[i], value)) fitting++
    if (fitting != 1) return wrong(fitting == 0 ? 'fits none of the kinds that the schema allows' : 'fits several kinds of which the schema allows one')
  }
  if (schema.not !== null && passes(schema.not!, value)) return wrong('is what the schema excludes')
  if (schema.condition !== null) {
    const then = passes(schema.condition!, value) ? schema.then : schema.otherwise
    if (then !== null && !check(then, value)) return false
  }
  return true
}

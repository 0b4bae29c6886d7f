/** Validates records against their stream's schema; faults name index and field. Schemas are compiled once. */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { invalidRequest, ServiceError, type Detail } from '../service-error.ts'
import { pointer } from '../../../shared/model/json-pointer.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { jsonSchemaOf } from '../../../shared/model/stream-schema.ts'
import type { Schemed, SchemaText } from '../../../shared/model/schema-text.ts'
import { runBounded, ownCpuMs, TookTooLong } from '../concurrency/bounded-work.ts'
import { openLruCache } from '../caches/lru-cache.ts'
import { turns } from '../../../shared/model/turns.ts'
import { openForeignJsonSchema, openJsonSchema } from '../registry/json-schema.ts'
import { createBoundedChecks } from './check-bounded.ts'

const COMPILED_MAX = 1000
const TOO_LARGE = 'is too large for a number (about 1.8e308 at most); use a field of type string to keep it'

/** What a pointer of the validator names. */
const valueAt = (record: unknown, path: string): unknown =>
  path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], record)

function detailOf({ instancePath, keyword, params, message }: ErrorObject, record: unknown, index: number): Detail {
  const root = `/records/${index}${instancePath}`
  if (keyword === 'required') return { path: pointer([String(params.missingProperty)], root), message: 'is required' }
  if (keyword === 'additionalProperties')
    return { path: pointer([String(params.additionalProperty)], root), message: 'is not a field of the stream' }
  // What JSON writes as 1e400 is parsed to an infinity, which is no number of a schema.
  const value = valueAt(record, instancePath)
  if (value === Infinity || value === -Infinity) return { path: root, message: TOO_LARGE }
  return { path: root, message: message ?? 'is invalid' }
}

/** Types that do not restrict which numbers a field may contain. */
const OPEN_TYPE = /^(array<)*(object|any)>*\??$/

/** Fields that may contain numbers of any size; undefined if all may. */
const openFieldsOf = ({ schema, schema_text }: Validated): string[] | undefined =>
  schema_text ? undefined : Object.keys(schema).filter((name) => OPEN_TYPE.test(schema[name]!))

/**
 * Numbers in the `open` fields that JSON readers would change: beyond a double, or integers beyond ±(2^53 − 1). A schema that the stream
 * did not make says itself which integers it takes.
 */
function lossyNumbers(record: unknown, open: string[] | undefined, root: string): Detail[] {
  const details: Detail[] = []
  const isLossy = (value: number): boolean =>
    !Number.isFinite(value) || (open !== undefined && Number.isInteger(value) && !Number.isSafeInteger(value))
  // A path is put together for a fault alone: a record may hold half a million numbers.
  const names: (string | number)[] = []
  const visit = (value: unknown, name: string | number): void => {
    if (typeof value === 'number') {
      if (isLossy(value))
        details.push({
          path: pointer([...names, name].map(String), root),
          message: 'is a number that JSON readers would round; use a field of type string or decimal to keep all digits',
        })
    } else if (typeof value === 'object' && value !== null) {
      names.push(name)
      if (Array.isArray(value)) for (let at = 0; at < value.length && details.length < LIMITS.details_max; at++) visit(value[at], at)
      else visitMembers(value as Record<string, unknown>, Object.keys(value))
      names.pop()
    }
  }
  const visitMembers = (value: Record<string, unknown>, wanted: readonly string[]): void => {
    for (const name of wanted) {
      if (details.length >= LIMITS.details_max) return
      visit(value[name], name)
    }
  }
  if (typeof record === 'object' && record !== null) visitMembers(record as Record<string, unknown>, open ?? Object.keys(record))
  return details
}

type Validated = Schemed & { id: string; account_id: string; schema_id: number | null }

/** What a record must be. In other formats than JSON integers have 64 bits, and the encoder checks their digits. */
const recordSchemaOf = ({ name, format, schema }: Validated) =>
  jsonSchemaOf(name, schema, format === 'json' ? undefined : { integer: { type: 'integer', minimum: -(2 ** 63), maximum: 2 ** 63 } })

/** Two validators of one schema. */
type Validators = { first: ValidateFunction; all(): ValidateFunction }

function ownValidators(schema: SchemaText): Validators {
  let all: ValidateFunction | undefined
  // Most records have no fault.
  return { first: openJsonSchema(schema, 'first'), all: () => (all ??= openJsonSchema(schema, 'all')) }
}

/** Throws 400 for a schema that takes too long to compile. */
function foreignValidators(schema: SchemaText): Validators {
  try {
    const all = openForeignJsonSchema(schema, 'all')
    return { first: openForeignJsonSchema(schema, 'first'), all: () => all }
  } catch (error) {
    if (!(error instanceof TookTooLong)) throw error
    throw invalidRequest([{ path: '/records', message: `can’t be checked by the stream’s schema: ${error.message}` }])
  }
}

/** How long it may take to tell all faults of a record, and those of a request. */
const [ALL_FAULTS_MS, ALL_FAULTS_OF_ALL_MS] = [50, 200]

/** Runs the work a second time where the machine was too busy for it. */
function onceMore<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return work()
  }
}

/** Tells the faults of records: all of each, as long as that is quickly told; then the first. */
function createFaults({ first, all }: Validators): (record: unknown) => readonly ErrorObject[] {
  let spent = 0
  return (record) => {
    const known = first.errors ?? []
    if (spent > ALL_FAULTS_OF_ALL_MS) return known
    const from = ownCpuMs()
    try {
      const validate = all()
      const allOf = () => runBounded(() => (validate(record) ? known : (validate.errors ?? known)), ALL_FAULTS_MS)
      return onceMore(allOf).slice(0, LIMITS.details_max)
    } catch (error) {
      if (error instanceof RangeError) throw error
      return known
    } finally {
      spent += ownCpuMs() - from
    }
  }
}

export function createRecordValidator(now?: () => number) {
  const bounded = createBoundedChecks(now)
  const compiled = openLruCache<string, Validators>(COMPILED_MAX)
  function validatorsOf(stream: Validated): Validators {
    // A stream's schema may change, and its schema id with it.
    const key = `${stream.id}/${stream.schema_id}`
    const known = compiled.get(key)
    if (known) return known
    // For other formats the registry has no JSON Schema: derive one from the fields.
    const schema_text = stream.format === 'json' ? stream.schema_text : null
    const validators = schema_text
      ? foreignValidators(schema_text)
      : ownValidators({ text: JSON.stringify(recordSchemaOf(stream)), references: [] })
    compiled.set(key, validators)
    return validators
  }
  /** Throws 400 if any record does not fit; nothing is written then. */
  return async (stream: Validated, records: unknown[]): Promise<void> => {
    // A non-JSON schema from the registry is enforced when values are encoded; the fields known here are less precise.
    if (stream.format !== 'json' && stream.schema_text) return
    if (stream.schema_text) bounded.admit(stream.account_id)
    const validators = validatorsOf(stream)
    const faultsOf = createFaults(validators)
    const open = openFieldsOf(stream)
    const details: Detail[] = []
    const check = (index: number): boolean => {
      const record = records[index]
      try {
        if (!validators.first(record)) details.push(...faultsOf(record).map((error) => detailOf(error, record, index)))
        else if (open?.length !== 0) details.push(...lossyNumbers(record, open, `/records/${index}`))
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        details.push({ path: `/records/${index}`, message: 'is nested too deeply' })
      }
      return details.length < LIMITS.details_max
    }
    // By the service's own schemas the first fault is found in proportion to the record's bytes.
    if (stream.schema_text) await bounded.run(stream.account_id, records.length, check)
    else await turns(records.length, check)
    if (details.length > 0) throw invalidRequest(details.slice(0, LIMITS.details_max))
  }
}

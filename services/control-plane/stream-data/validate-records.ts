/** Validates records against their stream's schema; faults name index and field. Schemas are compiled once. */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { invalidRequest, type Detail } from '../service-error.ts'
import { pointer } from '../middleware/validate.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { jsonSchemaOf } from '../../../shared/model/stream-schema.ts'
import type { Schemed, SchemaText } from '../../../shared/model/schema-text.ts'
import { TookTooLong } from '../bounded-work.ts'
import { openKept } from '../kept.ts'
import { turns } from '../turns.ts'
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
 * Numbers in the `open` fields that JSON readers would change: beyond a double, or integers beyond ±(2^53 − 1). A schema that the stream did
 * not make says itself which integers it takes.
 */
function lossyNumbers(record: unknown, open: string[] | undefined, root: string): Detail[] {
  const details: Detail[] = []
  const isLossy = (value: number): boolean =>
    !Number.isFinite(value) || (open !== undefined && Number.isInteger(value) && !Number.isSafeInteger(value))
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'number' && isLossy(value)) {
      details.push({
        path,
        message: 'is a number that JSON readers would round; use a field of type string or decimal to keep all digits',
      })
    } else if (typeof value === 'object' && value !== null)
      for (const [name, child] of Object.entries(value)) visit(child, pointer([name], path))
  }
  if (typeof record !== 'object' || record === null) return details
  for (const name of open ?? Object.keys(record)) visit((record as Record<string, unknown>)[name], pointer([name], root))
  return details
}

type Validated = Schemed & { id: string; account_id: string; schema_id: number | null }

/** What a record must be. In other formats than JSON integers have 64 bits, and the encoder checks their digits. */
const recordSchemaOf = ({ name, format, schema }: Validated) =>
  jsonSchemaOf(name, schema, format === 'json' ? undefined : { integer: { type: 'integer', minimum: -(2 ** 63), maximum: 2 ** 63 } })

/** Throws 400 for a schema that takes too long to compile. */
function foreignValidator(schema: SchemaText): ValidateFunction {
  try {
    return openForeignJsonSchema(schema)
  } catch (error) {
    if (!(error instanceof TookTooLong)) throw error
    throw invalidRequest([{ path: '/records', message: `can’t be checked by the stream’s schema: ${error.message}` }])
  }
}

export function createRecordValidator(now: () => number) {
  const checkBounded = createBoundedChecks(now)
  const compiled = openKept<string, ValidateFunction>(COMPILED_MAX)
  function validatorOf(stream: Validated): ValidateFunction {
    // A stream's schema may change, and its schema id with it.
    const key = `${stream.id}/${stream.schema_id}`
    const known = compiled.get(key)
    if (known) return known
    // For other formats the registry has no JSON Schema: derive one from the fields.
    const schema_text = stream.format === 'json' ? stream.schema_text : null
    const validate = schema_text
      ? foreignValidator(schema_text)
      : openJsonSchema({ text: JSON.stringify(recordSchemaOf(stream)), references: [] })
    compiled.set(key, validate)
    return validate
  }
  /** Throws 400 if any record does not fit; nothing is written then. */
  return async (stream: Validated, records: unknown[]): Promise<void> => {
    // A non-JSON schema from the registry is enforced when values are encoded; the fields known here are less precise.
    if (stream.format !== 'json' && stream.schema_text) return
    const validate = validatorOf(stream)
    const open = openFieldsOf(stream)
    const details: Detail[] = []
    const check = (index: number): boolean => {
      const record = records[index]
      try {
        if (validate(record)) {
          if (open?.length !== 0) details.push(...lossyNumbers(record, open, `/records/${index}`))
        } else details.push(...(validate.errors ?? []).map((error) => detailOf(error, record, index)))
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        details.push({ path: `/records/${index}`, message: 'is nested too deeply' })
      }
      return details.length < LIMITS.details_max
    }
    // The service's own schemas cost what the record has bytes.
    if (stream.schema_text) await checkBounded(stream.account_id, records.length, check)
    else await turns(records.length, check)
    if (details.length > 0) throw invalidRequest(details.slice(0, LIMITS.details_max))
  }
}

/** Records against their stream's schema, every fault named by index and field. Compiled once per stream. */
import Ajv, { type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { invalidRequest, type Detail } from '../../../shared/errors/service-error.ts'
import { pointer } from '../middleware/validate.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { jsonSchemaOf } from '../../../shared/model/stream-schema.ts'

const COMPILED_MAX = 1000

function detailOf({ instancePath, keyword, params, message }: ErrorObject, index: number): Detail {
  const root = `/records/${index}${instancePath}`
  if (keyword === 'required') return { path: `${root}/${params.missingProperty}`, message: 'is required' }
  if (keyword === 'additionalProperties')
    return {
      path: `${root}/${String(params.additionalProperty).replaceAll('~', '~0').replaceAll('/', '~1')}`,
      message: 'is not a field of the stream',
    }
  return { path: root, message: message ?? 'is wrong' }
}

/** Fields whose own type does not say what numbers they may hold. */
const OPEN_TYPE = /^(array<)*(object|any)>*\??$/

/** Numbers inside `object` and `any` fields that JSON readers would change: beyond ±(2^53 − 1), or not finite. */
function lossyNumbers(record: unknown, schema: Record<string, string>, root: string): Detail[] {
  const details: Detail[] = []
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'number' && (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))) {
      details.push({ path, message: 'is a number that would lose digits; write it as a string' })
    } else if (typeof value === 'object' && value !== null)
      for (const [name, child] of Object.entries(value)) visit(child, pointer([name], path))
  }
  for (const [name, value] of Object.entries(record as object)) if (OPEN_TYPE.test(schema[name] ?? '')) visit(value, pointer([name], root))
  return details
}

type Validated = { id: string; name: string; schema: Record<string, string>; schema_id: number | null }

export function createRecordValidator() {
  const compiled = new Map<string, ValidateFunction>()
  function validatorOf(stream: Validated): ValidateFunction {
    // A stream's schema may change; its id then does too.
    const key = `${stream.id}/${stream.schema_id}`
    const known = compiled.get(key)
    if (known) return known
    if (compiled.size >= COMPILED_MAX) compiled.clear()
    const validate = addFormats
      .default(new Ajv.Ajv({ strict: false, strictNumbers: true, allErrors: true, ownProperties: true }))
      .compile(jsonSchemaOf(stream.name, stream.schema))
    compiled.set(key, validate)
    return validate
  }
  /** Throws 400 when any record does not fit; nothing is written then. */
  return (stream: Validated, records: unknown[]): void => {
    const validate = validatorOf(stream)
    const details: Detail[] = []
    for (const [index, record] of records.entries()) {
      if (details.length >= LIMITS.details_max) break
      if (validate(record)) details.push(...lossyNumbers(record, stream.schema, `/records/${index}`))
      else details.push(...(validate.errors ?? []).map((error) => detailOf(error, index)))
    }
    if (details.length > 0) throw invalidRequest(details.slice(0, LIMITS.details_max))
  }
}

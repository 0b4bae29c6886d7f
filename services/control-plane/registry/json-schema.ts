/** Compiles JSON Schemas of every draft that Ajv knows, with the schemas they refer to. */
import Ajv, { type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { SchemaText } from '../../../shared/model/schema-text.ts'

const OPTIONS = { strict: false, strictNumbers: true, allErrors: true, ownProperties: true } as const

/**
 * Returns the validator of a schema. Finds other schemas by their own id, or by the reference's name. Throws an Error that says why the
 * schema can't be used.
 */
export function openJsonSchema({ text, references }: SchemaText): ValidateFunction {
  const root = parsed(text)
  const draft = String(root.$schema ?? '')
  const ajv = draft.includes('2020-12') ? new Ajv2020(OPTIONS) : draft.includes('2019-09') ? new Ajv2019(OPTIONS) : new Ajv.Ajv(OPTIONS)
  addFormats.default(ajv)
  for (const { name, text: referred } of references) ajv.addSchema(withoutOldDraft(parsed(referred)), name)
  return ajv.compile(withoutOldDraft(root))
}

function parsed(text: string): Record<string, unknown> {
  const schema: unknown = JSON.parse(text)
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw new Error('it is not a JSON object')
  return schema as Record<string, unknown>
}

/** Removes `$schema` of drafts 4 and 6, so that they are read as draft 7. They are subsets of it, except for draft 4's exclusive bounds. */
function withoutOldDraft(schema: Record<string, unknown>): Record<string, unknown> {
  const { $schema, ...rest } = schema
  return /draft-0[46]/.test(String($schema)) ? rest : schema
}

/** Checks a step's config against its SmartModule's JSON Schema. Runs in a workshop, because accounts write the schema and its patterns. */
import Ajv from 'ajv'
import addFormats from 'ajv-formats'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { pointer } from '../../../shared/model/json-pointer.ts'

const FAULTS_MAX = 100
const TEXT_MAX = 500

/** The validator's words for these are about the object, not about the member that the path names. */
const WORDS: Record<string, string> = { additionalProperties: 'is not a parameter of this SmartModule', required: 'is required' }

/** One fault of a config; `path` is a JSON pointer into it. */
export type ConfigFault = { path: string; message: string }

/** Why the declared `parameters` are not a JSON Schema; undefined when they are, or none are declared. */
export function parametersFault(parameters: unknown): string | undefined {
  if (typeof parameters !== 'object' || parameters === null) return undefined
  try {
    new Ajv.Ajv({ strict: false, logger: false }).compile(parameters)
    return undefined
  } catch (error) {
    return reasonOf(error).slice(0, TEXT_MAX)
  }
}

/** All faults of the config; none when it is valid or no schema is declared. Throws when the schema itself is invalid. */
export function configFaults(parameters: unknown, config: unknown): ConfigFault[] {
  if (typeof parameters !== 'object' || parameters === null) return []
  const validate = addFormats.default(new Ajv.Ajv({ strict: false, allErrors: true, logger: false })).compile(parameters)
  if (validate(config)) return []
  // An `if` that fails is there beside what its `then` or `else` found.
  const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if')
  return errors.slice(0, FAULTS_MAX).map(({ instancePath, keyword, message = 'is wrong', params, propertyName }) => {
    // What is wrong with a name is said of the object that has it.
    const member: unknown = params.missingProperty ?? params.additionalProperty ?? params.propertyName ?? propertyName
    const allowed = Array.isArray(params.allowedValues) ? `: ${params.allowedValues.join(', ')}` : ''
    return {
      path: pointer(member === undefined ? [] : [String(member)], instancePath).slice(0, TEXT_MAX),
      message: `${WORDS[keyword] ?? message}${allowed}`.slice(0, TEXT_MAX),
    }
  })
}

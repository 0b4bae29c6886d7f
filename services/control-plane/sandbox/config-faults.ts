/** Checks a step's config against its SmartModule's JSON Schema. Runs in the sandbox, because accounts write the schema's patterns. */
import Ajv from 'ajv'
import addFormats from 'ajv-formats'

/** One fault of a config; `path` is a JSON pointer into it. */
export type ConfigFault = { path: string; message: string }

/** All faults of the config; none when it is valid or no schema is declared. Throws when the schema itself is invalid. */
export function configFaults(parameters: unknown, config: unknown): ConfigFault[] {
  if (typeof parameters !== 'object' || parameters === null) return []
  const validate = addFormats.default(new Ajv.Ajv({ strict: false, allErrors: true })).compile(parameters)
  if (validate(config)) return []
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const member = params.missingProperty ?? params.additionalProperty
    const allowed = Array.isArray(params.allowedValues) ? `: ${params.allowedValues.join(', ')}` : ''
    return { path: `${instancePath}${member === undefined ? '' : `/${member}`}`, message: `${message ?? 'is wrong'}${allowed}` }
  })
}

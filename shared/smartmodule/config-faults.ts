/** A step's config against the JSON Schema that its SmartModule declares. Run in the sandbox: the schema's patterns are the account's. */
import Ajv from 'ajv'
import addFormats from 'ajv-formats'

/** `path` is a JSON pointer into the config. */
export type ConfigFault = { path: string; message: string }

/** Every fault; none where no schema is declared. */
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

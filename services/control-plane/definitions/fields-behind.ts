/** The types of records' members behind a chain, for sinks that make something of them. */
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { celTypeOf } from './cel-types.ts'
import type { ResolvedEndpoint } from './resolve-endpoint.ts'

type Fields = Record<string, string>
type StepConfig = PipelineDefinition['steps'][number]['config']

/** The stream's type of what `dps/cast` makes of a field; any value where something else may stay. */
function castTypeOf(asked: unknown): string {
  const { type, on_empty, on_failure } = typeof asked === 'object' && asked !== null ? (asked as Record<string, unknown>) : { type: asked }
  if (on_failure === 'keep' || (on_empty === 'keep' && type !== 'string')) return 'any'
  return `${type === 'timestamp' ? 'datetime' : String(type)}?`
}

/** What each built-in SmartModule does to the types of members; after any other one, and where it makes new records, they are not known. */
const FIELDS_BEHIND: Record<string, (fields: Fields, config: StepConfig) => Fields | undefined> = {
  'dps/filter': (fields) => fields,
  'dps/sample': (fields) => fields,
  'dps/timestamp': (fields) => fields,
  'dps/route-by': (fields) => fields,
  'dps/lookup': (fields, { into }) => ({ ...fields, [String(into)]: 'any' }),
  'dps/parse': (fields, { field, into }) => ({ ...fields, [String(into ?? field)]: 'any' }),
  'dps/explode': (fields, { field }) => ({ ...fields, [String(field).split('.')[0]!]: 'any' }),
  'dps/cel': (fields, { set, emit }) => {
    if (emit !== undefined) return undefined
    const types = Object.entries((set ?? {}) as Record<string, unknown>).map(([name, expression]) => [
      name,
      celTypeOf(String(expression), fields),
    ])
    return { ...fields, ...Object.fromEntries(types) }
  },
  'dps/redact': (fields, config) => {
    const hidden = (config.fields ?? {}) as Record<string, unknown>
    const left = Object.entries(fields).filter(([name]) => hidden[name] !== 'drop')
    return Object.fromEntries(left.map(([name, type]) => [name, hidden[name] === 'mask' || hidden[name] === 'hash' ? 'string' : type]))
  },
  'dps/text-classifier': (fields, { output_field }) =>
    typeof output_field === 'string' ? { ...fields, [output_field]: 'string' } : fields,
  'dps/cast': (fields, config) => {
    const asked = (config.fields ?? {}) as Record<string, unknown>
    const typeOf = (name: string, type: string): string => {
      if (Object.hasOwn(asked, name)) return castTypeOf(asked[name])
      const isWithin = type.startsWith('array') && Object.keys(asked).some((path) => path.startsWith(`${name}.`))
      return isWithin ? 'any' : type
    }
    return Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, typeOf(name, type)]))
  },
}

/** The types of records' members after the chain; undefined if they are not known, or if a step may change them in any way. */
export function fieldsBehind(source: ResolvedEndpoint, steps: PipelineDefinition['steps']): Fields | undefined {
  const before = source.kind === 'stream' ? source.stream.schema : source.fields
  // By own names alone: an account may name a SmartModule `constructor`.
  const behind = (name: string) => (Object.hasOwn(FIELDS_BEHIND, name) ? FIELDS_BEHIND[name] : undefined)
  return steps.reduce<Fields | undefined>((fields, { name, config }) => fields && behind(name)?.(fields, config), before)
}

/** The types of records' members behind a chain, for sinks that make something of them. */
import type { PipelineRequest } from '../../../shared/api/pipeline-requests.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { StreamConfig, streamConnector } from '../../../shared/connectors/stream/connector.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { bare, isOptional } from '../../../shared/model/stream-schema.ts'
import type { Deps } from '../deps.ts'
import type { Queryable } from '../store/database.ts'
import { findStream } from '../store/streams.ts'
import { mappedFields } from './mapped-fields.ts'
import { connectorIdOf, resolveConfig } from './resolve-endpoint.ts'

type Fields = Record<string, string>
type StepConfig = PipelineDefinition['steps'][number]['config']
type Steps = readonly Pick<PipelineDefinition['steps'][number], 'name' | 'config'>[]
/** Infers the types of CEL expressions. Accounts can send as many as a body holds, so this never runs on the main thread. */
type TypesOf = (expressions: string[], fields: Fields) => Promise<string[]>

/** The stream's type of what `dps/cast` makes of a field; any value where something else may stay. */
function castTypeOf(asked: unknown): string {
  const { type, on_empty, on_failure } = typeof asked === 'object' && asked !== null ? (asked as Record<string, unknown>) : { type: asked }
  if (on_failure === 'keep' || (on_empty === 'keep' && type !== 'string')) return 'any'
  return `${type === 'timestamp' ? 'datetime' : String(type)}?`
}

/** Expressions of one step beyond this are not read: what they give may be any value. A small one costs as much as its length and this. */
const EXPRESSIONS_CHARACTERS_MAX = 128 << 10
const EXPRESSION_COST = 64

/** The types behind the members that `dps/cel` sets. */
async function celFields(fields: Fields, set: Record<string, unknown>, typesOf: TypesOf): Promise<Fields> {
  let left = EXPRESSIONS_CHARACTERS_MAX
  const entries = Object.entries(set).map(([name, expression]) => [name, String(expression)] as const)
  const read = entries.filter(([, expression]) => (left -= expression.length + EXPRESSION_COST) >= 0)
  const types =
    read.length > 0
      ? await typesOf(
          read.map(([, expression]) => expression),
          fields,
        )
      : []
  return {
    ...fields,
    ...Object.fromEntries(entries.map(([name]) => [name, 'any'])),
    ...Object.fromEntries(read.map(([name], index) => [name, types[index] ?? 'any'])),
  }
}

/** Whether one of the names, sorted, begins with the prefix. */
function hasPrefix(sorted: readonly string[], prefix: string): boolean {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < prefix) low = middle + 1
    else high = middle
  }
  return sorted[low]?.startsWith(prefix) ?? false
}

/** Types of texts that have a form, also as items: what is found in one, and masked, leaves it without. */
const TEXTS_OF_A_FORM = /datetime|date|uuid|decimal|bytes/

/** The types behind `dps/redact`, which leaves null as it is. */
function redactedFields(fields: Fields, config: StepConfig): Fields {
  const hidden = (config.fields ?? {}) as Record<string, unknown>
  const paths = Object.keys(hidden).toSorted((a, b) => (a < b ? -1 : 1))
  const looksIntoTexts = Array.isArray(config.detect) && config.detect.length > 0
  const typeOf = (name: string, type: string): string => {
    const action = Object.hasOwn(hidden, name) ? hidden[name] : undefined
    if (action === 'mask' || action === 'hash') return isOptional(type) || type === 'any' ? 'string?' : 'string'
    if (action === 'null') return type === 'any' ? 'any' : `${bare(type)}?`
    if (type.startsWith('array') && hasPrefix(paths, `${name}.`)) return 'any'
    return looksIntoTexts && TEXTS_OF_A_FORM.test(type) ? 'any' : type
  }
  const left = Object.entries(fields).filter(([name]) => !Object.hasOwn(hidden, name) || hidden[name] !== 'drop')
  return Object.fromEntries(left.map(([name, type]) => [name, typeOf(name, type)]))
}

/** What each built-in SmartModule does to the types of members; after any other one, and where it makes new records, they are not known. */
const FIELDS_BEHIND: Record<
  string,
  (fields: Fields, config: StepConfig, typesOf: TypesOf) => Fields | undefined | Promise<Fields | undefined>
> = {
  'dps/filter': (fields) => fields,
  'dps/sample': (fields) => fields,
  'dps/timestamp': (fields) => fields,
  'dps/route-by': (fields) => fields,
  'dps/lookup': (fields, { into }) => ({ ...fields, [String(into)]: 'any' }),
  'dps/parse': (fields, { field, into }) => ({ ...fields, [String(into ?? field)]: 'any' }),
  // A member whose name is the whole path comes first.
  'dps/explode': (fields, { field }) => ({
    ...fields,
    [Object.hasOwn(fields, String(field)) ? String(field) : String(field).split('.')[0]!]: 'any',
  }),
  // The reason, or null in a record that was not valid before, or what is left out.
  'dps/validate': (fields, { on_invalid, report }) =>
    on_invalid === 'keep' && typeof report === 'string' ? { ...fields, [report]: 'string?' } : fields,
  'dps/map-fields': mappedFields,
  // What objects hold, their type does not say.
  'dps/flatten': (fields) => (Object.values(fields).some((type) => /^(object|any)\??$/.test(type)) ? undefined : fields),
  'dps/cel': (fields, { set, emit }, typesOf) =>
    emit === undefined ? celFields(fields, (set ?? {}) as Record<string, unknown>, typesOf) : undefined,
  'dps/redact': redactedFields,
  'dps/text-classifier': (fields, { output_field }) =>
    typeof output_field === 'string' ? { ...fields, [output_field]: 'string' } : fields,
  'dps/cast': (fields, config) => {
    const asked = (config.fields ?? {}) as Record<string, unknown>
    const paths = Object.keys(asked).toSorted((a, b) => (a < b ? -1 : 1))
    const typeOf = (name: string, type: string): string => {
      if (Object.hasOwn(asked, name)) return castTypeOf(asked[name])
      const isWithin = type.startsWith('array') && hasPrefix(paths, `${name}.`)
      return isWithin ? 'any' : type
    }
    return Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, typeOf(name, type)]))
  },
}

/** A sink that makes a table or a file of records has no use for more. */
const FIELDS_MAX = 10_000

/** The types of records' members after the chain; undefined if they are not known or too many, or if a step may change them in any way. */
export async function fieldsAfter(before: Fields | undefined, steps: Steps, typesOf: TypesOf): Promise<Fields | undefined> {
  let fields = before
  for (const { name, config } of steps) {
    // By own names alone: an account may name a SmartModule `constructor`.
    const behind = Object.hasOwn(FIELDS_BEHIND, name) ? FIELDS_BEHIND[name] : undefined
    fields = fields && (await behind?.(fields, config, typesOf))
    if (fields && Object.keys(fields).length > FIELDS_MAX) return undefined
  }
  return fields
}

const DEADLINES = { cpuMs: 5000, wallMs: 15_000 }

async function fieldsOfSource(db: Queryable, accountId: string, source: PipelineRequest['source']): Promise<Fields | undefined> {
  const config = resolveConfig('source', source, [])
  if (!config) return undefined
  const id = connectorIdOf(source)
  if (id !== streamConnector.id) return findConnector(id)?.source?.fields?.(config)
  return (await findStream(db, accountId, StreamConfig.parse(config).stream_id))?.schema
}

/**
 * The names and types that the sink gets for the chain's records; nothing for a stream, which has its own schema. May take seconds, so
 * never call it in a transaction.
 */
export async function fieldsBehind(
  { db, workshop }: Pick<Deps, 'db' | 'workshop'>,
  accountId: string,
  { source, sink }: Pick<PipelineRequest, 'source' | 'sink'>,
  steps: Steps,
): Promise<Fields | undefined> {
  if (connectorIdOf(sink) === streamConnector.id) return undefined
  return fieldsAfter(await fieldsOfSource(db, accountId, source), steps, async (expressions, fields) => {
    const answer = await workshop.run(accountId, { kind: 'types', expressions, fields }, DEADLINES)
    return 'types' in answer ? answer.types : []
  })
}

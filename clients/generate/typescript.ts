/** The TypeScript client's types and resources, as source text. */
import type { Api, JsonSchema, Method } from './document.ts'

const WORD = /^[A-Za-z_$][\w$]*$/
const named = (ref: string): string => ref.split('/').at(-1) ?? ''

/** A JSON Schema as a TypeScript type; `scope` stands before the names of other schemas. */
function typeOf(schema: JsonSchema, scope: string): string {
  const { $ref, enum: values, const: constant, anyOf, oneOf, allOf, type } = schema
  if ($ref !== undefined) return `${scope}${named($ref)}`
  if (constant !== undefined) return JSON.stringify(constant)
  if (values) return values.map((each) => JSON.stringify(each)).join(' | ')
  const either = anyOf ?? oneOf
  if (either) return [...new Set(either.map((each) => typeOf(each, scope)))].join(' | ')
  if (allOf) return allOf.map((each) => `(${typeOf(each, scope)})`).join(' & ')
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each }, scope)).join(' | ')
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
    case 'number':
      return 'number'
    case 'array': {
      if (schema.prefixItems) return `[${schema.prefixItems.map((each) => typeOf(each, scope)).join(', ')}]`
      const item = schema.items ? typeOf(schema.items, scope) : 'unknown'
      return WORD.test(item.replaceAll('.', '')) ? `${item}[]` : `(${item})[]`
    }
    case 'object':
      return objectOf(schema, scope)
    default:
      return 'unknown'
  }
}

function objectOf({ properties, required = [], additionalProperties }: JsonSchema, scope: string): string {
  const members = Object.entries(properties ?? {}).map(([name, schema]) => {
    const note = schema.description ? `/** ${schema.description.replaceAll('*/', '*\\/')} */ ` : ''
    return `${note}${WORD.test(name) ? name : JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema, scope)}`
  })
  if (members.length > 0) return `{ ${members.join('; ')} }`
  return typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
    ? `Record<string, ${typeOf(additionalProperties, scope)}>`
    : 'Record<string, unknown>'
}

const HEADER = '// Generated from the contracts in shared/api by `make clients`. Changes belong there.\n'

/** All schemas as types. */
export function typesFile({ schemas }: Api): string {
  const types = Object.entries(schemas).map(([name, schema]) => `export type ${name} = ${typeOf(schema, '')}\n`)
  return `${HEADER}/** What the service takes and answers. */\n\n${types.join('\n')}`
}

const pathParameters = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
const camel = (name: string): string => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

function pathText(path: string): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => `\${segment(${camel(name)})}`)
  return filled === path ? `'${path}'` : `\`${filled}\``
}

const queryTypeName = ({ resource, name }: Method): string => `${pascal(resource)}${pascal(name)}Query`

function queryType(method: Method): string {
  const members = method.query
    .filter(({ name }) => !(method.events && name === 'follow'))
    .map(({ name, required, schema }) => `${name}${required ? '' : '?'}: ${typeOf(schema, 'T.')}`)
  return `export type ${queryTypeName(method)} = { ${members.join('; ')} }\n`
}

function callOf(method: Method): string {
  const { contract, body, query, replies, name } = method
  const options = [
    ...(query.length > 0 ? ['query'] : []),
    ...(body ? ['body'] : []),
    ...(contract.isRead ? ['isRead: true'] : []),
    // Answers that hold a secret are not kept for a second request.
    ...(contract.isIdempotent && !contract.secretMembers ? ['isIdempotent: true'] : []),
    '...options',
  ]
  const parameters = [
    ...pathParameters(contract.path).map((each) => `${camel(each)}: string`),
    ...(body ? [`body${body.required ? '' : '?'}: ${typeOf(body.schema, 'T.')}`] : []),
    ...(query.length > 0 ? [`query: ${queryTypeName(method)}${query.some((each) => each.required) ? '' : ' = {}'}`] : []),
    `options: ${['RequestOptions', ...(contract.isTagged ? ['Tagged'] : []), ...(contract.isConditional ? ['Conditional'] : [])].join(' & ')} = {}`,
  ]
  const types = [...new Set(replies.map((each) => typeOf(each, 'T.')))]
  const reply = types.length === 0 ? 'void' : [...types, ...(method.mayBeEmpty ? ['undefined'] : [])].join(' | ')
  const call = `call<${reply}>('${contract.method}', ${pathText(contract.path)}, { ${options.join(', ')} })`
  return `/** ${contract.summary}. */\n${name}: (${parameters.join(', ')}) => ${call},`
}

/** All items of a list, beside its pages. */
function allOf(method: Method): string[] {
  const { pages, contract, name, replies } = method
  if (!pages) return []
  const type = queryTypeName(method)
  const parameters = [
    ...pathParameters(contract.path).map((each) => `${camel(each)}: string`),
    `query: Omit<${type}, 'page' | 'cursor'> = {}`,
    'options: RequestOptions = {}',
  ]
  const call = `call<${typeOf(replies[0]!, 'T.')}>('GET', ${pathText(contract.path)}, { query: { page_size: PAGE_SIZE, ...query, cursor }, ...options })`
  return [
    `/** Every item of \`${name}\`; fetches pages as they are needed. */\n${name.replace(/^list/, 'all')}: (${parameters.join(', ')}) => allOf((cursor) => ${call}, (page) => page.${pages.member}),`,
  ]
}

function listenOf(method: Method, hasReply: boolean): string {
  const { contract, events = {}, name } = method
  const data = Object.entries(events).map(([event, schema]) => `${event}: T.${schema}`)
  const parameters = [
    ...pathParameters(contract.path).map((each) => `${camel(each)}: string`),
    ...(method.query.length > 0 ? [`query: ${queryTypeName(method)} = {}`] : []),
    'options: ListenOptions = {}',
  ]
  const query = hasReply ? "{ ...query, follow: 'true' }" : method.query.length > 0 ? 'query' : '{}'
  const own = hasReply ? name.replace(/^get/, 'follow') : name
  return `/** ${contract.summary}. */\n${own}: (${parameters.join(', ')}) => listen<{ ${data.join('; ')} }>(transport, ${pathText(contract.path)}, ${query}, options),`
}

/** The operations, by resource. */
export function resourcesFile({ methods }: Api): string {
  const byResource = Map.groupBy(methods, ({ resource }) => resource)
  const resources = [...byResource].map(([resource, own]) => {
    const members = own.flatMap((method) => [
      ...(method.events && method.replies.length === 0 ? [] : [callOf(method)]),
      ...allOf(method),
      ...(method.events ? [listenOf(method, method.replies.length > 0)] : []),
    ])
    return `${resource}: {\n${members.join('\n')}\n},`
  })
  const queries = methods.filter(({ query }) => query.length > 0).map(queryType)
  return `${HEADER}/** Every operation of the service, by resource. */
import { listen, type ListenOptions } from '../core/events.ts'
import { allOf, PAGE_SIZE } from '../core/pages.ts'
import { segment, type CallOptions, type Transport } from '../core/transport.ts'
import type * as T from './types.ts'

/** What may be said of any request. */
export type RequestOptions = Pick<CallOptions, 'idempotencyKey' | 'signal'>
/** Of what answers with an ETag: the version of the resource. */
export type Tagged = Pick<CallOptions, 'onTag'>
/** Of what is refused where the resource is another one by now. */
export type Conditional = Pick<CallOptions, 'ifMatch'>

${queries.join('\n')}
/** The resources over a transport. */
export function createResources(transport: Transport) {
const { call } = transport
return {
${resources.join('\n')}
}
}
`
}

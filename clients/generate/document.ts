/** What the clients are generated from: the operations that a client uses, and the schemas of the OpenAPI document. */
import { OPERATIONS } from '../../services/control-plane/routes/index.ts'
import { openApiDocument } from '../../shared/api/openapi.ts'
import type { Contract } from '../../shared/api/contract.ts'

export type JsonSchema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  items?: JsonSchema | false
  prefixItems?: JsonSchema[]
  description?: string
}

export type Parameter = { name: string; in: string; required: boolean; schema: JsonSchema; $ref?: string }
type Content = Record<string, { schema: JsonSchema }>
type Described = {
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { content?: Content }>
}

/** An operation as a method of a client: `resource` and `name` are what it is called there. */
export type Method = {
  resource: string
  name: string
  contract: Contract
  query: Parameter[]
  body: { schema: JsonSchema; required: boolean } | undefined
  /** Of its successes that have a body. */
  replies: JsonSchema[]
  /** A list of pages that follow each other by cursors: the member that holds a page's items, and their schema. */
  pages: { member: string; item: JsonSchema } | undefined
  /** Some success has none. */
  mayBeEmpty: boolean
  /** By the event's name, that of its data's schema. */
  events: Record<string, string> | undefined
}

/** By the first segment of the path, what the operations' names call it. */
const NOUNS: Record<string, string> = {
  account: 'Account',
  audit: 'Audit',
  connectors: 'Connector',
  events: 'Event',
  jobs: 'Job',
  keys: 'Key',
  lineage: 'Lineage',
  manifests: 'Manifest',
  members: 'Member',
  overview: 'Overview',
  pipelines: 'Pipeline',
  secrets: 'Secret',
  session: 'Session',
  smartmodules: 'SmartModule',
  streams: 'Stream',
}

/** `listStreams` of streams is `list`, `getPipelineStatus` of pipelines is `getStatus`. */
function nameOf(id: string, noun: string): string {
  const short = id.replace(new RegExp(`${noun}s?`), '')
  return short === '' ? id : short
}

/** What a list's page holds, where its answer says how to go on. */
function pagesOf(
  id: string,
  query: readonly Parameter[],
  replies: readonly JsonSchema[],
  schemas: Record<string, JsonSchema>,
): Method['pages'] {
  const properties = schemas[replies[0]?.$ref?.split('/').at(-1) ?? '']?.properties
  if (!properties?.next_cursor || !query.some(({ name }) => name === 'cursor')) return undefined
  if (!id.startsWith('list')) throw new Error(`${id} has pages, and is not named list…`)
  const found = Object.entries(properties).find(([, { type }]) => type === 'array')
  return found?.[1].items ? { member: found[0], item: found[1].items } : undefined
}

export type Api = { methods: Method[]; schemas: Record<string, JsonSchema> }

/** Everything that a client has. Throws for an operation of a resource that has no name here. */
export function describeApi(): Api {
  const contracts = OPERATIONS.map(({ contract }) => contract)
  const document = openApiDocument(contracts) as {
    paths: Record<string, Record<string, Described>>
    components: { schemas: Record<string, JsonSchema> }
  }
  const methods = contracts.map((contract): Method => {
    const resource = contract.path.split('/')[1] ?? ''
    const noun = NOUNS[resource]
    if (noun === undefined)
      throw new Error(`${contract.path}: say in clients/generate/document.ts (NOUNS) what /${resource} is called in the clients`)
    const found = document.paths[contract.path.replaceAll(/:(\w+)/g, '{$1}')]?.[contract.method.toLowerCase()]
    if (!found) throw new Error(`${contract.id} is not in the document`)
    const body = found.requestBody?.content['application/json']
    const successes = Object.entries(found.responses).filter(([status]) => status.startsWith('2'))
    const query = found.parameters.filter((each) => each.in === 'query')
    const replies = successes.flatMap(([, { content }]) => content?.['application/json']?.schema ?? [])
    return {
      resource,
      name: nameOf(contract.id, noun),
      contract,
      query,
      body: body && { schema: body.schema, required: found.requestBody!.required },
      replies,
      pages: pagesOf(contract.id, query, replies, document.components.schemas),
      mayBeEmpty: successes.some(([, { content }]) => !content),
      events:
        contract.events && Object.fromEntries(Object.entries(contract.events).map(([name, schema]) => [name, String(schema.meta()?.id)])),
    }
  })
  return { methods, schemas: document.components.schemas }
}

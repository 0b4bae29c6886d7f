/** The built-in connectors. They are defined in code, so a page is a slice of an array. */
import { z } from 'zod'
import {
  checkConnectorContract,
  getConnectorContract,
  listConnectorsContract,
  validateConnectorContract,
} from '../../../shared/api/connectors.ts'
import { CONNECTORS, findConnector } from '../../../shared/connectors/catalogue.ts'
import { kindOf, type Connector } from '../../../shared/connectors/connector.ts'
import { invalidRequest, notFound, type Detail } from '../service-error.ts'
import { checkEndpoint } from '../definitions/check-endpoint.ts'
import type { Deps } from '../deps.ts'
import { listReply } from './list-reply.ts'
import { operation } from './operation.ts'
import { assertMayUse, secretFaults } from '../definitions/may-use.ts'
import { resolveConfig } from '../definitions/resolve-endpoint.ts'

const show = (connector: Connector) => {
  const { id, name, description, version, created_at } = connector
  return { id, name, description, version, kind: kindOf(connector), created_at }
}

const SIDES = ['source', 'sink'] as const
type Side = (typeof SIDES)[number]

/** The schema of what a client may send: members with a default are optional. */
const schemaOf = (config: z.ZodObject) => z.toJSONSchema(config, { io: 'input' })

export const listConnectorsOperation = operation(listConnectorsContract, async (_deps, _caller, { query }) => {
  const matching = CONNECTORS.filter(
    (each) => (query.name === undefined || each.name === query.name) && (query.kind === undefined || kindOf(each) === query.kind),
  )
  const sign = query.sort.startsWith('-') ? -1 : 1
  const by = query.sort.replace('-', '') as 'name' | 'created_at'
  const sorted = matching.toSorted((a, b) => sign * (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0))
  const from = (query.page - 1) * query.page_size
  return listReply(
    'connectors',
    { items: sorted.slice(from, from + query.page_size), total: sorted.length, nextCursor: undefined },
    query,
    show,
  )
})

export const getConnectorOperation = operation(getConnectorContract, async (_deps, _caller, { params }) => {
  const connector = findConnector(params.id)
  if (!connector) throw notFound('the connector')
  const { source, sink } = connector
  const schemas = {
    ...(source ? { source_schema: schemaOf(source.config) } : {}),
    ...(sink ? { sink_schema: schemaOf(sink.config) } : {}),
  }
  const config_schema = source && sink ? { anyOf: [schemaOf(source.config), schemaOf(sink.config)] } : schemaOf((source ?? sink)!.config)
  const checkable_sides = SIDES.filter((side) => connector[side]?.check)
  return { status: 200, body: { ...show(connector), config_schema, ...schemas, checkable_sides } }
})

type Asked = { side?: Side; config: Record<string, unknown> }

/** The side to examine, the parsed config, and the config's faults with pointers into it. */
async function examine(
  { db }: Pick<Deps, 'db'>,
  accountId: string,
  id: string,
  { side, config }: Asked,
): Promise<{ side: Side; config: Record<string, unknown> | undefined; details: Detail[] }> {
  const connector = findConnector(id)
  if (!connector) throw notFound('the connector')
  const sides = SIDES.filter((each) => connector[each])
  const meant = side ?? (sides.length === 1 ? sides[0] : undefined)
  if (!meant) throw invalidRequest([{ path: '/side', message: 'is required: the connector is both a source and a sink' }])
  if (!sides.includes(meant)) throw invalidRequest([{ path: '/side', message: `the connector is not a ${meant}` }])
  const details: Detail[] = []
  const resolved = resolveConfig(meant, { connector_id: id, config }, details, '')
  for (const { path, message } of await secretFaults(db, accountId, { connector_id: id, config: resolved }))
    details.push({ path: `/config${path}`, message })
  return { side: meant, config: resolved, details: details.map(({ path, message }) => ({ path: path.replace(/^\/config/, ''), message })) }
}

export const validateConnectorOperation = operation(validateConnectorContract, async (deps, { accountId }, { params, body }) => {
  const { config, details } = await examine(deps, accountId, params.id, body)
  const valid = details.length === 0
  return { status: 200, body: { valid, details, ...(valid ? { config } : {}) } }
})

export const checkConnectorOperation = operation(checkConnectorContract, async (deps, caller, { params, body }) => {
  const { accountId } = caller
  // Only secrets: a check reads and writes no records.
  assertMayUse(caller, { sink: { connector_id: '', config: body.config } })
  const from = performance.now()
  const { side, config, details } = await examine(deps, accountId, params.id, body)
  const faults =
    details.length > 0 || !config ? details : await checkEndpoint(deps, accountId, side, { connector_id: params.id, config }, '')
  return { status: 200, body: { ok: faults.length === 0, details: faults, took_ms: Math.round(performance.now() - from) } }
})

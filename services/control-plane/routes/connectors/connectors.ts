/** The built-in connectors. They live in code, so a page is cut from an array. */
import { z } from 'zod'
import { getConnectorContract, listConnectorsContract } from '../../../../shared/api/connectors.ts'
import { CONNECTORS, findConnector } from '../../../../shared/connectors/catalogue.ts'
import type { Connector } from '../../../../shared/connectors/connector.ts'
import { notFound } from '../../../../shared/errors/service-error.ts'
import { listReply } from '../list-reply.ts'
import { operation } from '../operation.ts'

const show = ({ id, name, description, version, kind, created_at }: Connector) => ({ id, name, description, version, kind, created_at })

export const listConnectorsOperation = operation(listConnectorsContract, async (_deps, _caller, { query }) => {
  const matching = CONNECTORS.filter(
    ({ name, kind }) => (query.name === undefined || name === query.name) && (query.kind === undefined || kind === query.kind),
  )
  const sign = query.sort.startsWith('-') ? -1 : 1
  const by = query.sort.replace('-', '') as 'name' | 'created_at'
  const sorted = matching.toSorted((a, b) => sign * (a[by] < b[by] ? -1 : 1))
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
  return { status: 200, body: { ...show(connector), config_schema: z.toJSONSchema(connector.config) } }
})

/** Connectors: the built-in catalogue. */
import { z } from 'zod'
import { IdParams, ListQuery, listOf } from './common.ts'
import { contract, Id, Timestamp } from './operation.ts'

export const ConnectorItem = z.object({
  id: Id,
  name: z.string(),
  description: z.string(),
  version: z.string(),
  kind: z.enum(['source', 'sink', 'both']),
  created_at: Timestamp,
})

export const listConnectorsContract = contract({
  id: 'listConnectors',
  method: 'GET',
  path: '/connectors',
  summary: 'List connectors',
  tag: 'Connectors',
  scope: 'connectors:read',
  request: { query: ListQuery.omit({ cursor: true }).extend({ kind: z.enum(['source', 'sink', 'both']).optional() }) },
  responses: { 200: listOf('connectors', ConnectorItem) },
})

export const getConnectorContract = contract({
  id: 'getConnector',
  method: 'GET',
  path: '/connectors/:id',
  summary: 'Get one connector with the JSON Schema of its config',
  tag: 'Connectors',
  scope: 'connectors:read',
  request: { params: IdParams },
  responses: { 200: ConnectorItem.extend({ config_schema: z.record(z.string(), z.unknown()) }) },
})

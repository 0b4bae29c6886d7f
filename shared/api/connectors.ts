/** Contracts for connectors, which are a built-in catalogue. */
import { z } from 'zod'
import { IdParams, Config, JsonObject, ListQuery, listOf } from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'

const Kind = z.enum(['source', 'sink', 'both']).meta({ id: 'ConnectorKind' })
const Side = z.enum(['source', 'sink'])
/** A connector as lists show it. */
const ConnectorItem = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    version: z.string(),
    kind: Kind,
    created_at: Timestamp,
  })
  .meta({ id: 'Connector' })

/** `GET /connectors`: returns 200 with a page of connectors. */
export const listConnectorsContract = contract({
  id: 'listConnectors',
  method: 'GET',
  path: '/connectors',
  summary: 'List connectors',
  tag: 'Connectors',
  scope: 'connectors:read',
  request: { query: ListQuery.omit({ cursor: true, status: true }).extend({ kind: Kind.optional() }) },
  responses: { 200: listOf('connectors', ConnectorItem) },
})

/** `GET /connectors/:id`: returns 200 with the connector and the JSON Schemas of its configs. */
export const getConnectorContract = contract({
  id: 'getConnector',
  method: 'GET',
  path: '/connectors/:id',
  summary: 'Get one connector with the JSON Schema of its config',
  tag: 'Connectors',
  scope: 'connectors:read',
  request: { params: IdParams },
  responses: {
    200: ConnectorItem.extend({
      config_schema: JsonObject,
      source_schema: JsonObject.optional(),
      sink_schema: JsonObject.optional(),
      checkable_sides: z.array(Side).describe('Which configs can be checked by connecting; of the others a check asks no other system'),
    }),
  },
})

const Asked = z
  .strictObject({
    side: Side.optional().describe('Required for a connector that is both a source and a sink'),
    config: Config.default({}),
  })
  .meta({ id: 'ConnectorConfigRequest' })
const Faults = z.array(
  z.object({ path: z.string().describe('JSON pointer (RFC 6901) into the config'), message: z.string() }).meta({ id: 'ConfigFault' }),
)

/** `POST /connectors/:id/validate`: returns 200 with every fault of a config, or with the config and its defaults. */
export const validateConnectorContract = contract({
  id: 'validateConnector',
  method: 'POST',
  path: '/connectors/:id/validate',
  summary: 'Validate a config field by field, without connecting to anything',
  tag: 'Connectors',
  scope: 'connectors:read',
  isRead: true,
  request: { params: IdParams, body: Asked },
  responses: {
    200: z.object({
      valid: z.boolean(),
      details: Faults,
      config: JsonObject.optional().describe('The config with its defaults filled in; present only if it is valid'),
    }),
  },
})

/** `POST /connectors/:id/check`: returns 200 with every fault found by connecting, and the time that took in milliseconds. */
export const checkConnectorContract = contract({
  id: 'checkConnector',
  method: 'POST',
  path: '/connectors/:id/check',
  summary: 'Check a config by connecting and reading metadata: writes nothing, moves no position, gives up after a few seconds',
  tag: 'Connectors',
  scope: 'connectors:write',
  isRead: true,
  request: { params: IdParams, body: Asked },
  responses: { 200: z.object({ ok: z.boolean(), details: Faults, took_ms: z.number().int() }) },
})

/** Contract for the audit log: who changed what, when, from where. */
import { z } from 'zod'
import { JsonObject, ListQuery, listOf, Reference, TimeSort } from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'

const Shown = JsonObject.nullable()

/** One request that changed something, or was to. */
export const AuditEntry = z
  .object({
    id: Id,
    at: Timestamp,
    actor: z.string().describe('Id of the API key, or `operator`'),
    operation: z.string().describe('The operationId of the OpenAPI document'),
    resource_id: Id.nullable(),
    address: z.string().nullable().describe('IP address that the request came from'),
    request_id: z.string(),
    status: z.number().int().nullable().describe('HTTP status of the response; null while, or if ever, it is unknown'),
    before: Shown.describe(
      'The resource before the request, as its GET shows it; with `left_out` in place of most of it where it is large, or the day’s room is used up',
    ),
    after: Shown.describe('The resource after the request, without secrets'),
  })
  .meta({ id: 'AuditEntry' })

/** `GET /audit`: returns 200 with a page of the account's audit log, the newest entries first. */
export const listAuditContract = contract({
  id: 'listAudit',
  method: 'GET',
  path: '/audit',
  summary: 'Who changed what, when and from where, with resources of every kind, whatever other scopes the caller has; the newest first',
  tag: 'Authentication',
  scope: 'audit:read',
  request: {
    query: ListQuery.omit({ status: true, name: true, sort: true }).extend({
      sort: TimeSort.default('-created_at'),
      resource_id: Reference.optional(),
      actor: Reference.optional(),
      operation: Reference.optional(),
    }),
  },
  responses: { 200: listOf('entries', AuditEntry) },
})

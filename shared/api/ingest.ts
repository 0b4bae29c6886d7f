/** Pushed records: the one operation that a signature opens in place of a token. */
import { z } from 'zod'
import { contract } from './operation.ts'

export const ingestContract = contract({
  id: 'ingest',
  method: 'POST',
  path: '/ingest/:pipeline',
  summary: 'Push records into a pipeline whose source is the connector webhook; signed with its secret, no token',
  tag: 'Ingest',
  scope: null,
  isPublic: true,
  consumes: ['application/json', 'application/x-ndjson'],
  isIdempotent: true,
  documentedBody: z.unknown().describe('one record, or an array of them: any JSON'),
  request: { params: z.object({ pipeline: z.string() }), body: z.unknown() },
  responses: {
    200: z.object({ challenge: z.string() }).describe('to Slack, which asks whether somebody is there before it sends events'),
    202: z.object({ records: z.number().int() }),
  },
})

/** Contract for pushed records: the only operation that is authenticated by a signature instead of a token. */
import { z } from 'zod'
import { contract } from './contract.ts'

/** `POST /ingest/:pipeline`: returns 202 with the number of records written to the pipeline's intake topic. */
export const ingestContract = contract({
  id: 'ingest',
  method: 'POST',
  path: '/ingest/:pipeline',
  summary: 'Push records into a pipeline whose source is the webhook connector; the request is signed with its secret and has no token',
  tag: 'Ingest',
  scope: null,
  isPublic: true,
  consumes: ['application/json', 'application/x-ndjson'],
  isIdempotent: true,
  documentedBody: z.unknown().describe('One record or an array of records; a record is any JSON value'),
  request: { params: z.object({ pipeline: z.string() }), body: z.unknown() },
  responses: {
    200: z.object({ challenge: z.string() }).describe('Response to Slack’s URL verification request'),
    202: z.object({ records: z.number().int() }),
  },
})

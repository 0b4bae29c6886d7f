/** Pushed records: the one operation that a signature opens in place of a token. */
import { z } from 'zod'
import { contract } from './operation.ts'

/** One record, or several: whatever JSON they are. */
const IngestBody = z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())])

export const ingestContract = contract({
  id: 'ingest',
  method: 'POST',
  path: '/ingest/:pipeline',
  summary: 'Push records into a pipeline whose source is the connector webhook; signed with its secret, no token',
  tag: 'Ingest',
  scope: null,
  isPublic: true,
  consumes: ['application/json', 'application/x-ndjson'],
  documentedBody: IngestBody,
  request: { params: z.object({ pipeline: z.string() }), body: z.unknown() },
  responses: { 202: z.object({ records: z.number().int() }) },
})

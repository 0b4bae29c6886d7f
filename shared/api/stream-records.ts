/** Contracts for the records of streams: pages of values, records as they are in the topic, writes. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { IdParams } from './common.ts'
import { TraceRecord } from './observability.ts'
import { contract, queryInteger } from './contract.ts'

/** Large enough for the topic with the most partitions. */
const StreamCursor = z.string().min(1, 'must not be empty').max(8192, 'is too long')

/** Query of a stream's records: a page number or a cursor, a partition and an order. */
const DataQuery = z.object({
  limit: queryInteger(1, LIMITS.data_limit_max).default(LIMITS.data_limit_default),
  page: queryInteger(1, 1_000_000_000)
    .optional()
    .describe('The first if there is none. A page with a number holds `limit` records, or is refused where they are too large'),
  cursor: StreamCursor.optional(),
  partition: queryInteger(0, LIMITS.adopted_partitions_max - 1).optional(),
  order: z.enum(['asc', 'desc']).default('asc'),
})

/** `GET /streams/:id/data`: returns 200 with a page of records. */
export const getStreamDataContract = contract({
  id: 'getStreamData',
  method: 'GET',
  path: '/streams/:id/data',
  summary: 'Read a page of a stream’s records, each page sorted by time; with a cursor, pages follow one another by time too',
  tag: 'Streams',
  scope: 'streams:read',
  mayConflict: true,
  isBulky: true,
  request: { params: IdParams, query: DataQuery },
  responses: {
    200: z.object({
      data: z.array(z.unknown()),
      pagination: z.object({
        total: z.number().int(),
        page: z.number().int(),
        limit: z.number().int(),
        has_more: z.literal(true).optional().describe('More records follow this page'),
        next_cursor: z
          .string()
          .optional()
          .describe('Continues after this page. The last page has one too, for reading the records that come later'),
        approximate: z.literal(true).optional().describe('`total` is an estimate: not all records are counted yet'),
        undecodable: z
          .array(z.object({ index: z.number().int(), partition: z.number().int(), offset: z.string(), reason: z.string() }))
          .optional(),
      }),
    }),
  },
})

/** `GET /streams/:id/records`: returns 200 with records as they are in the topic. */
export const getStreamRecordsContract = contract({
  id: 'getStreamRecords',
  method: 'GET',
  path: '/streams/:id/records',
  summary: 'Read records with partition, offset, time, key, headers and the bytes of the value; the newest by default, oldest first',
  tag: 'Streams',
  scope: 'streams:read',
  mayConflict: true,
  request: {
    params: IdParams,
    query: z.object({
      from: z.enum(['earliest', 'latest']).default('latest').describe('Where to start reading; `latest` reads the newest records'),
      timestamp: z.iso.datetime({ offset: true }).optional().describe('Start with the first record that is not older'),
      partition: queryInteger(0, LIMITS.adopted_partitions_max - 1).optional(),
      offset: queryInteger(0, Number.MAX_SAFE_INTEGER).optional().describe('Start at this offset of the partition'),
      key: z
        .string()
        .max(LIMITS.key_query_characters_max, 'is too long')
        .optional()
        .describe('Only records with exactly this key, as text: the newest, or the first from the place that is asked for'),
      before: StreamCursor.optional().describe(
        '`older` of an answer for the same partition: the newest records that lie before its own, in place of `from`',
      ),
      after: StreamCursor.optional().describe(
        '`newer` of an answer for the same partition: the first records that lie behind its own, in place of `from`',
      ),
      limit: queryInteger(1, LIMITS.stream_records_max).default(LIMITS.stream_records_default),
    }),
  },
  responses: {
    200: z.object({
      records: z.array(z.object({ partition: z.number().int(), offset: z.number().int(), record: TraceRecord })),
      older: z.string().optional().describe('Present where the stream has something before these records: `before` of the next request'),
      newer: z.string().optional().describe('Present where the stream has something behind these records: `after` of the next request'),
      truncated: z.literal(true).optional().describe('There are fewer records than requested, because they reached a size limit'),
      incomplete: z
        .literal(true)
        .optional()
        .describe('The search for the key took too long and was ended: give a partition, an offset or a time to search elsewhere'),
    }),
  },
})

/** Media type of a body with one JSON document per line. */
export const NDJSON = 'application/x-ndjson'

/** `POST /streams/:id/data`: returns 201 with the offsets of the written records; writes all or none. */
export const writeStreamDataContract = contract({
  id: 'writeStreamData',
  method: 'POST',
  path: '/streams/:id/data',
  summary: 'Write records, all or none',
  tag: 'Streams',
  scope: 'streams:write',
  isUnaudited: true,
  isIdempotent: true,
  consumes: ['application/json', NDJSON],
  passesRecordsOn: true,
  request: {
    params: IdParams,
    body: z.strictObject({
      records: z
        .array(z.unknown())
        .min(1, 'must hold at least one record')
        .max(LIMITS.write_records_max, `must hold at most ${LIMITS.write_records_max} records`),
    }),
  },
  responses: {
    201: z.object({
      records: z.number().int(),
      partitions: z.array(z.object({ partition: z.number().int(), first_offset: z.string(), records: z.number().int() })),
    }),
  },
})

/** Contracts that inspect a pipeline: its positions, the outcomes of its records, and what it does to a single record. */
import { z } from 'zod'
import { IdParams, JsonObject, LagNow, MeasureKind, RecordCounts, RecordError } from './common.ts'
import { HeaderBytes, KeyBytes, ValueBytes } from './dead-letters.ts'
import { contract, Id, queryInteger, Timestamp } from './contract.ts'

/** `GET …/offsets`: returns 200 with the position, end and lag of every source partition, in offsets. */
export const getPipelineOffsetsContract = contract({
  id: 'getPipelineOffsets',
  method: 'GET',
  path: '/pipelines/:id/offsets',
  summary: 'Position, end and lag of every partition of the source',
  tag: 'Operation',
  scope: 'pipelines:read',
  request: { params: IdParams },
  responses: {
    200: z.object({
      pipeline_id: Id,
      topic: z.string(),
      group_id: z.string(),
      lag: LagNow,
      partitions: z.array(
        z.object({
          partition: z.number().int(),
          start: z.number().int().describe('First offset that the topic still holds'),
          position: z.number().int().describe('Next offset to be handled'),
          end: z.number().int().describe('End offset of the partition (read-committed)'),
          lag: z.number().int(),
        }),
      ),
    }),
  },
})

/** `in = out + filtered + skipped + dead_lettered + absorbed + in_flight`. `emitted` counts output records; one record may have several. */
export const Balance = z
  .object({
    in: z.number().int(),
    out: z.number().int(),
    filtered: z.number().int(),
    skipped: z.number().int(),
    dead_lettered: z.number().int(),
    absorbed: z.number().int(),
    in_flight: z.number().int(),
    emitted: z.number().int(),
  })
  .meta({ id: 'Balance' })

/** `GET …/accounting`: returns 200 with record counts of the whole chain, per step and per partition. */
export const getPipelineAccountingContract = contract({
  id: 'getPipelineAccounting',
  method: 'GET',
  path: '/pipelines/:id/accounting',
  summary: 'Records by outcome: totals of the chain over all revisions, and counts per step of the current revision',
  tag: 'Operation',
  scope: 'pipelines:read',
  request: { params: IdParams },
  responses: {
    200: z.object({
      pipeline_id: Id,
      revision: z.number().int(),
      balanced: z.boolean(),
      totals: Balance.describe('Over all revisions, as are those of `partitions`'),
      steps: z
        .array(
          RecordCounts.extend({
            step: z.number().int(),
            module: z.string(),
            version: z.string(),
            nanoseconds: z
              .number()
              .int()
              .nullable()
              .describe(
                'How long it takes for a record on the average, since the tasks started with this revision; null before the first one',
              ),
          }),
        )
        .describe(
          'Since the current revision began, unlike `totals`. What the sink refuses is among `failed` of the last one, and not among its `out`',
        ),
      partitions: z.array(Balance.extend({ partition: z.number().int(), revision: z.number().int().nullable() })),
    }),
  },
})

/** `GET …/metrics`: returns 200 with the records per second, the lag in offsets and the totals. */
export const getPipelineMetricsContract = contract({
  id: 'getPipelineMetrics',
  method: 'GET',
  path: '/pipelines/:id/metrics',
  summary: 'Current rate, lag and totals',
  tag: 'Operation',
  scope: 'pipelines:read',
  request: { params: IdParams },
  responses: {
    200: z.object({
      pipeline_id: Id,
      records_per_second: z.number(),
      lag: LagNow,
      totals: Balance.describe('Over all revisions'),
      modules: z
        .array(
          z.object({
            step: z.number().int(),
            module: z.string().nullable(),
            name: z.string(),
            kind: MeasureKind,
            times: z.number(),
            sum: z.number(),
          }),
        )
        .describe('What SmartModules have counted and observed since the tasks started'),
      observed_at: Timestamp.nullable(),
    }),
  },
})

const HistoryCounts = { in: z.number().int(), out: z.number().int(), filtered: z.number().int(), failed: z.number().int() }

/** `GET …/history`: returns 200 with the last hour in steps of ten seconds, as far as this control plane has seen it. */
export const getPipelineHistoryContract = contract({
  id: 'getPipelineHistory',
  method: 'GET',
  path: '/pipelines/:id/history',
  summary: 'Records by outcome and lag over the last hour, in steps of ten seconds, of the chain and of each of its steps',
  tag: 'Operation',
  scope: 'pipelines:read',
  request: { params: IdParams },
  responses: {
    200: z.object({
      pipeline_id: Id,
      interval_seconds: z.literal(10),
      points: z
        .array(
          z.object({
            at: Timestamp.describe('When the ten seconds begin'),
            ...HistoryCounts,
            lag: z.number().int().describe('In offsets, as of the last report'),
            steps: z.array(z.object(HistoryCounts)),
          }),
        )
        .describe('Ten seconds without a report have none: nothing was handled then'),
    }),
  },
})

/** `GET …/ledger`: returns 200 with the first offset that each revision handled per partition, and the revisions. */
export const getPipelineLedgerContract = contract({
  id: 'getPipelineLedger',
  method: 'GET',
  path: '/pipelines/:id/ledger',
  summary: 'Which revision handled which offsets: each entry is the first offset of a partition that a revision handled',
  tag: 'Operation',
  scope: 'pipelines:read',
  isCostly: true,
  request: { params: IdParams },
  responses: {
    200: z.object({
      pipeline_id: Id,
      entries: z.array(z.object({ partition: z.number().int(), revision: z.number().int(), from_offset: z.number().int(), at: Timestamp })),
      revisions: z.array(
        z.object({
          revision: z.number().int(),
          created_at: Timestamp,
          processors: z.array(z.object({ module_id: Id, name: z.string(), version: z.string(), config: JsonObject })),
        }),
      ),
    }),
  },
})

/** A record as a trace shows it. */
export const TraceRecord = z
  .object({ timestamp: Timestamp, key: KeyBytes, value: ValueBytes, headers: z.array(HeaderBytes) })
  .meta({ id: 'TraceRecord' })
/** What one step did to a record, with the records that went in and came out. */
export const TraceStep = z
  .object({
    step: z.number().int(),
    module: z.string(),
    version: z.string(),
    config: JsonObject,
    outcome: z.enum(['passed', 'changed', 'filtered', 'failed', 'not_reached']).meta({ id: 'StepOutcome' }),
    reason: z.string(),
    in: z.array(TraceRecord),
    out: z.array(TraceRecord),
    error: RecordError.nullable(),
    logs: z.array(z.string()).describe('What the SmartModule logged for the record'),
    nanoseconds: z.number().int().describe('How long the step took for the record alone, with the host’s part'),
    memory_bytes: z.number().int().describe('What the memory of the SmartModule’s instance takes after the record'),
  })
  .meta({ id: 'TraceStep' })
/** What a chain did to one source record, step by step. */
export const Trace = z.object({
  partition: z.number().int(),
  offset: z.number().int(),
  outcome: z.enum(['delivered', 'filtered', 'dead_letter', 'skipped', 'failed']).meta({ id: 'RecordOutcome' }),
  reason: z.string(),
  input: TraceRecord,
  outputs: z.array(TraceRecord),
  steps: z.array(TraceStep),
  truncated: z.literal(true).optional().describe('Some records are left out, because the response reached its size limit'),
})
/** A trace as the API returns it. */
export type Trace = z.output<typeof Trace>

/** `GET …/explain`: returns 200 with the trace of one record through the revision that handled it. */
export const explainRecordContract = contract({
  id: 'explainRecord',
  method: 'GET',
  path: '/pipelines/:id/explain',
  summary: 'Run one source record again through the revision that handled it, or another one, and report what each step did',
  tag: 'Operation',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read'],
  mayConflict: true,
  request: {
    params: IdParams,
    query: z.object({
      partition: queryInteger(0, 100_000),
      offset: queryInteger(0, Number.MAX_SAFE_INTEGER),
      revision: queryInteger(1, Number.MAX_SAFE_INTEGER)
        .optional()
        .describe('Through this revision; by default, through the one that handled the record'),
    }),
  },
  responses: {
    200: Trace.extend({
      pipeline_id: Id,
      revision: z.number().int(),
      handled: z.boolean().describe('Whether this revision handled it, before any redrive'),
      uncertain: z
        .string()
        .optional()
        .describe('What can’t be known: whether a canary, which was taken off at some record, handled this one or the running version'),
      dead_letter_ids: z.array(Id),
      redriven: z
        .boolean()
        .describe(
          'Its dead letters have all been redriven since: the trace does not show what became of it, that of a redrive’s revision does',
        ),
      redrives: z
        .array(
          z.object({
            job_id: Id,
            revision: z.number().int().describe('The revision that the job ran'),
            at: Timestamp.describe('When the job was made'),
            outcome: z.enum(['redriven', 'dead_letter']).describe('`redriven`: the record got through; `dead_letter`: it failed again'),
          }),
        )
        .describe('The jobs that redrove it, the latest last: the trace of the last one’s revision shows what became of the record'),
    }),
  },
})

/** Contracts for trying a version beside the running one: a canary of a pipeline's step, and two versions over a stream's records. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { IdParams, Config, JsonObject, Reference } from './common.ts'
import { TraceStep } from './observability.ts'
import { contract, Id, Timestamp } from './contract.ts'
import { StreamPlace } from './pipeline-requests.ts'
import { CANARY_STATUSES, Pipeline } from './pipelines.ts'
import { SmartModuleParams } from './smartmodules.ts'

/** One record for which two versions gave different output. */
export const Difference = z
  .object({
    partition: z.number().int(),
    offset: z.number().int(),
    before: TraceStep,
    after: TraceStep,
  })
  .meta({ id: 'Difference' })
/** A difference as the API shows it. */
export type Difference = z.output<typeof Difference>

const Counts = {
  compared: z.number().int().describe('Records that both versions handled'),
  differing: z.number().int(),
  failed: z.number().int().describe('Of those that differ: the new version failed the record, and the old one did not'),
}

/** `GET …/canary`: returns 200 with what the canary has found so far. */
export const getCanaryContract = contract({
  id: 'getCanary',
  method: 'GET',
  path: '/pipelines/:id/canary',
  summary: 'Get what the canary has found: how many records would differ, and examples',
  tag: 'Operation',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read'],
  request: { params: IdParams },
  responses: {
    200: z.object({
      pipeline_id: Id,
      step: z.number().int(),
      module: z.string(),
      version: z.string(),
      running_version: z.string().describe('The one that it was compared with'),
      config: JsonObject,
      shadow: z.boolean(),
      share: z.number().nullable().describe('Of the keys whose records it handles; null in shadow'),
      handled: z.number().int().describe('Records of its share, as the tasks reported until its end; 0 in shadow'),
      handled_failed: z.number().int().describe('Of those, the ones that it failed'),
      status: z.enum(CANARY_STATUSES),
      status_reason: z.string().nullable(),
      ...Counts,
      skipped: z.number().int().describe('Records that were left out, because the canary was too far behind or they were too large'),
      max_failing: z.number(),
      max_differing: z.number(),
      examples: z.array(Difference).describe('Kept until the next canary, or until the canary is ended with null'),
      created_at: Timestamp,
      updated_at: Timestamp,
    }),
  },
})

/** `POST …/canary/promote`: returns 200 with the pipeline, whose next revision runs the canary's version. */
export const promoteCanaryContract = contract({
  id: 'promoteCanary',
  method: 'POST',
  path: '/pipelines/:id/canary/promote',
  summary: 'Make the canary’s version the running one: the next revision, which running tasks adopt between two rounds',
  tag: 'Operation',
  scope: 'pipelines:write',
  isConditional: true,
  isTagged: true,
  mayConflict: true,
  request: { params: IdParams },
  responses: { 200: Pipeline },
})

const Version = z
  .strictObject({
    version: Reference.optional().describe('The newest one by default'),
    config: Config.default({}),
  })
  .meta({ id: 'ComparedVersion' })

/** `POST /smartmodules/:id/compare`: returns 200 with the records of which two versions make something else. */
export const compareSmartModuleVersionsContract = contract({
  id: 'compareSmartModuleVersions',
  method: 'POST',
  path: '/smartmodules/:id/compare',
  summary: 'Run two versions, or two configs, over the same records of a stream, and list what differs; writes nothing',
  tag: 'SmartModules',
  scope: 'smartmodules:read',
  alsoScopes: ['streams:read'],
  isRead: true,
  mayConflict: true,
  request: {
    params: SmartModuleParams,
    body: z.strictObject({
      before: Version,
      after: Version,
      stream_id: Reference,
      from: StreamPlace.default('latest').describe('Where to start reading; `latest` reads the newest records'),
      partition: z.number().int().min(0).max(100_000).optional(),
      limit: z.number().int().min(1).max(LIMITS.compare_records_max).default(100),
    }),
  },
  responses: {
    200: z.object({
      ...Counts,
      differences: z.array(Difference),
      truncated: z.literal(true).optional().describe('There were fewer records than requested, because they reached a size limit'),
    }),
  },
})

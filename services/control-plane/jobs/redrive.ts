/** Redrive: a selection of dead letters becomes the input of a job. */
import type { RedriveRequest } from '../../../shared/api/dead-letters.ts'
import { layoutOf } from '../layout-of.ts'
import { invalidRequest, ServiceError } from '../service-error.ts'
import { newId } from '../../../shared/model/ids.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { parseDeadLetterId } from '../store/dead-letter-id.ts'
import type { ListedJob } from '../store/jobs.ts'
import { inTransaction, type Queryable } from '../store/database.ts'
import type { PipelineRow } from '../store/pipelines.ts'
import { boundsOfPending, listKnownIds, listPendingIds, rangesOfJob, takeForJob, type Bounds } from '../store/redrives.ts'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { assertMade, jobDefinition, startJob, storeJob, type OnStored, type Ranges } from './jobs.ts'

/** Returns how many dead letters were taken (or, for a dry run, would be); the job is undefined for a dry run or an empty selection. */
export async function redrive(
  deps: Pick<Deps, 'cluster' | 'db' | 'deadLetters' | 'names' | 'notifyPublisher' | 'withAdmin'>,
  pipeline: PipelineRow,
  { ids, filter, dry_run }: z.output<typeof RedriveRequest>,
  onStored: OnStored,
): Promise<{ count: number; job?: ListedJob }> {
  assertMade(pipeline)
  const unknown = (ids ?? []).findIndex((id) => parseDeadLetterId(id) === undefined)
  if (unknown >= 0) throw invalidRequest([{ path: `/ids/${unknown}`, message: 'is not the id of a dead letter' }])
  await deps.deadLetters.catchUp(pipeline)
  const layout = await layoutOf(deps.cluster, pipeline.definition.dead_letter_topic, 'the dead letters’ topic')
  const selection = { ids, filter, redrivesMax: LIMITS.redrives_max }
  const bounds = await boundsOfPending(deps.db, pipeline.id, selection)
  if (ids) await assertAllPending(deps.db, pipeline.id, ids)
  const count = bounds.reduce((sum, each) => sum + each.count, 0)
  if (dry_run || count === 0) return { count }
  const jobId = newId('job')
  const starts = new Map(bounds.map(({ letter_partition, first }) => [letter_partition, BigInt(first)]))
  const store = () =>
    inTransaction(deps.db, async (trx) => {
      if (ids) await assertAllPending(trx, pipeline.id, ids)
      // Another job may have taken some of them meanwhile.
      const taken = await takeForJob(trx, pipeline.id, jobId, selection, bounds)
      if (ids && taken < new Set(ids).size)
        throw new ServiceError('conflict', 'some of the dead letters were changed at the same time; try again')
      if (taken === 0) return { count: 0 }
      const ranges = await rangesOf(trx, pipeline.id, jobId, bounds)
      const input = { job_id: jobId, kind: 'redrive' as const, ranges, records_per_second_max: null }
      return { count: taken, job: await storeJob(trx, jobDefinition(deps.names, pipeline, input, layout), taken, onStored) }
    })
  return startJob(deps, jobId, layout, starts, store)
}

/** The ranges that the job reads, by partition. Throws 400 where there are too many of them. */
async function rangesOf(trx: Queryable, pipelineId: string, jobId: string, bounds: Bounds[]): Promise<Ranges> {
  const found = await rangesOfJob(trx, pipelineId, jobId, bounds, LIMITS.job_ranges_max + 1)
  if (found.length > LIMITS.job_ranges_max)
    throw new ServiceError(
      'invalid_request',
      `the selection falls into more than ${LIMITS.job_ranges_max} separate ranges, which is the most; narrow the filter`,
    )
  const ranges: Ranges = {}
  for (const { letter_partition, from, until } of found) (ranges[String(letter_partition)] ??= []).push([from, until])
  return ranges
}

const NOT_TAKEN = `is not pending, has been redriven ${LIMITS.redrives_max} times, or its record is handled again since the position was set back`

/** A client that names ids wants all of them: throws for ids that are unknown, or that a redrive does not take. */
async function assertAllPending(db: Queryable, pipelineId: string, ids: string[]): Promise<void> {
  const found = await listPendingIds(db, pipelineId, { ids, redrivesMax: LIMITS.redrives_max })
  const known = await listKnownIds(db, pipelineId, ids)
  const unknown = ids.flatMap((id, index) =>
    known.has(id) ? [] : [{ path: `/ids/${index}`, message: 'is not the id of a dead letter of the pipeline' }],
  )
  if (unknown.length > 0) throw invalidRequest(unknown.slice(0, LIMITS.details_max))
  const missing = ids.flatMap((id, index) => (found.has(id) ? [] : [{ path: `/ids/${index}`, message: NOT_TAKEN }]))
  if (missing.length > 0)
    throw new ServiceError('conflict', `${missing.length} of the dead letters can't be redriven`, {
      details: missing.slice(0, LIMITS.details_max),
    })
}

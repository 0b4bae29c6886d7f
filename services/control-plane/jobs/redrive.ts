/** Redrive: a selection of dead letters becomes the input of a job. */
import type { RedriveRequest } from '../../../shared/api/dead-letters.ts'
import { invalidRequest, ServiceError } from '../service-error.ts'
import { removeGroup } from '../../../shared/kafka/admin/admin.ts'
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import { newId } from '../../../shared/model/ids.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import {
  deadLetterId,
  listKnownIds,
  listOthers,
  listPending,
  lockPending,
  parseDeadLetterId,
  takeForJob,
  type DeadLetterPlace,
} from '../store/dead-letters.ts'
import type { ListedJob } from '../store/jobs.ts'
import { inTransaction, type Queryable } from '../store/database.ts'
import type { PipelineRow } from '../store/pipelines.ts'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { assertMade, commitJobStart, jobDefinition, storeJob, type OnStored, type Ranges } from './jobs.ts'

/** Offsets as [from, until) ranges; successive offsets share a range unless a dead letter that is not taken lies between them. */
export function rangesOf(taken: DeadLetterPlace[], others: ReadonlyMap<number, bigint[]>): { ranges: Ranges; count: number } {
  const ranges: Ranges = {}
  let count = 0
  for (const [partition, letters] of Map.groupBy(taken, (letter) => letter.letter_partition)) {
    const left = others.get(partition) ?? []
    let next = 0
    const own: [string, string][] = []
    let last: [bigint, bigint] | undefined
    for (const { letter_offset } of letters) {
      const offset = BigInt(letter_offset)
      while (next < left.length && left[next]! < (last?.[1] ?? 0n)) next++
      const isApart = !last || (next < left.length && left[next]! < offset)
      if (isApart) {
        if (last) own.push([String(last[0]), String(last[1])])
        last = [offset, offset + 1n]
        count++
      } else last![1] = offset + 1n
    }
    if (last) own.push([String(last[0]), String(last[1])])
    ranges[String(partition)] = own
  }
  return { ranges, count }
}

/** Returns how many dead letters were taken (or, for a dry run, would be); the job is undefined for a dry run or an empty selection. */
export async function redrive(
  deps: Pick<Deps, 'cluster' | 'db' | 'deadLetters' | 'names' | 'notifyPublisher' | 'withAdmin'>,
  pipeline: PipelineRow,
  { ids, filter, dry_run }: z.output<typeof RedriveRequest>,
  onStored: OnStored = async () => {},
): Promise<{ count: number; job?: ListedJob }> {
  assertMade(pipeline)
  const unknown = (ids ?? []).findIndex((id) => parseDeadLetterId(id) === undefined)
  if (unknown >= 0) throw invalidRequest([{ path: `/ids/${unknown}`, message: 'is not the id of a dead letter' }])
  await deps.deadLetters.catchUp(pipeline)
  const { dead_letter_topic } = pipeline.definition
  const layout = await deps.cluster.describeTopic(dead_letter_topic)
  if (!layout) throw new Error(`topic ${dead_letter_topic} does not exist`)
  const found = await listPending(deps.db, pipeline.id, { ids, filter, redrivesMax: LIMITS.redrives_max })
  if (ids) await assertAllTaken(deps.db, pipeline.id, ids, found)
  if (dry_run || found.length === 0) return { count: found.length }
  const jobId = newId('job')
  const first = new Map(found.toReversed().map(({ letter_partition, letter_offset }) => [letter_partition, BigInt(letter_offset)]))
  await commitJobStart(deps, jobId, layout, first)
  const taken = storeRedrive(deps, pipeline, jobId, layout, { ids, found, onStored })
  const { job } = await taken.catch(() => ({ job: undefined }))
  if (!job) await deps.withAdmin((admin) => removeGroup(admin, deps.names.pipelineGroup(jobId))).catch(() => {})
  deps.notifyPublisher()
  return taken
}

/** Takes the dead letters that are still pending and stores the job over them; no job where none are. */
async function storeRedrive(
  { db, names }: Pick<Deps, 'db' | 'names'>,
  pipeline: PipelineRow,
  jobId: string,
  layout: TopicLayout,
  { ids, found, onStored }: { ids: string[] | undefined; found: DeadLetterPlace[]; onStored: OnStored },
): Promise<{ count: number; job?: ListedJob }> {
  return inTransaction(db, async (trx) => {
    // Another job may have taken some of them meanwhile.
    const taken = await lockPending(trx, pipeline.id, { ids: found.map(deadLetterId), redrivesMax: LIMITS.redrives_max })
    if (ids) await assertAllTaken(trx, pipeline.id, ids, taken)
    if (taken.length === 0) return { count: 0 }
    await takeForJob(trx, pipeline.id, jobId, taken)
    const { ranges, count } = rangesOf(taken, await listOthers(trx, pipeline.id, jobId))
    if (count > LIMITS.job_ranges_max)
      throw new ServiceError(
        'invalid_request',
        `the selection falls into ${count} separate ranges; narrow the filter to at most ${LIMITS.job_ranges_max} ranges`,
      )
    const job = { job_id: jobId, kind: 'redrive' as const, ranges, records_per_second_max: null }
    const definition = {
      ...jobDefinition(names, pipeline, job, { topic: layout.topic, partitions: layout.leaders.length }, undefined),
      job,
    }
    const stored = await storeJob(trx, definition, taken.length)
    await onStored(trx, stored, taken.length)
    return { count: taken.length, job: stored }
  })
}

/** A client that names ids wants all of them: throws for ids that are unknown, already taken, or redriven too often. */
async function assertAllTaken(db: Queryable, pipelineId: string, ids: string[], taken: DeadLetterPlace[]): Promise<void> {
  const known = await listKnownIds(db, pipelineId, ids)
  const unknown = ids.flatMap((id, index) =>
    known.has(id) ? [] : [{ path: `/ids/${index}`, message: 'is not the id of a dead letter of the pipeline' }],
  )
  if (unknown.length > 0) throw invalidRequest(unknown.slice(0, LIMITS.details_max))
  const found = new Set(taken.map(deadLetterId))
  const missing = ids.flatMap((id, index) =>
    found.has(id) ? [] : [{ path: `/ids/${index}`, message: `is not pending, or has already been redriven ${LIMITS.redrives_max} times` }],
  )
  if (missing.length > 0)
    throw new ServiceError('conflict', `${missing.length} of the dead letters can't be redriven`, {
      details: missing.slice(0, LIMITS.details_max),
    })
}

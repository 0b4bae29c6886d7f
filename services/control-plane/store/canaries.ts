/** Canaries as rows, one for a pipeline. */
import type { Difference } from '../../../shared/api/canary.ts'
import type { CANARY_STATUSES } from '../../../shared/api/pipelines.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Queryable } from './database.ts'

/** A row of `canaries`; the driver returns bigint as text. `step` counts from 0. `positions`: the next offset by partition. */
export type CanaryRow = {
  pipeline_id: string
  account_id: string
  step: number
  definition: PipelineDefinition['steps'][number]
  /** The step's own version. */
  running_version: string
  max_failing: number
  max_differing: number
  /** Of the keys whose records it handles; null in shadow. */
  share: number | null
  status: (typeof CANARY_STATUSES)[number]
  status_reason: string | null
  positions: Record<string, string>
  compared: string
  differing: string
  failed: string
  skipped: string
  /** Of a share, as the tasks reported them until its end; null before. */
  handled: string | null
  handled_failed: string | null
  examples: Difference[]
  created_at: Date
  updated_at: Date
}

type NewCanary = Pick<
  CanaryRow,
  'pipeline_id' | 'account_id' | 'step' | 'definition' | 'running_version' | 'max_failing' | 'max_differing' | 'share'
>

/** Takes the place of an earlier canary of the pipeline, and starts from nothing. */
export async function setCanary(db: Queryable, canary: NewCanary): Promise<void> {
  await deleteCanary(db, canary.pipeline_id)
  await db('canaries').insert({
    ...canary,
    definition: JSON.stringify(canary.definition),
    status: 'comparing',
    positions: '{}',
    examples: '[]',
  })
}

/** The pipeline's canary. */
export async function findCanary(db: Queryable, pipelineId: string): Promise<CanaryRow | undefined> {
  return db('canaries').where({ pipeline_id: pipelineId }).first()
}

/** What of it a pipeline shows. */
export type ShownCanary = Pick<CanaryRow, 'step' | 'share' | 'status'> & { version: string }

/** The pipeline's canary, unless it was promoted, without its config and examples, which may be large. */
export async function findShownCanary(db: Queryable, pipelineId: string): Promise<ShownCanary | undefined> {
  return db('canaries')
    .where({ pipeline_id: pipelineId })
    .whereNot('status', 'promoted')
    .first('step', 'share', 'status', db.raw("definition->>'version' AS version"))
}

/**
 * The canaries to compare next, at most `limit`: of running pipelines of accounts that are not suspended. Accounts take turns; the canaries
 * that have waited longest come first.
 */
export async function listComparing(db: Queryable, limit: number): Promise<CanaryRow[]> {
  const { rows } = await db.raw(
    `SELECT c.* FROM (
       SELECT c.*, row_number() OVER (PARTITION BY c.account_id ORDER BY c.looked_at) AS turn
       FROM canaries c JOIN pipelines p ON p.id = c.pipeline_id JOIN accounts a ON a.id = c.account_id
       WHERE c.status = 'comparing' AND p.desired = 'running' AND a.suspended_for IS NULL
     ) c ORDER BY c.turn, c.looked_at LIMIT ?`,
    [limit],
  )
  return rows
}

/** How a canary ended, and how many records of its share it had handled by then. */
export type CanaryEnd = { status: 'rolled_back' | 'promoted'; status_reason: string | null; handled: number; handled_failed: number }

/** Ends the canary, unless it has been replaced, removed or ended since `row` was read; true where it was. What it has found stays. */
export async function endCanary(db: Queryable, row: CanaryRow, end: CanaryEnd): Promise<boolean> {
  const changed = await db('canaries')
    .where({ pipeline_id: row.pipeline_id, created_at: row.created_at, status: 'comparing' })
    .update({ ...end, updated_at: db.raw('now()') })
  return changed > 0
}

/** The canary has had its turn, whatever came of it. */
export async function markLookedAt(db: Queryable, pipelineId: string): Promise<void> {
  await db('canaries')
    .where({ pipeline_id: pipelineId })
    .update({ looked_at: db.raw('clock_timestamp()') })
}

/** It is no error if there is none. */
export async function deleteCanary(db: Queryable, pipelineId: string): Promise<void> {
  await db('canaries').where({ pipeline_id: pipelineId }).delete()
}

/** Removes the canary where the steps that it was compared with run no more; one that was promoted stays, to be read. */
export async function deleteUnpromotedCanary(db: Queryable, pipelineId: string): Promise<void> {
  await db('canaries').where({ pipeline_id: pipelineId }).whereNot('status', 'promoted').delete()
}

type Found = Pick<CanaryRow, 'positions' | 'examples'> & Record<'compared' | 'differing' | 'failed' | 'skipped', bigint>

/** Stores what was found, unless the canary has been replaced or removed since `row` was read. */
export async function saveCanary(db: Queryable, row: CanaryRow, found: Found): Promise<void> {
  await db('canaries')
    .where({ pipeline_id: row.pipeline_id, created_at: row.created_at, status: 'comparing', compared: row.compared })
    .update({
      ...found,
      compared: String(found.compared),
      differing: String(found.differing),
      failed: String(found.failed),
      skipped: String(found.skipped),
      positions: JSON.stringify(found.positions),
      examples: JSON.stringify(found.examples),
      updated_at: db.raw('now()'),
    })
}

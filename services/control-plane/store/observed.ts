/** What tasks tell of themselves, as rows: their reports, the ledger, and how far the topics of both are projected. */
import { z } from 'zod'
import type { LedgerEntry } from '../../../shared/model/definition.ts'
import { ObservedTask, runOfReport } from '../../../shared/model/observed.ts'
import type { TaskId } from '../../../shared/model/task.ts'
import type { Queryable } from './database.ts'

/** Stores a task's report in place of its previous one. */
export async function saveObserved(db: Queryable, report: ObservedTask): Promise<void> {
  const { role, task } = report
  await db('observed_tasks')
    .insert({ pipeline_id: runOfReport(report), role, task, body: JSON.stringify(report) })
    .onConflict(['pipeline_id', 'role', 'task'])
    .merge()
}

/**
 * The latest reports of a run's tasks (`runIdOf`; the column is named after pipelines alone), by role and number. Reports that don't parse
 * are left out.
 */
export async function listObserved(db: Queryable, runId: string): Promise<ObservedTask[]> {
  const rows = await db('observed_tasks').where({ pipeline_id: runId }).orderBy(['role', 'task'])
  return rows.flatMap(({ body }) => {
    const parsed = z.safeParse(ObservedTask, body)
    return parsed.success ? [parsed.data] : []
  })
}

/** Deletes the reports of all tasks of a run. */
export async function deleteObserved(db: Queryable, runId: string): Promise<void> {
  await db('observed_tasks').where({ pipeline_id: runId }).delete()
}

/** Deletes the reports of every task of the run that is not in `tasks`. */
export async function deleteObservedBut(db: Queryable, runId: string, tasks: readonly TaskId[]): Promise<void> {
  const kept = tasks.map(({ role, task }) => [role, task])
  await db('observed_tasks').where({ pipeline_id: runId }).whereNotIn(['role', 'task'], kept).delete()
}

/** A ledger entry of a pipeline: the revision handled the partition from this offset on. */
export type LedgerRow = { partition: number; revision: number; from_offset: bigint; at: Date }

/** The ledger entries of a pipeline, by partition and offset. */
export async function listLedger(db: Queryable, pipelineId: string): Promise<LedgerRow[]> {
  const rows = await db('ledger').where({ pipeline_id: pipelineId }).orderBy(['partition', 'from_offset', 'revision'])
  return rows.map(({ partition, revision, from_offset, at }) => ({ partition, revision, from_offset: BigInt(from_offset), at }))
}

/** Stores a ledger entry. An existing one stays, because it marks the boundary; one for a deleted pipeline is skipped. */
export async function saveLedger(db: Queryable, { pipeline_id, partition, revision, from_offset, at }: LedgerEntry): Promise<void> {
  await db.raw(
    `INSERT INTO ledger (pipeline_id, partition, revision, from_offset, at)
     SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM pipelines WHERE id = ?) ON CONFLICT DO NOTHING`,
    [pipeline_id, partition, revision, from_offset, at, pipeline_id],
  )
}

/** The next offset to project; 0 if nothing was projected yet. */
export async function getProjectorPosition(db: Queryable, name: string): Promise<bigint> {
  const row = await db('projector_positions').where({ name }).first()
  return BigInt(row?.next_offset ?? 0)
}

/** The next offset to project, locked until the transaction ends so that one projector at a time moves it. */
export async function lockProjectorPosition(db: Queryable, name: string): Promise<bigint> {
  await db('projector_positions').insert({ name, next_offset: 0 }).onConflict('name').ignore()
  const row = await db('projector_positions').where({ name }).forUpdate().first()
  return BigInt(row.next_offset)
}

/** Stores the next offset to project. */
export async function setProjectorPosition(db: Queryable, name: string, nextOffset: bigint): Promise<void> {
  await db('projector_positions')
    .insert({ name, next_offset: String(nextOffset) })
    .onConflict('name')
    .merge()
}

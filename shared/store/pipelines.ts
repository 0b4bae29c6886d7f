/** Pipelines as rows, the outbox that carries their definitions, and what their tasks report. */
import { z } from 'zod'
import { definitionKeys, ObservedTask, PipelineDefinition, type DesiredStatus, type LedgerEntry } from '../model/definition.ts'
import type { PipelineStatus } from '../model/pipeline-status.ts'
import type { Queryable } from './database.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

export type PipelineRow = {
  id: string
  account_id: string
  name: string
  description: string
  status: PipelineStatus
  status_reason: string | null
  desired: DesiredStatus
  revision: number
  attempt: number
  /** As the client sent it, defaults filled in. */
  request: Record<string, unknown>
  definition: PipelineDefinition
  created_at: Date
  updated_at: Date
}

export type NewPipeline = Omit<PipelineRow, 'created_at' | 'updated_at' | 'status_reason'>
export type Use = { kind: 'stream' | 'smartmodule' | 'secret'; used_id: string }

export async function insertPipeline(db: Queryable, pipeline: NewPipeline, uses: Use[]): Promise<PipelineRow> {
  const [row] = await db('pipelines')
    .insert({ ...pipeline, request: JSON.stringify(pipeline.request), definition: JSON.stringify(pipeline.definition) })
    .returning('*')
  const distinct = [...new Map(uses.map((use) => [`${use.kind}/${use.used_id}`, use])).values()]
  if (distinct.length > 0) await db('pipeline_uses').insert(distinct.map((use) => ({ ...use, pipeline_id: pipeline.id })))
  await insertRevision(db, pipeline.definition)
  return row
}

/** Keeps these from being deleted too. */
export async function addUses(db: Queryable, pipelineId: string, uses: Use[]): Promise<void> {
  const rows = uses.map(({ kind, used_id }) => ({ pipeline_id: pipelineId, kind, used_id }))
  if (rows.length > 0) await db('pipeline_uses').insert(rows).onConflict().ignore()
}

/** Replaces what of these kinds a pipeline uses by what its next revision does. */
export async function replaceUses(db: Queryable, pipelineId: string, kinds: Use['kind'][], uses: Use[]): Promise<void> {
  await db('pipeline_uses').where({ pipeline_id: pipelineId }).whereIn('kind', kinds).delete()
  await addUses(db, pipelineId, uses)
}

export type RevisionRow = { pipeline_id: string; revision: number; definition: PipelineDefinition; created_at: Date }

export async function insertRevision(db: Queryable, definition: PipelineDefinition): Promise<void> {
  const { pipeline_id, revision } = definition
  await db('pipeline_revisions').insert({ pipeline_id, revision, definition: JSON.stringify(definition) })
}

/** Oldest first. */
export async function listRevisions(db: Queryable, pipelineId: string): Promise<RevisionRow[]> {
  const rows: RevisionRow[] = await db('pipeline_revisions').where({ pipeline_id: pipelineId }).orderBy('revision')
  return rows.map((row) => ({ ...row, definition: PipelineDefinition.parse(row.definition) }))
}

export type LedgerRow = { partition: number; revision: number; from_offset: bigint; at: Date }

/** In the order of partition and offset. */
export async function listLedger(db: Queryable, pipelineId: string): Promise<LedgerRow[]> {
  const rows = await db('ledger').where({ pipeline_id: pipelineId }).orderBy(['partition', 'from_offset', 'revision'])
  return rows.map(({ partition, revision, from_offset, at }) => ({ partition, revision, from_offset: BigInt(from_offset), at }))
}

/** An entry that is there already stays: it is the border. One of a pipeline that is gone is left out. */
export async function saveLedger(db: Queryable, { pipeline_id, partition, revision, from_offset, at }: LedgerEntry): Promise<void> {
  await db.raw(
    `INSERT INTO ledger (pipeline_id, partition, revision, from_offset, at)
     SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM pipelines WHERE id = ?) ON CONFLICT DO NOTHING`,
    [pipeline_id, partition, revision, from_offset, at, pipeline_id],
  )
}

/** A row from before a definition had all of today's members. */
function withDefaults<T extends PipelineRow | undefined>(row: T): T {
  return row && { ...row, definition: PipelineDefinition.parse(row.definition) }
}

export async function findPipeline(db: Queryable, accountId: string, id: string): Promise<PipelineRow | undefined> {
  return withDefaults(await db('pipelines').where({ account_id: accountId, id }).whereNot('status', 'deleting').first())
}

/** Ids of pipelines that use a stream, as source or sink. */
export async function listPipelinesReading(db: Queryable, streamId: string): Promise<string[]> {
  const rows = await db('pipeline_uses').where({ kind: 'stream', used_id: streamId }).select('pipeline_id').orderBy('pipeline_id')
  return rows.map(({ pipeline_id }: { pipeline_id: string }) => pipeline_id)
}

/** Whoever's it is: for those who show a signature in place of a token. */
export async function findAnyPipeline(db: Queryable, id: string): Promise<PipelineRow | undefined> {
  return withDefaults(await db('pipelines').where({ id }).first())
}

/** Locks the row until the transaction ends: outbox entries of one pipeline are then in the order of its changes. */
export async function lockPipeline(db: Queryable, id: string): Promise<PipelineRow | undefined> {
  return withDefaults(await db('pipelines').where({ id }).forUpdate().first())
}

export async function listPipelines(db: Queryable, accountId: string, page: PageRequest): Promise<Page<PipelineRow>> {
  return findPage(db('pipelines').where({ account_id: accountId }).whereNot('status', 'deleting').select('*'), page)
}

export async function updatePipeline(
  db: Queryable,
  id: string,
  change: Partial<
    Pick<PipelineRow, 'name' | 'description' | 'status' | 'status_reason' | 'desired' | 'attempt' | 'revision' | 'definition' | 'request'>
  >,
): Promise<PipelineRow> {
  const { definition, request, ...rest } = change
  const [row] = await db('pipelines')
    .where({ id })
    .update({
      ...rest,
      ...(definition ? { definition: JSON.stringify(definition) } : {}),
      ...(request ? { request: JSON.stringify(request) } : {}),
      updated_at: db.fn.now(),
    })
    .returning('*')
  return withDefaults(row)
}

export async function deletePipelineRow(db: Queryable, id: string): Promise<void> {
  await deleteObserved(db, id)
  await db('pipelines').where({ id }).delete()
}

export async function deleteObserved(db: Queryable, pipelineId: string): Promise<void> {
  await db('observed_tasks').where({ pipeline_id: pipelineId }).delete()
}

/** Pipelines that have positions and nobody who holds them. */
export async function listIdlePipelines(db: Queryable): Promise<Pick<PipelineRow, 'id' | 'definition'>[]> {
  return db('pipelines').whereIn('status', ['created', 'stopped', 'failed']).select('id', 'definition')
}

/** Pipelines with an intake topic. */
export async function listSourcedPipelines(db: Queryable): Promise<Pick<PipelineRow, 'id' | 'definition'>[]> {
  return db('pipelines').whereRaw(`definition->'source' IS NOT NULL`).select('id', 'definition')
}

/** Pipelines left half-made or half-deleted for longer than `olderThanMs`. At most 50: the next pass takes the rest. */
export async function listUnfinishedPipelines(db: Queryable, olderThanMs: number): Promise<PipelineRow[]> {
  return db('pipelines')
    .whereIn('status', ['creating', 'deleting'])
    .whereRaw(`updated_at < now() - ? * interval '1 millisecond'`, [olderThanMs])
    .orderBy('updated_at')
    .limit(50)
}

/** Puts a pipeline's definition (or its end) into the outbox; the publisher carries it to the processors. */
export async function enqueueDefinition(db: Queryable, id: string, definition: PipelineDefinition | null): Promise<void> {
  await db('outbox').insert({ key: definitionKeys.pipeline(id), value: definition && Buffer.from(JSON.stringify(definition)) })
}

/** Revisions that processors keep: more of them pass only while a sink is away for all that time. */
const REVISIONS_KEPT = 20

/** Puts a revision's own entry into the outbox, and the end of the one that is too old to be kept. */
export async function enqueueRevision(db: Queryable, definition: PipelineDefinition): Promise<void> {
  const { pipeline_id: id, revision } = definition
  await db('outbox').insert({ key: definitionKeys.revision(id, revision), value: Buffer.from(JSON.stringify(definition)) })
  if (revision > REVISIONS_KEPT) await db('outbox').insert({ key: definitionKeys.revision(id, revision - REVISIONS_KEPT), value: null })
}

/** Puts the ends of all revisions that processors may have into the outbox. */
export async function enqueueRevisionsEnd(db: Queryable, id: string, newest: number): Promise<void> {
  const oldest = Math.max(1, newest - REVISIONS_KEPT)
  const ends = Array.from({ length: newest - oldest + 1 }, (_, index) => ({
    key: definitionKeys.revision(id, oldest + index),
    value: null,
  }))
  await db('outbox').insert(ends)
}

/** Puts a job's definition (or its end) into the outbox. */
export async function enqueueJob(db: Queryable, id: string, definition: PipelineDefinition | null): Promise<void> {
  await db('outbox').insert({ key: definitionKeys.job(id), value: definition && Buffer.from(JSON.stringify(definition)) })
}

export async function enqueueBinary(db: Queryable, sha256: string, content: Buffer): Promise<void> {
  await db('outbox').insert({ key: definitionKeys.smartModule(sha256), value: content })
}

/** Makes this process the publisher. True where another one was it before, or none. */
export async function takePublisher(db: Queryable, self: string): Promise<boolean> {
  const { rowCount } = await db.raw(
    `INSERT INTO publisher (name, process) VALUES ('outbox', ?) ON CONFLICT (name) DO UPDATE SET process = excluded.process WHERE publisher.process <> excluded.process`,
    [self],
  )
  return rowCount === 1
}

export type OutboxRow = { id: string; key: string; value: Buffer | null }

export async function listOutbox(db: Queryable, limit: number): Promise<OutboxRow[]> {
  return db('outbox').orderBy('id').limit(limit)
}

export async function deleteOutbox(db: Queryable, ids: string[]): Promise<void> {
  await db('outbox').whereIn('id', ids).delete()
}

export async function saveObserved(db: Queryable, task: ObservedTask): Promise<void> {
  await db('observed_tasks')
    .insert({ pipeline_id: task.pipeline_id, task: task.task, body: JSON.stringify(task) })
    .onConflict(['pipeline_id', 'task'])
    .merge()
}

export async function listObserved(db: Queryable, pipelineId: string): Promise<ObservedTask[]> {
  const rows = await db('observed_tasks').where({ pipeline_id: pipelineId }).orderBy('task')
  return rows.flatMap(({ body }) => {
    const parsed = z.safeParse(ObservedTask, body)
    return parsed.success ? [parsed.data] : []
  })
}

/** Forgets what tasks reported that are no longer wanted. */
export async function deleteObservedBut(db: Queryable, pipelineId: string, tasks: readonly number[]): Promise<void> {
  await db('observed_tasks').where({ pipeline_id: pipelineId }).whereNotIn('task', tasks).delete()
}

export async function getProjectorPosition(db: Queryable, name: string): Promise<bigint> {
  const row = await db('projector_positions').where({ name }).first()
  return BigInt(row?.next_offset ?? 0)
}

/** The same, locked until the transaction ends: one projector at a time moves it. */
export async function lockProjectorPosition(db: Queryable, name: string): Promise<bigint> {
  await db('projector_positions').insert({ name, next_offset: 0 }).onConflict('name').ignore()
  const row = await db('projector_positions').where({ name }).forUpdate().first()
  return BigInt(row.next_offset)
}

export async function setProjectorPosition(db: Queryable, name: string, nextOffset: bigint): Promise<void> {
  await db('projector_positions')
    .insert({ name, next_offset: String(nextOffset) })
    .onConflict('name')
    .merge()
}

/** Pipelines and their revisions as rows. */
import { PipelineDefinition, type DesiredStatus } from '../../../shared/model/definition.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import type { PipelineStatus } from '../../../shared/model/pipeline-status.ts'
import { ServiceError } from '../service-error.ts'
import type { Queryable } from './database.ts'
import { deleteObserved } from './observed.ts'
import { REVISIONS_KEPT } from './outbox.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'
import { listUnfinished } from './unfinished.ts'
import { addUses, type Use } from './uses.ts'

/** A row of `pipelines`. */
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
  /**
   * What the last request that made a revision amounts to, with its defaults filled in and the start that it resolved to; `name` and
   * `description` of the row are newer.
   */
  request: Record<string, unknown>
  definition: PipelineDefinition
  created_at: Date
  updated_at: Date
}

/** A pipeline that is not stored yet. */
export type NewPipeline = Omit<PipelineRow, 'created_at' | 'updated_at' | 'status_reason'>
/** The stored pipeline, with its uses and its first revision. Throws a unique violation when its name is taken. */
export async function insertPipeline(db: Queryable, pipeline: NewPipeline, uses: Use[]): Promise<PipelineRow> {
  const [row] = await db('pipelines')
    .insert({ ...pipeline, request: JSON.stringify(pipeline.request), definition: JSON.stringify(pipeline.definition) })
    .returning('*')
  await addUses(db, pipeline.id, uses)
  await insertRevision(db, pipeline.definition)
  return row
}

/** A row of `pipeline_revisions`. */
export type RevisionRow = { pipeline_id: string; revision: number; definition: PipelineDefinition; created_at: Date }

/**
 * What a pipeline or a job runs, as it is stored and published. Throws 409 where it is too large: a record that the broker refuses would
 * never come to the processors.
 */
export function definitionText(definition: PipelineDefinition): string {
  const text = JSON.stringify(definition)
  if (Buffer.byteLength(text) > LIMITS.definition_bytes_max)
    throw new ServiceError(
      'conflict',
      `what the pipeline "${definition.name}" runs would have more than ${LIMITS.definition_bytes_max >> 20} MiB: its steps' configs and its source's schemas count`,
    )
  return text
}

const REVISIONS_MAX = 500
/** As they are stored, which may be compressed. */
const STORED_BYTES_MAX = 64 << 20

/**
 * Stores a revision of a pipeline, and drops the oldest where there would be more than 500, or 64 MiB: a change of a few bytes stores all
 * of the definition again, and no quota counts it. The newest `min` stay: tasks may still run them, and binaries are kept by these rows.
 */
export async function insertRevision(
  db: Queryable,
  definition: PipelineDefinition,
  { bytesMax = STORED_BYTES_MAX, min = REVISIONS_KEPT } = {},
): Promise<void> {
  const { pipeline_id, revision } = definition
  await db('pipeline_revisions').insert({ pipeline_id, revision, definition: definitionText(definition) })
  await db.raw(
    `WITH measured AS (
       SELECT revision, row_number() OVER newest AS place, sum(pg_column_size(definition)) OVER newest AS bytes
       FROM pipeline_revisions WHERE pipeline_id = :pipeline_id WINDOW newest AS (ORDER BY revision DESC))
     DELETE FROM pipeline_revisions WHERE pipeline_id = :pipeline_id
       AND revision IN (SELECT revision FROM measured WHERE place > :min AND (place > :max OR bytes > :bytesMax))`,
    { pipeline_id, min, max: REVISIONS_MAX, bytesMax },
  )
}

const SHOWN_BYTES_MAX = 16 << 20

/** The newest revisions of a pipeline, oldest first: at most 16 MiB of those that are kept. */
export async function listRevisions(db: Queryable, pipelineId: string, bytesMax = SHOWN_BYTES_MAX): Promise<RevisionRow[]> {
  const { rows } = (await db.raw(
    `WITH newest AS (SELECT * FROM pipeline_revisions WHERE pipeline_id = ? ORDER BY revision DESC LIMIT ?),
     measured AS (SELECT *, sum(octet_length(definition::text)) OVER (ORDER BY revision DESC) AS bytes FROM newest)
     SELECT pipeline_id, revision, definition, created_at FROM measured WHERE bytes <= ? ORDER BY revision`,
    [pipelineId, REVISIONS_MAX, bytesMax],
  )) as { rows: RevisionRow[] }
  return rows.map((row) => ({ ...row, definition: PipelineDefinition.parse(row.definition) }))
}

export async function findRevision(db: Queryable, pipelineId: string, revision: number): Promise<RevisionRow | undefined> {
  return withDefaults(await db('pipeline_revisions').where({ pipeline_id: pipelineId, revision }).first())
}

/** The definition in today's form, with members that it did not have when the row was written. */
export function withDefaults<T extends Pick<PipelineRow, 'definition'> | undefined>(row: T): T {
  return row && { ...row, definition: PipelineDefinition.parse(row.definition) }
}

/** The rows whose definition can be read. One that a later version has written must not keep the others from being handled. */
export const readable = <T extends Pick<PipelineRow, 'definition'>>(rows: T[]): T[] =>
  rows.flatMap((row) => {
    const { data } = PipelineDefinition.safeParse(row.definition)
    return data ? [{ ...row, definition: data }] : []
  })

/** The account's pipeline; undefined if it does not exist or is being deleted. */
export async function findPipeline(db: Queryable, accountId: string, id: string): Promise<PipelineRow | undefined> {
  return withDefaults(await db('pipelines').where({ account_id: accountId, id }).whereNot('status', 'deleting').first())
}

/** A pipeline as its client asked for it; undefined once it is gone. */
export async function findRequest(db: Queryable, id: string): Promise<unknown> {
  const row: Pick<PipelineRow, 'request'> | undefined = await db('pipelines').where({ id }).first('request')
  return row?.request
}

/** Whether the pipeline is there and stays: its definition may be large, and is not read. */
export async function isPipelineKept(db: Queryable, id: string): Promise<boolean> {
  return (await db('pipelines').where({ id }).whereNot('status', 'deleting').first('id')) !== undefined
}

/** The pipeline, of any account and in any status. */
export async function findAnyPipeline(db: Queryable, id: string): Promise<PipelineRow | undefined> {
  return withDefaults(await db('pipelines').where({ id }).first())
}

/** A pipeline of any account and its definition, where it uses the connector and is not being deleted; of others nothing is read. */
export async function findUsing(db: Queryable, id: string, connectorId: string) {
  // Looked for here, as in `listPerhapsSourced`.
  const using = db<PipelineRow>('pipelines').whereRaw('definition::text LIKE ?', [`%"connector_id":"${connectorId}"%`])
  return withDefaults(await using.where({ id }).whereNot('status', 'deleting').first('id', 'account_id', 'definition'))
}

/** The pipeline, locked until the transaction ends, so that its outbox entries are in the order of its changes. */
export async function lockPipeline(db: Queryable, id: string): Promise<PipelineRow | undefined> {
  return withDefaults(await db('pipelines').where({ id }).forUpdate().first())
}

const LISTED = ['id', 'name', 'description', 'status', 'status_reason', 'revision', 'created_at', 'updated_at'] as const
/** A pipeline as lists show it, without what it runs, which may be large. */
export type ListedPipeline = Pick<PipelineRow, (typeof LISTED)[number]>

/** A page of the account's pipelines, without those being deleted. */
export async function listPipelines(
  db: Queryable,
  accountId: string,
  { module_id, ...page }: PageRequest & { module_id?: string | undefined },
): Promise<Page<ListedPipeline>> {
  const scope = db('pipelines').where({ account_id: accountId }).whereNot('status', 'deleting')
  if (module_id !== undefined)
    void scope.whereIn('id', db('pipeline_uses').select('pipeline_id').where({ kind: 'smartmodule', used_id: module_id }))
  return findPage(scope.select(...LISTED), page)
}

/** The changed pipeline. Throws a unique violation when its new name is taken. */
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

/** Deletes the pipeline's row and the reports of its tasks. */
export async function deletePipelineRow(db: Queryable, id: string): Promise<void> {
  await deleteObserved(db, id)
  await db('pipelines').where({ id }).delete()
}

/** Pipelines with committed positions but no running tasks, whose positions could expire; also those of suspended accounts. */
export async function listIdlePipelines(db: Queryable): Promise<string[]> {
  return db('pipelines')
    .whereIn('status', ['created', 'stopped', 'failed'])
    .orWhereIn('account_id', db('accounts').whereNotNull('suspended_for').select('id'))
    .pluck('id')
}

/** Pipelines that may have an external source, and so an intake topic: the others have an external sink, or a config that says so. */
export async function listPerhapsSourced(db: Queryable): Promise<string[]> {
  // No closer, because Postgres refuses to read inside of a definition that contains \\u0000.
  return db('pipelines').whereRaw(`definition::text LIKE '%"connector_id":%'`).pluck('id')
}

/**
 * Pipelines whose creation or deletion has been unfinished for longer than `olderThanMs`, but for those in `held`; at most 50, of as many
 * accounts as possible: the next pass takes the rest.
 */
export async function listUnfinishedPipelines(db: Queryable, olderThanMs: number, held: readonly string[]): Promise<PipelineRow[]> {
  return readable(await listUnfinished<PipelineRow>(db, 'pipelines', olderThanMs, held))
}

/** Definitions by pipeline id. */
export async function listDefinitions(db: Queryable, ids: readonly string[]): Promise<Pick<PipelineRow, 'id' | 'definition'>[]> {
  return readable(await db('pipelines').whereIn('id', ids).select('id', 'definition'))
}

/** Accounts with a pipeline whose source or sink is the connector without a connection of its own: it uses the operator's. */
export async function listAccountsUsingDefault(db: Queryable, connectorId: string): Promise<string[]> {
  // Looked for here, as in `listPerhapsSourced`.
  const rows: Pick<PipelineRow, 'account_id' | 'definition'>[] = await db('pipelines')
    .whereRaw('definition::text LIKE ?', [`%"connector_id":"${connectorId}"%`])
    .select('account_id', 'definition')
  const usesDefault = (end: PipelineDefinition['source' | 'sink']) =>
    end.kind === 'connector' && end.connector_id === connectorId && (end.config.connection ?? null) === null
  const using = readable(rows).filter(({ definition: { source, sink } }) => usesDefault(source) || usesDefault(sink))
  return [...new Set(using.map(({ account_id }) => account_id))]
}

/** The ids of all pipelines. */
export async function listPipelineIds(db: Queryable): Promise<string[]> {
  const rows: { id: string }[] = await db('pipelines').select('id').orderBy('id')
  return rows.map(({ id }) => id)
}

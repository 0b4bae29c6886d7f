/** What pipelines use, which therefore can't be deleted: streams, SmartModules and secrets. */
import type { Queryable } from './database.ts'

/** A resource that a pipeline uses. */
export type Use = { kind: 'stream' | 'smartmodule' | 'secret'; used_id: string }

/** Adds resources that the pipeline uses; one that it uses already changes nothing. */
export async function addUses(db: Queryable, pipelineId: string, uses: Use[]): Promise<void> {
  const rows = uses.map(({ kind, used_id }) => ({ pipeline_id: pipelineId, kind, used_id }))
  if (rows.length > 0) await db('pipeline_uses').insert(rows).onConflict().ignore()
}

/** Replaces the resources of these kinds that a pipeline uses by those of its next revision. */
export async function replaceUses(db: Queryable, pipelineId: string, kinds: Use['kind'][], uses: Use[]): Promise<void> {
  await db('pipeline_uses').where({ pipeline_id: pipelineId }).whereIn('kind', kinds).delete()
  await addUses(db, pipelineId, uses)
}

/** Ids of the pipelines that use a resource, sorted; also of those that are being deleted. */
export async function listPipelineIdsUsing(db: Queryable, kind: Use['kind'], id: string): Promise<string[]> {
  return (await listPipelineIdsUsingEach(db, kind, [id])).get(id) ?? []
}

/** The same for several resources, by the resource's id; without those that no pipeline uses. */
export async function listPipelineIdsUsingEach(db: Queryable, kind: Use['kind'], ids: readonly string[]): Promise<Map<string, string[]>> {
  const rows: { used_id: string; pipeline_id: string }[] = await db('pipeline_uses')
    .where({ kind })
    .whereIn('used_id', ids)
    .select('used_id', 'pipeline_id')
    .orderBy('pipeline_id')
  const users = Map.groupBy(rows, ({ used_id }) => used_id)
  return new Map([...users].map(([id, uses]) => [id, uses.map(({ pipeline_id }) => pipeline_id)]))
}

/** Names of pipelines that use a resource, at most ten; also of those that are being deleted, which need it until they are gone. */
export async function listPipelineNamesUsing(db: Queryable, kind: Use['kind'], id: string): Promise<string[]> {
  const rows = await db('pipeline_uses')
    .join('pipelines', 'pipelines.id', 'pipeline_uses.pipeline_id')
    .where({ kind, used_id: id })
    .limit(10)
    .select('pipelines.name')
  return rows.map(({ name }: { name: string }) => name)
}

/** The pipelines that use each of the resources, by the resource's id and in the order of their names; none that is being deleted. */
export async function listPipelinesUsingEach(db: Queryable, ids: readonly string[]): Promise<Map<string, { id: string; name: string }[]>> {
  const rows: { used_id: string; id: string; name: string }[] = await db('pipeline_uses as u')
    .join('pipelines as p', 'p.id', 'u.pipeline_id')
    .whereIn('u.used_id', ids)
    .whereNot('p.status', 'deleting')
    .select('u.used_id', 'p.id', 'p.name')
    .orderBy('p.name')
  return Map.groupBy(rows, ({ used_id }) => used_id)
}

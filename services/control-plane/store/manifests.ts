/** Members of sets, and the resources that a manifest names, found in one query for each kind. */
import type { MemberKind } from '../../../shared/api/manifests.ts'
import type { Queryable } from './database.ts'
import { readable, type PipelineRow } from './pipelines.ts'
import type { StreamRow } from './streams.ts'

/** A row of `manifest_members`. */
export type Member = { kind: MemberKind; resource_id: string; set_name: string; fingerprint: string | null }

type ManifestSet = { set: string; streams: number; smartmodules: number; pipelines: number }

/** All members of the account's sets. */
export async function listSetMembers(db: Queryable, accountId: string): Promise<Member[]> {
  return db('manifest_members').where({ account_id: accountId }).select('kind', 'resource_id', 'set_name', 'fingerprint')
}

/** The account's sets, by name, with how many members of each kind are there. */
export async function listSets(db: Queryable, accountId: string): Promise<ManifestSet[]> {
  const isThere = (table: string, and: string) => `EXISTS (SELECT 1 FROM ${table} WHERE id = resource_id${and})`
  const isLeft = ` AND status <> 'deleting'`
  const { rows } = (await db.raw(
    `SELECT set_name AS set, (count(*) FILTER (WHERE kind = 'stream'))::int AS streams,
       (count(*) FILTER (WHERE kind = 'smartmodule'))::int AS smartmodules, (count(*) FILTER (WHERE kind = 'pipeline'))::int AS pipelines
     FROM manifest_members WHERE account_id = ?
       AND (${isThere('streams', isLeft)} OR ${isThere('pipelines', isLeft)} OR ${isThere('smartmodules', '')})
     GROUP BY set_name ORDER BY set_name`,
    [accountId],
  )) as { rows: ManifestSet[] }
  return rows
}

/** What a member of a set takes in a manifest. */
type MemberSize = Pick<Member, 'kind'> & { name: string; bytes: number }

/** The members of the account's set, the largest first: about as many bytes as each has as JSON, with binaries in base64. */
export async function listMemberSizes(db: Queryable, accountId: string, set: string): Promise<MemberSize[]> {
  const { rows } = (await db.raw(
    `WITH own AS (SELECT resource_id AS id FROM manifest_members WHERE account_id = ? AND set_name = ?)
     SELECT 'stream' AS kind, name, CASE WHEN schema_text IS NULL THEN octet_length(schema::text) ELSE 0 END AS bytes
       FROM own JOIN streams USING (id) WHERE status <> 'deleting'
     UNION ALL SELECT 'pipeline', name, octet_length(request::text) FROM own JOIN pipelines USING (id) WHERE status <> 'deleting'
     UNION ALL SELECT 'smartmodule', name, octet_length(v.config::text) + coalesce(octet_length(v.tests::text), 0)
         + coalesce(octet_length(v.source::text), (v.bytes + 2) / 3 * 4)
       FROM own JOIN smartmodules m USING (id) JOIN LATERAL (
         SELECT config, tests, source, bytes FROM smartmodule_versions WHERE smartmodule_id = m.id ORDER BY ordinal DESC LIMIT 1
       ) v ON true
     ORDER BY bytes DESC`,
    [accountId, set],
  )) as { rows: MemberSize[] }
  return rows
}

/** Makes the resource a member; without a fingerprint it keeps the one that it has. */
export async function saveSetMember(
  db: Queryable,
  accountId: string,
  member: Omit<Member, 'fingerprint'> & { fingerprint?: string },
): Promise<void> {
  await db('manifest_members')
    .insert({ account_id: accountId, ...member })
    .onConflict(['account_id', 'kind', 'resource_id'])
    .merge()
    // Another set may have taken it since the plan.
    .where('manifest_members.set_name', member.set_name)
}

/** The resource is no member any more. */
export async function deleteSetMember(db: Queryable, accountId: string, kind: MemberKind, resourceId: string): Promise<void> {
  await db('manifest_members').where({ account_id: accountId, kind, resource_id: resourceId }).delete()
}

type Wanted = { names: readonly string[]; ids: readonly string[] }

/** The account's streams with these names or ids. */
export async function listStreamsByName(db: Queryable, accountId: string, { names, ids }: Wanted): Promise<StreamRow[]> {
  return db('streams')
    .where({ account_id: accountId })
    .whereNot('status', 'deleting')
    .where((scope) => void scope.whereIn('name', names).orWhereIn('id', ids))
}

/** The account's pipelines with these names or ids. */
export async function listPipelinesByName(db: Queryable, accountId: string, { names, ids }: Wanted): Promise<PipelineRow[]> {
  const rows: PipelineRow[] = await db('pipelines')
    .where({ account_id: accountId })
    .whereNot('status', 'deleting')
    .where((scope) => void scope.whereIn('name', names).orWhereIn('id', ids))
  return readable(rows)
}

/** SmartModules, their immutable versions, and the content-addressed binaries. */
import { parseAsWritten } from '../../../shared/model/exact-json.ts'
import { definitionKeys } from '../../../shared/model/definition.ts'
import { createHash } from 'node:crypto'
import type { ModuleTest } from '../../../shared/api/smartmodules.ts'
import type { ExtismFunction, SmartModuleKind } from '../../../shared/model/smartmodule-kind.ts'
import type { Queryable } from './database.ts'
import { enqueue } from './outbox.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

/** A row of `smartmodules`; built-in ones have no account. */
export type SmartModuleRow = { id: string; account_id: string | null; name: string; description: string; created_at: Date }
/** What a version was deployed with besides its formats: the JSON Schema of a step's config, and where a plug-in may send requests. */
export type VersionConfig = { parameters?: Record<string, unknown> | undefined; allowed_hosts?: string[] | undefined }
/** A version without what may be large; `ordinal` counts a SmartModule's versions from 1. */
export type PlainVersion = Omit<VersionRow, 'source' | 'tests'>
/** A row of `smartmodule_versions`. */
export type VersionRow = {
  smartmodule_id: string
  version: string
  ordinal: number
  sha256: string
  kind: SmartModuleKind
  extism_function: ExtismFunction | null
  input_format: string
  output_format: string
  config: VersionConfig
  bytes: number
  /** What it was made of, if it was deployed as a source. */
  source: SmartModuleSource | null
  /** What it passed before it was deployed. */
  tests: ModuleTest[] | null
  /** Its calls trapped, or did not return, too often in a pipeline of the account. */
  is_quarantined: boolean
  created_at: Date
}
/** A source as its author wrote it. */
export type SmartModuleSource = { language: 'typescript'; code: string }
/** A SmartModule with its newest version. */
export type CurrentSmartModule = SmartModuleRow & Omit<VersionRow, 'smartmodule_id' | 'created_at' | 'source' | 'tests'>

/** The SHA-256 hash of a binary or a source, in hex. */
export const sha256Of = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex')

/** The SmartModules that the account may use: its own and the built-ins, each with its newest version. */
function visibleSmartModules(db: Queryable, accountId: string) {
  return db.from(
    db('smartmodules as m')
      .joinRaw(
        `JOIN LATERAL (SELECT version, ordinal, sha256, kind, extism_function, input_format, output_format, config, bytes, is_quarantined
           FROM smartmodule_versions v WHERE v.smartmodule_id = m.id ORDER BY ordinal DESC LIMIT 1) v ON true`,
      )
      // As their index has it.
      .whereRaw(`coalesce(m.account_id, '') IN (?, '')`, [accountId])
      .select('m.*', 'v.*')
      .as('visible'),
  )
}

const LISTED = ['id', 'account_id', 'name', 'description', 'version', 'created_at'] as const
/** A SmartModule as lists show it, without its config, which may be as large as an upload. */
export type ListedSmartModule = Pick<CurrentSmartModule, (typeof LISTED)[number]>

/** A page of the account's own and the built-in SmartModules. */
export async function listSmartModules(db: Queryable, accountId: string, page: PageRequest): Promise<Page<ListedSmartModule>> {
  return findPage(visibleSmartModules(db, accountId).select(...LISTED), page)
}

/** The account's own and the built-in SmartModules with these names or ids. */
export async function listSmartModulesByName(
  db: Queryable,
  accountId: string,
  { names, ids }: { names: readonly string[]; ids: readonly string[] },
): Promise<ListedSmartModule[]> {
  return visibleSmartModules(db, accountId)
    .where((scope) => void scope.whereIn('name', names).orWhereIn('id', ids))
    .select(...LISTED)
}

/** The account's own or a built-in SmartModule; undefined if there is none with this id. */
export async function findSmartModule(db: Queryable, accountId: string, id: string): Promise<CurrentSmartModule | undefined> {
  return visibleSmartModules(db, accountId).where('id', id).first()
}

/** The account's own or a built-in SmartModule; undefined if there is none with this name. */
export async function findSmartModuleByName(db: Queryable, accountId: string, name: string): Promise<CurrentSmartModule | undefined> {
  return visibleSmartModules(db, accountId).where('name', name).first()
}

/** The SmartModule that a request refers to, by its id or its name. */
export async function findSmartModuleReferred(db: Queryable, accountId: string, text: string): Promise<CurrentSmartModule | undefined> {
  return (await findSmartModule(db, accountId, text)) ?? (await findSmartModuleByName(db, accountId, text))
}

/** All but source and tests, of which a hundred versions have over a hundred megabytes. */
const PLAIN_COLUMNS = [
  'smartmodule_id',
  'version',
  'ordinal',
  'sha256',
  'kind',
  'extism_function',
  'input_format',
  'output_format',
  'config',
  'bytes',
  'is_quarantined',
  'created_at',
] as const satisfies readonly (keyof PlainVersion)[]

/** One version of a SmartModule, to be run; undefined if it does not exist. */
export async function findPlainVersion(db: Queryable, smartModuleId: string, version: string): Promise<PlainVersion | undefined> {
  return db('smartmodule_versions').where({ smartmodule_id: smartModuleId, version }).first(PLAIN_COLUMNS)
}

/** One version of a SmartModule, with its tests' numbers as they were written; undefined if it does not exist. */
export async function findVersion(db: Queryable, smartModuleId: string, version: string): Promise<VersionRow | undefined> {
  // The tests as text: parsed by the driver, their numbers would not stay as they were written.
  const row: (Omit<VersionRow, 'tests'> & { tests_text: string | null }) | undefined = await db('smartmodule_versions')
    .where({ smartmodule_id: smartModuleId, version })
    .first(...PLAIN_COLUMNS, 'source', db.raw('tests::text AS tests_text'))
  if (!row) return undefined
  const { tests_text, ...rest } = row
  return { ...rest, tests: tests_text === null ? null : (parseAsWritten(tests_text) as ModuleTest[]) }
}

/** What a version was made of, without its tests; null where it was deployed as a binary. */
export async function findSource(db: Queryable, smartModuleId: string, version: string): Promise<SmartModuleSource | null> {
  const row: Pick<VersionRow, 'source'> | undefined = await db('smartmodule_versions')
    .where({ smartmodule_id: smartModuleId, version })
    .first('source')
  return row?.source ?? null
}

/** The SmartModule by name, locked until the transaction ends, so that two uploads can't both become its next version. */
export async function lockSmartModule(db: Queryable, accountId: string | null, name: string): Promise<SmartModuleRow | undefined> {
  const query = db('smartmodules').where({ name }).forUpdate()
  return (accountId === null ? query.whereNull('account_id') : query.where({ account_id: accountId })).first()
}

/** The stored SmartModule. Throws a unique violation when its name is taken. */
export async function insertSmartModule(db: Queryable, row: Omit<SmartModuleRow, 'created_at'>): Promise<SmartModuleRow> {
  const [inserted] = await db('smartmodules').insert(row).returning('*')
  return inserted
}

/** Changes a SmartModule's description. */
export async function updateDescription(db: Queryable, id: string, description: string): Promise<void> {
  await db('smartmodules').where({ id }).update({ description })
}

/** Stores a version, and its binary unless that is stored already. Throws a unique violation for a taken version. */
export async function insertVersion(
  db: Queryable,
  version: Omit<VersionRow, 'created_at' | 'bytes' | 'is_quarantined'>,
  binary: Uint8Array,
): Promise<void> {
  await db('smartmodule_binaries')
    .insert({ sha256: version.sha256, content: Buffer.from(binary) })
    .onConflict('sha256')
    // Written again, so that it is locked: `sweepBinaries` may be about to delete it.
    .merge(['content'])
  const { config, source, tests } = version
  const row = {
    ...version,
    config: JSON.stringify(config),
    source: source && JSON.stringify(source),
    tests: tests && JSON.stringify(tests),
    bytes: binary.length,
  }
  await db('smartmodule_versions').insert(row)
}

/** All versions of a SmartModule, newest first. */
export async function listVersions(db: Queryable, smartModuleId: string): Promise<PlainVersion[]> {
  return db('smartmodule_versions').where({ smartmodule_id: smartModuleId }).orderBy('ordinal', 'desc').select(PLAIN_COLUMNS)
}

/** The newest version of a SmartModule, and how many there are. */
export async function findNewest(db: Queryable, smartModuleId: string): Promise<{ newest: PlainVersion | undefined; count: number }> {
  const versions = db('smartmodule_versions').where({ smartmodule_id: smartModuleId })
  const newest = await versions.clone().orderBy('ordinal', 'desc').first(PLAIN_COLUMNS)
  const counted = await versions.count<{ count: string }>('* as count').first()
  return { newest, count: Number(counted?.count ?? 0) }
}

/** What lists show of a version. */
export type ListedVersion = Pick<VersionRow, 'version' | 'kind' | 'sha256' | 'bytes' | 'is_quarantined' | 'created_at'>

/** A page of the versions of a SmartModule. */
export async function listVersionsPage(db: Queryable, smartModuleId: string, page: PageRequest): Promise<Page<ListedVersion>> {
  const named = db.raw(`'v_' || ordinal AS id, version AS name`)
  const query = db('smartmodule_versions').where({ smartmodule_id: smartModuleId })
  // Pages need an id and a name.
  const shown = query.select('version', 'kind', 'sha256', 'bytes', 'is_quarantined', 'created_at', named)
  return findPage<ListedVersion & { id: string; name: string }>(db.select('*').from(shown.as('versions')), page)
}

/** The binary with this SHA-256 hash. Throws an Error when it is missing. */
export async function getBinary(db: Queryable, sha256: string): Promise<Buffer> {
  const row = await db('smartmodule_binaries').where({ sha256 }).first('content')
  if (!row) throw new Error(`the binary ${sha256} is missing`)
  return row.content
}

/** Puts those of the binaries that were not published yet into the outbox, in the caller's transaction; Postgres copies them itself. */
export async function enqueueBinaries(trx: Queryable, sha256s: string[]): Promise<void> {
  await trx.raw(
    `WITH claimed AS (
       UPDATE smartmodule_binaries SET is_published = true WHERE sha256 = ANY (?) AND NOT is_published RETURNING sha256, content)
     INSERT INTO outbox (key, value) SELECT ?::text || sha256, content FROM claimed`,
    [sha256s, definitionKeys.smartModule('')],
  )
}

/** The SHA-256 hashes of all binaries. */
export async function listBinaries(db: Queryable): Promise<string[]> {
  const rows: { sha256: string }[] = await db('smartmodule_binaries').select('sha256')
  return rows.map(({ sha256 }) => sha256)
}

/** Notes that these binaries are published, and no others: the next one that is needed is published anew. */
export async function noteOnlyPublished(db: Queryable, sha256s: string[]): Promise<void> {
  await db.raw('UPDATE smartmodule_binaries SET is_published = sha256 = ANY (?) WHERE is_published <> (sha256 = ANY (?))', [
    sha256s,
    sha256s,
  ])
}

/** Notes that what has this key, if it is a binary, was not published after all: the next one that needs it tries again. */
export async function noteBinaryUnpublished(db: Queryable, key: string): Promise<void> {
  const [kind, sha256] = key.split('/')
  if (kind === 'smartmodule') await db('smartmodule_binaries').where({ sha256 }).update({ is_published: false })
}

/** Quarantines the versions of the account's SmartModules that are one of these binaries. */
export async function quarantineVersions(db: Queryable, accountId: string, sha256s: string[]): Promise<void> {
  if (sha256s.length === 0) return
  await db('smartmodule_versions')
    .where({ is_quarantined: false })
    .whereIn('smartmodule_id', db('smartmodules').select('id').where({ account_id: accountId }))
    .whereIn('sha256', sha256s)
    .update({ is_quarantined: true })
}

/** Deletes binaries that nothing uses any more, and puts tombstones for those that were published into the outbox. */
export async function sweepBinaries(trx: Queryable): Promise<void> {
  const { rows } = await trx.raw(
    `DELETE FROM smartmodule_binaries b
    WHERE NOT EXISTS (SELECT 1 FROM smartmodule_versions WHERE sha256 = b.sha256)
      AND NOT EXISTS (SELECT 1 FROM pipeline_revisions WHERE definition::text LIKE '%' || b.sha256 || '%')
      AND NOT EXISTS (SELECT 1 FROM pipelines WHERE definition::text LIKE '%' || b.sha256 || '%')
      AND NOT EXISTS (SELECT 1 FROM jobs WHERE definition::text LIKE '%' || b.sha256 || '%')
    RETURNING sha256, is_published`,
  )
  for (const { sha256, is_published } of rows) if (is_published) await enqueue(trx, definitionKeys.smartModule(sha256), null)
}

/** Deletes a SmartModule and its versions. */
export async function deleteSmartModuleRow(db: Queryable, id: string): Promise<void> {
  await db('smartmodules').where({ id }).delete()
}

/** Keeps the SmartModule from being deleted until the transaction ends. */
export async function lockSmartModuleForUse(trx: Queryable, id: string): Promise<void> {
  await trx('smartmodules').where({ id }).forShare()
}

/** Keeps others from starting to use the SmartModule until the transaction ends. */
export async function lockSmartModuleForDeletion(trx: Queryable, id: string): Promise<void> {
  await trx('smartmodules').where({ id }).forUpdate()
}

/** The kinds of things that `dps` lists, shows and deletes, and how each is found by its name or id. */
import { Argument } from 'commander'
import { ApiError } from '../../typescript/src/index.ts'
import { collect, idOf, type Context } from './context.ts'
import { Misused } from './outcome.ts'
import type { Columns } from './output.ts'

type Item = Record<string, unknown>
export type Noun = {
  list(context: Context): Promise<readonly object[]>
  columns: Columns<Item>
  /** True for the account's own, false for what the service brings; left out where lists have the account's own alone. */
  isOwn?(item: Item): boolean
  get(context: Context, given: string): Promise<object>
  /** What it is, with what it is part of or has; without it, `get` says all there is. */
  describe?(context: Context, given: string): Promise<object>
  /** Of those that can be deleted. The id is that of `find`, so that all names can be looked up before anything is deleted. */
  removal?: { find(context: Context, given: string): Promise<string>; remove(context: Context, id: string): Promise<unknown> }
}

/** A key with more has a column that is wider than a terminal; `dps get key` shows them. */
const SCOPES_SHOWN = 3

const PAGE = { page_size: 100 }
const column = (name: string) => (item: Item) => item[name]
/** Columns that show these members. */
export const columns = (...names: string[]): Columns<Item> => Object.fromEntries(names.map((name) => [name, column(name)]))

const ID = { key: /^key_[0-9a-z]{26}$/, member: /^mem_[0-9a-z]{26}$/ }

/** The only one that matches. Throws Misused where none does, or more than one. */
function onlyOne<T>(found: readonly T[], kind: string, given: string): T {
  if (found.length > 1) throw new Misused(`there are ${found.length} ${kind}s named ${given}: give an id`)
  if (found.length === 0) throw new Misused(`there is no ${kind} ${given}`, { code: 'not_found', status: 404 })
  return found[0]!
}

/** The service shows keys in their list alone. */
async function keyOf({ dps }: Context, given: string) {
  const all = await collect(dps.keys.all())
  const own = all.filter(({ id }) => id === given)
  return onlyOne(own.length > 0 ? own : all.filter(({ name }) => name === given), 'key', given)
}

async function memberOf({ dps }: Context, given: string) {
  if (ID.member.test(given)) return dps.members.get(given)
  const all = await collect(dps.members.all())
  const byAddress = all.filter(({ email }) => email === given.toLowerCase())
  return onlyOne(byAddress.length > 0 ? byAddress : all.filter(({ name }) => name === given), 'member', given)
}

/** Related things to show beside a thing; those that can't be read (not ready, or a scope is missing) are left out. */
async function known<T>(asked: Promise<T>): Promise<Partial<T>> {
  return asked.catch((error: unknown) => {
    if (error instanceof ApiError) return {}
    throw error
  })
}

/** Names by ids, of what may be listed: an audit log names things by their ids alone. */
export async function namesOf({ dps }: Context): Promise<ReadonlyMap<string, string>> {
  const lists: Promise<Partial<readonly { id: string; name: string }[]>>[] = [
    collect(dps.keys.all()),
    collect(dps.members.all()),
    collect(dps.pipelines.all()),
    collect(dps.streams.all()),
    collect(dps.smartmodules.all()),
    collect(dps.secrets.all()),
  ].map((each) => each.catch((error: unknown) => (error instanceof ApiError ? [] : Promise.reject(error))))
  return new Map((await Promise.all(lists)).flat().flatMap((each) => (each ? [[each.id, each.name] as const] : [])))
}

type End = { connector_id: string; config: Record<string, unknown> }

/** What a pipeline reads or writes, for people: a stream by its name. */
async function endShown({ dps }: Context, { connector_id, config: { stream_id, ...config } }: End): Promise<unknown> {
  const connector = connector_id.replace(/^conn_/, '')
  const { name = stream_id } = typeof stream_id === 'string' ? await known(dps.streams.get(stream_id)) : {}
  const named = name === undefined ? connector : `${connector} ${String(name)}`
  return Object.keys(config).length === 0 ? named : { [named]: config }
}

async function describePipeline(context: Context, given: string): Promise<object> {
  const { dps } = context
  const id = await idOf(context, 'pipeline', given)
  const [pipeline, status, { balanced, totals, steps }] = await Promise.all([
    dps.pipelines.get(id),
    dps.pipelines.getStatus(id),
    dps.pipelines.getAccounting(id),
  ])
  const shared = { ...pipeline, ...status, balanced, totals }
  if (context.out.format !== 'table') return { ...shared, steps }
  const [source, sink] = await Promise.all([endShown(context, pipeline.source), endShown(context, pipeline.sink)])
  // A person gets tables of what is nested, without the counts of each partition's steps: `-o yaml` has those, too.
  const tasks = status.tasks.map(({ role, task, processor_id, status: is, revision, records_per_second, reason }) => ({
    role,
    task,
    processor_id,
    status: is,
    revision,
    records_per_second,
    reason,
  }))
  const partitions = status.tasks.flatMap(({ role, task, partitions: own }) =>
    own.map(({ partition, position, end, lag }) => ({ role, task, partition, position, end, lag })),
  )
  // Unlike the totals, these begin with the revision.
  return { ...shared, source, sink, [`steps since revision ${pipeline.revision}`]: steps, tasks, partitions }
}

async function describeStream(context: Context, given: string): Promise<object> {
  const { dps } = context
  const id = await idOf(context, 'stream', given)
  const [stream, { pagination }, { pipelines }] = await Promise.all([
    dps.streams.get(id),
    known(dps.streams.getData(id, { limit: 1 })),
    known(dps.lineage.get()),
  ])
  const names = (end: 'from' | 'to') => pipelines?.filter((each) => each[end] === id).map(({ name }) => name)
  return {
    ...stream,
    ...(pagination ? { records: pagination.total } : {}),
    ...(pipelines ? { written_by: names('to'), read_by: names('from') } : {}),
  }
}

async function describeModule(context: Context, given: string): Promise<object> {
  const { dps } = context
  const id = await idOf(context, 'smartmodule', given)
  const [module, versions, { pipelines }] = await Promise.all([
    dps.smartmodules.get(id),
    collect(dps.smartmodules.allVersions(id)),
    known(dps.lineage.get()),
  ])
  const used_by = pipelines?.filter(({ modules }) => modules.includes(module.name)).map(({ name }) => name)
  return { ...module, versions: versions.map(({ version }) => version), ...(used_by ? { used_by } : {}) }
}

/** With the names of their pipelines, where these may be listed. */
async function listJobs({ dps, out }: Context): Promise<object[]> {
  const jobs = await collect(dps.jobs.all())
  if (out.format !== 'table' || jobs.length === 0) return jobs
  const { pipelines = [] } = await known(collect(dps.pipelines.all()).then((all) => ({ pipelines: all })))
  const names = new Map(pipelines.map(({ id, name }) => [id, name]))
  return jobs.map((job) => ({ ...job, pipeline: names.get(job.pipeline_id) ?? job.pipeline_id }))
}

export const NOUNS: Record<string, Noun> = {
  streams: {
    list: ({ dps }) => collect(dps.streams.all()),
    columns: columns('name', 'id', 'status', 'created_at'),
    get: async (context, given) => context.dps.streams.get(await idOf(context, 'stream', given)),
    describe: describeStream,
    removal: { find: (context, given) => idOf(context, 'stream', given), remove: ({ dps }, id) => dps.streams.delete(id) },
  },
  pipelines: {
    list: ({ dps }) => collect(dps.pipelines.all()),
    columns: columns('name', 'id', 'status', 'revision', 'created_at'),
    get: async (context, given) => context.dps.pipelines.get(await idOf(context, 'pipeline', given)),
    describe: describePipeline,
    removal: { find: (context, given) => idOf(context, 'pipeline', given), remove: ({ dps }, id) => dps.pipelines.delete(id) },
  },
  smartmodules: {
    list: ({ dps }) => collect(dps.smartmodules.all()),
    columns: columns('name', 'id', 'version', 'description'),
    isOwn: ({ name }) => !String(name).startsWith('dps/'),
    get: async (context, given) => context.dps.smartmodules.get(await idOf(context, 'smartmodule', given)),
    describe: describeModule,
    removal: { find: (context, given) => idOf(context, 'smartmodule', given), remove: ({ dps }, id) => dps.smartmodules.delete(id) },
  },
  secrets: {
    list: ({ dps }) => collect(dps.secrets.all()),
    columns: columns('name', 'id', 'updated_at'),
    get: async (context, given) => context.dps.secrets.get(await idOf(context, 'secret', given)),
    removal: { find: (context, given) => idOf(context, 'secret', given), remove: ({ dps }, id) => dps.secrets.delete(id) },
  },
  connectors: {
    list: async ({ dps }) => (await dps.connectors.list(PAGE)).connectors,
    columns: columns('name', 'id', 'kind', 'description'),
    get: ({ dps }, given) => dps.connectors.get(given),
  },
  jobs: {
    list: listJobs,
    columns: {
      ...columns('id', 'kind', 'status', 'pipeline'),
      done: ({ progress }) => `${Math.floor(Number(progress) * 100)} %`,
      failed: ({ records }) => (records as { failed: number }).failed,
      ...columns('created_at'),
    },
    get: ({ dps }, given) => dps.jobs.get(given),
    removal: { find: async (_context, given) => given, remove: ({ dps }, id) => dps.jobs.cancel(id) },
  },
  sets: {
    list: async ({ dps }) => (await dps.manifests.list()).sets,
    columns: columns('set', 'streams', 'smartmodules', 'pipelines'),
    get: async ({ dps }, given) => (await dps.manifests.get(given)).manifest,
  },
  keys: {
    list: ({ dps }) => collect(dps.keys.all()),
    columns: {
      ...columns('name', 'id'),
      scopes: ({ scopes }) => (Array.isArray(scopes) && scopes.length > SCOPES_SHOWN ? `${scopes.length} scopes` : String(scopes)),
      ...columns('created_at'),
    },
    get: keyOf,
    removal: {
      find: async (context, given) => (ID.key.test(given) ? given : (await keyOf(context, given)).id),
      remove: ({ dps }, id) => dps.keys.delete(id),
    },
  },
  members: {
    list: ({ dps }) => collect(dps.members.all()),
    columns: columns('name', 'email', 'role', 'id', 'created_at'),
    get: memberOf,
    removal: {
      find: async (context, given) => (ID.member.test(given) ? given : (await memberOf(context, given)).id),
      remove: ({ dps }, id) => dps.members.delete(id),
    },
  },
}

/** The argument for a kind of thing; its words are for completion and help: `nounOf` takes others too. */
export function nounArgument(isOffered: (noun: Noun) => boolean = () => true): Argument {
  const argument = new Argument('<what>')
  argument.argChoices = Object.keys(NOUNS).filter((name) => isOffered(NOUNS[name]!))
  return argument
}

/** Whether the word is one for a kind of thing. */
export const isNoun = (given: string): boolean => Object.hasOwn(NOUNS, given) || Object.hasOwn(NOUNS, `${given}s`)

/** The kind of thing by its word, and its name: `stream` and `streams` are the same. Throws Misused. */
export function nounOf(given: string): [name: string, noun: Noun] {
  const name = Object.hasOwn(NOUNS, given) ? given : `${given}s`
  const noun = Object.hasOwn(NOUNS, name) ? NOUNS[name] : undefined
  if (!noun) throw new Misused(`there is no ${given}: it must be one of ${Object.keys(NOUNS).join(', ')}`)
  return [name, noun]
}

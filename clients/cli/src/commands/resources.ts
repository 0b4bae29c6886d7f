/** `dps list`, `get`, `describe`, `delete`, and what is done with a pipeline as a whole. */
import { Argument, type Command } from 'commander'
import { collect, contextOf, idOf, type Context, type Io } from '../context.ts'
import { Misused } from '../outcome.ts'
import type { Columns } from '../output.ts'

type Item = Record<string, unknown>
type Noun = {
  list(context: Context): Promise<readonly object[]>
  columns: Columns<Item>
  get?(context: Context, given: string): Promise<object>
  remove?(context: Context, given: string): Promise<unknown>
}

const PAGE = { page_size: 100 }
const column = (name: string) => (item: Item) => item[name]
const columns = (...names: string[]): Columns<Item> => Object.fromEntries(names.map((name) => [name, column(name)]))

const NOUNS: Record<string, Noun> = {
  streams: {
    list: ({ dps }) => collect(dps.streams.all()),
    columns: columns('name', 'id', 'status', 'created_at'),
    get: async (context, given) => context.dps.streams.get(await idOf(context, 'stream', given)),
    remove: async (context, given) => context.dps.streams.delete(await idOf(context, 'stream', given)),
  },
  pipelines: {
    list: ({ dps }) => collect(dps.pipelines.all()),
    columns: columns('name', 'id', 'status', 'revision', 'created_at'),
    get: async (context, given) => context.dps.pipelines.get(await idOf(context, 'pipeline', given)),
    remove: async (context, given) => context.dps.pipelines.delete(await idOf(context, 'pipeline', given)),
  },
  smartmodules: {
    list: ({ dps }) => collect(dps.smartmodules.all()),
    columns: columns('name', 'id', 'version', 'description'),
    get: async (context, given) => context.dps.smartmodules.get(await idOf(context, 'smartmodule', given)),
    remove: async (context, given) => context.dps.smartmodules.delete(await idOf(context, 'smartmodule', given)),
  },
  secrets: {
    list: ({ dps }) => collect(dps.secrets.all()),
    columns: columns('name', 'id', 'updated_at'),
    get: async (context, given) => context.dps.secrets.get(await idOf(context, 'secret', given)),
    remove: async (context, given) => context.dps.secrets.delete(await idOf(context, 'secret', given)),
  },
  connectors: {
    list: async ({ dps }) => (await dps.connectors.list(PAGE)).connectors,
    columns: columns('name', 'id', 'kind', 'description'),
    get: ({ dps }, given) => dps.connectors.get(given),
  },
  jobs: {
    list: ({ dps }) => collect(dps.jobs.all()),
    columns: columns('id', 'kind', 'status', 'pipeline_id', 'created_at'),
    get: ({ dps }, given) => dps.jobs.get(given),
    remove: ({ dps }, given) => dps.jobs.cancel(given),
  },
  keys: {
    list: ({ dps }) => collect(dps.keys.all()),
    columns: columns('name', 'id', 'scopes', 'created_at'),
    remove: ({ dps }, given) => dps.keys.delete(given),
  },
}

/** Its words are for completion and help: `nounOf` takes others too. */
function what(): Argument {
  const argument = new Argument('<what>')
  argument.argChoices = Object.keys(NOUNS)
  return argument
}

/** `stream` and `streams` are the same. */
function nounOf(given: string): [name: string, noun: Noun] {
  const name = Object.hasOwn(NOUNS, given) ? given : `${given}s`
  const noun = Object.hasOwn(NOUNS, name) ? NOUNS[name] : undefined
  if (!noun) throw new Misused(`there is no ${given}: it must be one of ${Object.keys(NOUNS).join(', ')}`)
  return [name, noun]
}

export function addResourceCommands(program: Command, io: Io): void {
  program
    .command('list')
    .addArgument(what())
    .description(`list ${Object.keys(NOUNS).join(', ')}`)
    .action(async (what: string, _options: object, command: Command) => {
      const [, noun] = nounOf(what)
      const context = contextOf(io, command)
      context.out.many((await noun.list(context)) as Item[], noun.columns)
    })
  program
    .command('overview')
    .description('all pipelines at a glance, those that need attention first')
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      const { pipelines, ...more } = await context.dps.overview.get()
      if (context.out.format !== 'table') return context.out.one({ pipelines, ...more })
      context.out.many(pipelines, {
        name: ({ name }) => name,
        status: ({ status }) => status,
        'per second': ({ records_per_second }) => records_per_second,
        lag: ({ lag }) => lag,
        'dead letters': ({ dead_letters }) => dead_letters,
        attention: ({ attention }) => attention ?? '',
      })
    })
  program
    .command('get')
    .addArgument(what())
    .argument('<name>')
    .description('show one thing, by its name or id')
    .action(async (what: string, given: string, _options: object, command: Command) => {
      const [name, { get }] = nounOf(what)
      if (!get) throw new Misused(`${name} can be listed, not shown one by one`)
      const context = contextOf(io, command)
      context.out.one(await get(context, given))
    })
  program
    .command('delete')
    .addArgument(what())
    .argument('<names...>')
    .description('delete things by their names or ids; a job is cancelled')
    .action(async (what: string, given: string[], _options: object, command: Command) => {
      const [name, { remove }] = nounOf(what)
      if (!remove) throw new Misused(`${name} can't be deleted`)
      const context = contextOf(io, command)
      for (const each of given) {
        io.signal.throwIfAborted()
        await remove(context, each)
        io.note(`${name}: ${each} is deleted`)
      }
    })
  program
    .command('describe <pipeline>')
    .description('show what a pipeline is, how it runs, and where its records went')
    .action(async (given: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const { dps } = context
      const id = await idOf(context, 'pipeline', given)
      const [pipeline, status, accounting] = await Promise.all([
        dps.pipelines.get(id),
        dps.pipelines.getStatus(id),
        dps.pipelines.getAccounting(id),
      ])
      context.out.one({ ...pipeline, ...status, balanced: accounting.balanced, totals: accounting.totals, steps: accounting.steps })
    })
  for (const action of ['start', 'pause', 'resume', 'stop', 'restart'] as const) {
    program
      .command(`${action} <pipelines...>`)
      .description(`${action} pipelines`)
      .action(async (given: string[], _options: object, command: Command) => {
        const context = contextOf(io, command)
        for (const each of given) {
          io.signal.throwIfAborted()
          const { status } = await context.dps.pipelines[action](await idOf(context, 'pipeline', each))
          io.note(`${each} is ${status}`)
        }
      })
  }
}

/** `dps list`, `get`, `describe`, `delete`, and what is done with a pipeline as a whole. */
import type { Command } from 'commander'
import { contextOf, idOf, integer, type Context, type Io } from '../context.ts'
import type { AuditEntry } from '../../../typescript/src/index.ts'
import { isNoun, namesOf, NOUNS, nounArgument, nounOf } from '../nouns.ts'
import { Misused } from '../outcome.ts'

type AuditOptions = { of?: string; by?: string; operation?: string; last: number }

/** Throws the error, or, where a stream has the name that no pipeline has, how that is described. */
async function hinted(context: Context, given: string, error: unknown): Promise<never> {
  const stream = error instanceof Misused ? await idOf(context, 'stream', given).catch(() => undefined) : undefined
  throw stream === undefined
    ? error
    : new Misused(`${(error as Misused).message}, but a stream: dps describe stream ${JSON.stringify(given)}`)
}

/** The ids of what is given, one after the other: where one is not there, nothing is done to the others either. */
async function inTurn(given: readonly string[], find: (each: string) => Promise<string>): Promise<string[]> {
  const ids: string[] = []
  for (const each of given) ids.push(await find(each))
  return ids
}

function addAuditCommand(program: Command, io: Io): void {
  program
    .command('audit')
    .description('show who changed what, and when; the newest first')
    .option('--of <id>', 'of this thing')
    .option('--by <id>', 'by this key, this member, or `operator`')
    .option('--operation <name>', 'of this kind: createStream')
    .option('--last <n>', 'so many entries', integer(1), 20)
    .action(async ({ of, by, operation, last }: AuditOptions, command: Command) => {
      const context = contextOf(io, command)
      const entries: AuditEntry[] = []
      for await (const entry of context.dps.audit.all({ resource_id: of, actor: by, operation, page_size: Math.min(last, 100) })) {
        entries.push(entry)
        if (entries.length === last) break
      }
      if (context.out.format !== 'table') return context.out.many(entries, {})
      if (entries.length === 0) return io.note('no entry of the audit log is like that')
      const names = await namesOf(context)
      const named = (id: string | null) => (id !== null && names.has(id) ? `${names.get(id)} (${id})` : id)
      context.out.many(entries, {
        at: ({ at }) => at,
        actor: ({ actor }) => named(actor),
        operation: ({ operation: each }) => each,
        of: ({ resource_id }) => named(resource_id),
        status: ({ status }) => status,
        address: ({ address }) => address,
      })
    })
}

export function addResourceCommands(program: Command, io: Io): void {
  program
    .command('list')
    .addArgument(nounArgument())
    .description(`list ${Object.keys(NOUNS).join(', ')}`)
    .option('--own', 'without the SmartModules that the service brings')
    .action(async (what: string, { own = false }: { own?: boolean }, command: Command) => {
      const [name, noun] = nounOf(what)
      const context = contextOf(io, command)
      const all = (await noun.list(context)) as Record<string, unknown>[]
      const items = own ? all.filter((item) => noun.isOwn?.(item) ?? true) : all
      context.out.many(items, noun.columns, `there are no ${name}`)
    })
  program
    .command('overview')
    .description('all pipelines at a glance, those that need attention first')
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      const { pipelines, ...more } = await context.dps.overview.get()
      if (context.out.format !== 'table') return context.out.one({ pipelines, ...more })
      context.out.many(
        pipelines,
        {
          name: ({ name }) => name,
          status: ({ status }) => status,
          'per second': ({ records_per_second }) => records_per_second,
          lag: ({ lag }) => lag,
          'dead letters': ({ dead_letters }) => dead_letters,
          attention: ({ attention }) => attention ?? '',
        },
        'there are no pipelines',
      )
    })
  program
    .command('get')
    .addArgument(nounArgument())
    .argument('<name>')
    .description('show one thing, by its name or id')
    .action(async (what: string, given: string, _options: object, command: Command) => {
      const [, { get }] = nounOf(what)
      const context = contextOf(io, command)
      context.out.one(await get(context, given))
    })
  program
    .command('delete')
    .addArgument(nounArgument(({ removal }) => removal !== undefined))
    .argument('<names...>')
    .description('delete things by their names or ids; a job is cancelled')
    .action(async (what: string, given: string[], _options: object, command: Command) => {
      const [name, { removal }] = nounOf(what)
      if (!removal) throw new Misused(`${name} can't be deleted`)
      const context = contextOf(io, command)
      const ids = await inTurn(given, (each) => removal.find(context, each))
      for (const [index, each] of given.entries()) {
        io.signal.throwIfAborted()
        await removal.remove(context, ids[index]!)
        context.out.done(
          { kind: name, name: each, deleted: true },
          `the ${name.replace(/s$/, '')} ${each} is ${name === 'jobs' ? 'cancelled' : 'deleted'}`,
        )
      }
    })
  program
    .command('describe')
    .addArgument(nounArgument())
    .argument('[name]')
    .usage('[options] [what] <name>')
    .description('show what a pipeline (or another kind of thing) is, how it runs, where its records went, and what uses it')
    .action(async (first: string, second: string | undefined, _options: object, command: Command) => {
      if (second === undefined && isNoun(first)) throw new Misused(`its name is missing: dps describe ${first} NAME`)
      // One word alone is a pipeline's.
      const [, { describe, get }] = nounOf(second === undefined ? 'pipelines' : first)
      const given = second ?? first
      const context = contextOf(io, command)
      const found = (describe ?? get)(context, given)
      context.out.one(await (second === undefined ? found.catch((error: unknown) => hinted(context, given, error)) : found))
    })
  program
    .command('account')
    .description('show the account, what it may have, and what it uses of it')
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      const { quotas, ...account } = await context.dps.account.get()
      if (context.out.format !== 'table') return context.out.one({ ...account, quotas })
      context.out.one(account)
      io.write('\n')
      context.out.many(
        Object.entries(quotas).map(([quota, each]) => ({ quota, ...each })),
        { quota: ({ quota }) => quota, used: ({ used }) => used, limit: ({ limit }) => limit },
      )
    })
  addAuditCommand(program, io)
  for (const action of ['start', 'pause', 'resume', 'stop', 'restart'] as const) {
    program
      .command(`${action} <pipelines...>`)
      .description(`${action} pipelines`)
      .action(async (given: string[], _options: object, command: Command) => {
        const context = contextOf(io, command)
        const ids = await inTurn(given, (each) => idOf(context, 'pipeline', each))
        for (const [index, each] of given.entries()) {
          io.signal.throwIfAborted()
          const id = ids[index]!
          const { status } = await context.dps.pipelines[action](id)
          context.out.done({ id, ...(id === each ? {} : { name: each }), status }, `${each} is ${status}`)
        }
      })
  }
}

/** Records that failed: listed, grouped, shown, tried, and sent again. */
import { Option, type Command } from 'commander'
import { chainOf, manifestOption } from '../changed-chain.ts'
import { collect, contextOf, idOf, integer, WORKSHOP_TIMEOUT_MS, type Io } from '../context.ts'
import { Differs } from '../outcome.ts'
import { during } from '../progress.ts'
import { notRun, placeOf, resultOf } from '../trials.ts'
import { waitFor } from './jobs.ts'

const STATUSES = ['pending', 'redriving', 'redriven'] as const

/** Which dead letters, as groups tell them apart. */
type GroupOptions = { step?: number; module?: string; error?: string; pattern?: string }
type RedriveOptions = GroupOptions & { dryRun?: boolean; wait?: boolean; id?: string[] }
type ListOptions = GroupOptions & { status?: (typeof STATUSES)[number] }
type TryOptions = GroupOptions & { last: number; manifest?: string }

const groupOptions = (command: Command): Command =>
  command
    .option('--step <n>', 'only those of this step; the sink comes after the last one', integer(1))
    .option('--module <module>', 'only those of this SmartModule, or of its version: name or name@version')
    .option('--error <code>', 'only those with this code')
    .option('--pattern <pattern>', 'only those whose messages have this pattern, as groups show it')

/** A name may hold an @ itself. */
const WITH_VERSION = /^(.+)@(\d+\.\d+\.\d+)$/

/** The options as a filter. */
function filterOf({ step, module, error, pattern }: GroupOptions) {
  const [, name = module, version] = WITH_VERSION.exec(module ?? '') ?? []
  return {
    ...(step === undefined ? {} : { step }),
    ...(name === undefined ? {} : { module: name }),
    ...(version === undefined ? {} : { version }),
    ...(error === undefined ? {} : { error }),
    ...(pattern === undefined ? {} : { pattern }),
  }
}

/** What one page of them may have. */
const LETTERS_MAX = 100

const NONE = 'there are no such dead letters'

function addTry(dlq: Command, io: Io): void {
  groupOptions(dlq.command('try <pipeline>'))
    .description(
      'run the newest pending ones through the chain, and write nothing: what a redrive would make of them; fails where one fails',
    )
    .option('--last <n>', 'so many', integer(1, LETTERS_MAX), 10)
    .addOption(manifestOption())
    .action(async (given: string, { last, manifest, ...group }: TryOptions, command: Command) => {
      const context = contextOf(io, command, { timeoutMs: WORKSHOP_TIMEOUT_MS })
      const chain = await chainOf(context, given, manifest)
      const trying = chain.run({ dead_letters: filterOf(group), limit: last })
      const { records, total = 0, not_run: left = 0 } = await during(io, 'trying the newest dead letters', trying)
      if (total === 0) return context.out.many([], {}, NONE)
      const tried = records.map((trace) => {
        const { code, message } = trace.dead_letter?.error ?? { code: '', message: '' }
        return { was: `${code}: ${message}`, ...trace }
      })
      context.out.many(tried, { record: placeOf, was: ({ was }) => was, 'would be': ({ outcome }) => outcome, out: resultOf })
      if (left > 0) io.note(notRun(left))
      if (total > tried.length) io.note(`the newest ${tried.length} of ${total}`)
      const failed = tried.filter(({ outcome }) => outcome === 'dead_letter').length
      if (failed > 0) throw new Differs(`${failed} of ${tried.length} would fail again`)
    })
}

export function addDeadLetterCommands(program: Command, io: Io): void {
  const dlq = program.command('dlq').description('dead letters: records that failed')
  groupOptions(dlq.command('list <pipeline>'))
    .description('list them')
    .addOption(new Option('--status <status>', 'only these').choices(STATUSES))
    .action(async (given: string, { status, ...group }: ListOptions, command: Command) => {
      const context = contextOf(io, command)
      const asked = { ...filterOf(group), ...(status ? { status } : {}) }
      const letters = await collect(context.dps.pipelines.allDeadLetters(await idOf(context, 'pipeline', given), asked))
      context.out.many(
        letters,
        {
          id: ({ id }) => id,
          record: ({ partition, offset }) => `${partition}:${offset}`,
          step: ({ step }) => step,
          code: ({ error }) => error.code,
          message: ({ error }) => error.message,
          status: ({ status }) => status,
        },
        NONE,
      )
    })
  dlq
    .command('groups <pipeline>')
    .description('count them by step, version, code and pattern of the message')
    .action(async (given: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const { groups } = await context.dps.pipelines.listDeadLetterGroups(await idOf(context, 'pipeline', given))
      context.out.many(
        groups,
        {
          count: (each) => each.count,
          step: (each) => each.step,
          module: (each) => (each.module === '' ? 'the sink' : `${each.module}@${each.version}`),
          code: (each) => each.error_code,
          last: (each) => each.last_failed_at,
          pattern: (each) => each.pattern,
          message: (each) => each.message,
        },
        NONE,
      )
    })
  dlq
    .command('show <pipeline> <id>')
    .description('show one')
    .action(async (given: string, id: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      context.out.one(await context.dps.pipelines.getDeadLetter(await idOf(context, 'pipeline', given), id))
    })
  groupOptions(dlq.command('redrive <pipeline>'))
    .description('send them through the pipeline again')
    .option('--dry-run', 'only say how many')
    .option('--id <ids...>', 'these alone')
    .option('--wait', 'until the job has ended')
    .action(async (given: string, { dryRun = false, wait, id: ids, ...group }: RedriveOptions, command: Command) => {
      const filter = filterOf(group)
      const context = contextOf(io, command, { isPatient: wait === true })
      const job = await context.dps.pipelines.redriveDeadLetters(await idOf(context, 'pipeline', given), {
        dry_run: dryRun,
        ...(ids ? { ids } : {}),
        ...(Object.keys(filter).length > 0 ? { filter } : {}),
      })
      if (!dryRun && !('id' in job)) context.out.done(job, 'there are no pending dead letters: nothing is sent again')
      else if (wait && 'id' in job) await waitFor(context, job.id)
      else context.out.one(job)
    })
  addTry(dlq, io)
}

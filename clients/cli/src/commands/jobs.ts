/** Replays, and jobs that are waited for. */
import type { Command } from 'commander'
import type { Job } from '../../../typescript/src/index.ts'
import { contextOf, idOf, integer, type Context, type Io } from '../context.ts'
import { Differs, Misused } from '../outcome.ts'

type ReplayOptions = { from: string; to: string; sink?: string; rate?: number; wait?: boolean }

/** The results of a job's records. A redrive's had failed before. */
const becameOf = ({ kind, records: { in: handled, out, filtered, skipped, failed } }: Job): string =>
  [
    filtered + skipped > 0 ? `${out} out` : `${out} of ${handled} delivered`,
    ...(filtered > 0 ? [`${filtered} filtered`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(failed > 0 ? [`${failed} failed${kind === 'redrive' ? ' again' : ''}`] : []),
  ].join(', ')

/** Waits for the job. Ctrl-C stops waiting, not the job. Throws Differs for one that did not finish, or whose records failed. */
export async function waitFor({ dps, out, io }: Context, id: string): Promise<void> {
  io.signal.addEventListener('abort', () => io.note(`the job goes on: dps wait ${id}`))
  const job = await dps.jobs.wait(id, {
    timeoutMs: Infinity,
    signal: io.signal,
    onProgress: ({ status, progress }) => io.note(`\r${status} ${Math.round(progress * 100)} %`),
  })
  out.one(job)
  if (job.status !== 'finished') throw new Differs(`the job is ${job.status}`)
  const became = becameOf(job)
  if (job.records.failed > 0) throw new Differs(became)
  io.note(became)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

/** The option's word, or a time. Throws Misused for anything else. */
function edgeOf<Word extends string>(option: string, word: Word, given: string): Word | { timestamp: string } {
  if (given === word) return word
  if (TIME.test(given) && !Number.isNaN(Date.parse(given))) return { timestamp: given }
  throw new Misused(`${option} must be ${word}, or a time as 2026-11-25T10:00:00Z`)
}

export function addJobCommands(program: Command, io: Io): void {
  program
    .command('replay <pipeline>')
    .description('run records of the source through the pipeline again')
    .option('--from <place>', 'earliest, or a time', 'earliest')
    .option('--to <place>', 'latest, or a time', 'latest')
    .option('--sink <stream>', 'write to this stream, not to the pipeline’s own sink')
    .option('--rate <n>', 'at most so many records per second', integer(1))
    .option('--wait', 'until the job has ended')
    .action(async (given: string, { from, to, sink, rate, wait }: ReplayOptions, command: Command) => {
      const range = { from: edgeOf('--from', 'earliest', from), to: edgeOf('--to', 'latest', to) }
      const context = contextOf(io, command, { isPatient: wait === true })
      const job = await context.dps.pipelines.replay(await idOf(context, 'pipeline', given), {
        ...range,
        ...(sink === undefined ? {} : { sink: { stream_id: await idOf(context, 'stream', sink) } }),
        ...(rate === undefined ? {} : { records_per_second: rate }),
      })
      if (wait) await waitFor(context, job.id)
      else context.out.one(job)
    })
  program
    .command('wait <job>')
    .description('wait until a job has ended; fails where it did not finish, or records failed')
    .action((id: string, _options: object, command: Command) => waitFor(contextOf(io, command, { isPatient: true }), id))
}

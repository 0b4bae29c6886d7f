/** Records: written to streams, read from them, followed, and explained. */
import { createReadStream } from 'node:fs'
import { Option, type Command } from 'commander'
import { lastRedrive, writeJson, type TailFrame, type TailRecord } from '../../../typescript/src/index.ts'
import { chainOf, manifestOption } from '../changed-chain.ts'
import { contextOf, idOf, integer, WORKSHOP_TIMEOUT_MS, type Context, type Io } from '../context.ts'
import { checkedLines, csvLines, jsonLines, linesOfFile, remembered } from '../input-lines.ts'
import { Misused, ofInput } from '../outcome.ts'
import { showLogs, showTraces } from '../trials.ts'

const INPUTS = ['ndjson', 'csv'] as const
type ProduceOptions = { format?: (typeof INPUTS)[number] }

const valueOf = (value: unknown): string => {
  const json = (value as { json?: unknown } | null)?.json
  return json === undefined || json === null ? writeJson(value) : writeJson(json)
}

/** A record of a tail as a line: its place, and its content or result. */
function lineOf({ partition, offset, record, step, error }: TailRecord): string {
  const at = `${partition}:${offset}`
  if (step)
    return `${at}  ${step.outcome.padEnd(8)} ${step.out.map(({ value }) => valueOf(value)).join('  ') || (step.error?.message ?? '')}`
  const why = error ? `  # step ${error.step}, ${error.code}: ${error.message}` : ''
  return `${at}  ${valueOf(record?.value)}${why}`
}

type Frames = AsyncIterable<
  { event: 'frame'; data: Pick<TailFrame, 'records' | 'dropped' | 'undecided'> } | { event: 'waiting'; data: { reason: string } }
>

async function printFrames({ out, io }: Context, frames: Frames): Promise<void> {
  for await (const { event, data } of frames) {
    if (event === 'waiting') io.note(`waiting: ${data.reason}`)
    else {
      if (data.dropped > 0) io.note(`… ${data.dropped} left out`)
      if (data.undecided) {
        const { count, partition, offset, reason } = data.undecided
        io.note(`… the filter has no answer for ${count} ${count === 1 ? 'record' : 'records'}, first ${partition}:${offset}: ${reason}`)
      }
      for (const record of data.records) out.next(record, lineOf)
    }
  }
}

type TailOptions = { at?: string; filter?: string; last: number; stream?: boolean }
type LogsOptions = { follow?: boolean; level?: 'debug' | 'info' | 'warn' | 'error'; step?: number; since?: string; limit: number }

const PLACE = /^(\d+):(\d+)$/

function addProduce(program: Command, io: Io): void {
  program
    .command('produce <stream> [file]')
    .description(
      'write records, from a file or standard input, one JSON document per line, or CSV with a header, whose cells take the types of the stream’s fields',
    )
    .addOption(new Option('--format <format>', 'of the input (by the file’s name, else ndjson)').choices(INPUTS))
    .action(async (given: string, file: string | undefined, { format }: ProduceOptions, command: Command) => {
      const asking = contextOf(io, command)
      const id = await idOf(asking, 'stream', given)
      const { schema } = await asking.dps.streams.get(id)
      // What was read is still written after Ctrl-C.
      const context = contextOf(io, command, { isFinished: true, isPatient: true })
      const isCsv = (format ?? (file?.endsWith('.csv') ? 'csv' : 'ndjson')) === 'csv'
      const from = performance.now()
      const rate = (records: number) =>
        `${records} ${records === 1 ? 'record' : 'records'}, ${Math.round((records * 1000) / (performance.now() - from))} per second`
      const linesOf = (input: NodeJS.ReadableStream) => (isCsv ? csvLines(input, schema) : jsonLines(input))
      const named = file === '-' ? undefined : file
      const inFile = (path: string) => checkedLines(path, () => linesOf(createReadStream(path)), io.signal)
      const lines = remembered(named === undefined ? linesOf(io.stdin) : linesOfFile(named, () => inFile(named)))
      const writing = context.dps.streams.writeLines(id, lines.records(), {
        signal: io.signal,
        onProgress(written) {
          lines.forget(written)
          io.note(`\r${rate(written)}`)
        },
      })
      const { records } = await ofInput(named, lines.numberOf, writing)
      context.out.one({ stream: id, records })
    })
}

type Explained = Awaited<ReturnType<Context['dps']['pipelines']['explainRecord']>>

/** What became of the record, and what each step made of it, for people. */
function showExplained({ out }: Context, { outcome, reason, revision, input, steps, ...trace }: Explained, since = ''): void {
  out.one({ outcome, reason: `${reason}${since}`, revision, in: valueOf(input.value) })
  out.many(steps, {
    step: (each) => each.step,
    module: (each) => `${each.module}@${each.version}`,
    outcome: (each) => each.outcome,
    out: (each) => each.out.map(({ value }) => valueOf(value)).join('  '),
    error: (each) => each.error?.message ?? '',
  })
  showLogs(out, [{ ...trace, steps }])
}

function addExplain(program: Command, io: Io): void {
  program
    .command('explain <pipeline> <place>')
    .description('what each step made of one record of the source, as partition:offset')
    .option('--revision <n>', 'by this revision of the pipeline, not by the one that handled the record', integer(1))
    .action(async (given: string, place: string, { revision }: { revision?: number }, command: Command) => {
      const [, partition, offset] = PLACE.exec(place) ?? []
      if (partition === undefined || offset === undefined) throw new Misused('the place must be partition:offset, as 3:42')
      const context = contextOf(io, command, { timeoutMs: WORKSHOP_TIMEOUT_MS })
      const id = await idOf(context, 'pipeline', given)
      const explain = (by: number | undefined) =>
        context.dps.pipelines.explainRecord(id, { partition: Number(partition), offset: Number(offset), revision: by })
      const trace = await explain(revision)
      if (context.out.format !== 'table') return context.out.one(trace)
      const redrive = revision === undefined ? lastRedrive(trace) : undefined
      if (!redrive) return showExplained(context, trace)
      const hasFailed = redrive.outcome === 'dead_letter'
      showExplained(context, trace, hasFailed ? '; redriven since, and failed again' : '; redriven since')
      io.write(`\nthe job ${redrive.job_id} redrove it by revision ${redrive.revision}, which makes of it:\n`)
      showExplained(context, await explain(redrive.revision))
    })
}

export function addRecordCommands(program: Command, io: Io): void {
  addProduce(program, io)
  program
    .command('read <stream>')
    .description('print a stream’s records, those of a partition in their order')
    .option('--limit <n>', 'at most so many', integer(0))
    .action(async (given: string, { limit = Infinity }: { limit?: number }, command: Command) => {
      const context = contextOf(io, command)
      let left = limit
      for await (const record of context.dps.streams.records(await idOf(context, 'stream', given))) {
        if (left-- <= 0) return
        context.out.next(record as object, writeJson)
      }
    })
  program
    .command('tail <pipeline>')
    .description('follow records as they pass a place of a pipeline, or with --stream those of a stream')
    .option('--at <place>', 'source (as without it), sink, dead_letters or step:n')
    .option('--filter <expression>', 'show only records for which this CEL expression is true')
    .option('--last <n>', 'begin with about so many of the newest records: the same number of each partition', integer(0), 10)
    .option('--stream', 'the name is a stream’s')
    .action(async (given: string, { at, filter, last, stream }: TailOptions, command: Command) => {
      const context = contextOf(io, command)
      const query = { last, ...(filter === undefined ? {} : { filter }) }
      const own = { onInterrupted: () => io.note('reconnecting') }
      if (at === undefined && !stream) io.note('at the source: --at sink, dead_letters or step:n shows another place')
      const frames = stream
        ? context.dps.streams.tail(await idOf(context, 'stream', given), query, own)
        : context.dps.pipelines.tail(await idOf(context, 'pipeline', given), { ...query, at: at ?? 'source' }, own)
      await printFrames(context, frames)
    })
  program
    .command('logs <pipeline>')
    .description('what a pipeline’s SmartModules and tasks have logged')
    .option('-f, --follow', 'go on with lines as they come')
    .addOption(new Option('--level <level>', 'the least level').choices(['debug', 'info', 'warn', 'error']))
    .option('--step <n>', 'of this step alone; 0: of the tasks themselves', integer(0))
    .option('--since <time>', 'from this time on (ISO 8601)')
    .option('--limit <n>', 'the newest so many lines', integer(1), 100)
    .action(async (given: string, { follow, level, step, since, limit }: LogsOptions, command: Command) => {
      const context = contextOf(io, command)
      const id = await idOf(context, 'pipeline', given)
      const query = {
        limit,
        ...(level ? { level } : {}),
        ...(step === undefined ? {} : { step }),
        ...(since === undefined ? {} : { since }),
      }
      type Line = Awaited<ReturnType<typeof context.dps.pipelines.getLogs>>['logs'][number]
      const print = (line: Line) =>
        context.out.next(line, ({ at, level: own, step: of, module, message, dropped }) =>
          [at, own.padEnd(5), of === null ? 'task' : `${of} ${module}`, dropped === undefined ? message : `${message} (${dropped})`].join(
            '  ',
          ),
        )
      if (!follow) (await context.dps.pipelines.getLogs(id, query)).logs.forEach(print)
      else
        for await (const { data } of context.dps.pipelines.followLogs(id, query, { onInterrupted: () => io.note('reconnecting') }))
          print(data)
    })
  addExplain(program, io)
  program
    .command('preview <pipeline>')
    .description('run the newest records of the source through a pipeline’s chain, and write nothing; fails where a record fails')
    .option('--last <n>', 'so many', integer(1), 10)
    .addOption(manifestOption())
    .action(async (given: string, { last, manifest }: { last: number; manifest?: string }, command: Command) => {
      const context = contextOf(io, command, { timeoutMs: WORKSHOP_TIMEOUT_MS })
      const { run } = await chainOf(context, given, manifest)
      showTraces(context, await run({ limit: last }))
    })
}

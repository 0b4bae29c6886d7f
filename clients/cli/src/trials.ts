/** Trials: a SmartModule that is not deployed, run over records. */
import { parse } from 'node:path'
import { Readable } from 'node:stream'
import { Option, type Command } from 'commander'
import { z } from 'zod'
import { canonicalJson, parseAsWritten, writeJson, type Client, type ModuleTest } from '../../typescript/src/index.ts'
import { collect, idOf, integer, type Context } from './context.ts'
import { jsonLines, linesOfFile } from './input-lines.ts'
import { Differs, Misused } from './outcome.ts'
import type { Columns, Output } from './output.ts'
import { readable, readableText } from './readable-files.ts'

export type Trial = Parameters<Client['smartmodules']['test']>[0]
type Step = Trial['processors'][number]
type Tried = Awaited<ReturnType<Client['smartmodules']['test']>>
type Trace = Tried['records'][number]

/** Where a trial's records come from. */
export type RecordOptions = { stream?: string; last: number; records?: string; deadLetters?: string }

/** The options by which records are chosen. */
export const recordOptions = (command: Command): Command =>
  command
    .option('--stream <name>', 'take the newest records of this stream')
    .option('--dead-letters <pipeline>', 'take the pending ones that failed in it, and run this pipeline’s chain with it')
    .option('--last <n>', 'of the stream, or of the dead letters', integer(1), 10)
    .option('--records <file>', 'take these: lines of JSON')

type Formats = Pick<Trial['processors'][number], 'input_format' | 'output_format'>
/** What the values that go into a source and come out of it are. */
export type FormatOptions = { inputFormat?: Formats['input_format']; outputFormat?: Formats['output_format']; name?: string }

const FORMATS = ['json', 'text', 'bytes']
/** The options by which a source's formats are chosen. */
export const formatOptions = (command: Command): Command =>
  command
    .addOption(new Option('--input-format <format>', 'of values that go in (as deployed, else json)').choices(FORMATS))
    .addOption(new Option('--output-format <format>', 'of values that come out (as deployed, else json)').choices(FORMATS))
    .option('--name <name>', 'of the SmartModule (by the file’s name)')

/** What a SmartModule is called that is in this file. */
export const nameOf = (file: string): string => parse(file).name

/** The formats that are asked for, else those of the deployed SmartModule of this name, if there is one. */
export async function formatsOf({ dps }: Context, file: string, given: FormatOptions): Promise<Formats> {
  const { inputFormat, outputFormat, name = nameOf(file) } = given
  const asked = { ...(inputFormat ? { input_format: inputFormat } : {}), ...(outputFormat ? { output_format: outputFormat } : {}) }
  if (inputFormat && outputFormat) return asked
  const deployed = (await dps.smartmodules.list({ name })).modules.find((each) => each.name === name)
  const { input_format, output_format } = (deployed ? (await dps.smartmodules.get(deployed.id)).config : {}) as Formats
  return { ...(input_format ? { input_format } : {}), ...(output_format ? { output_format } : {}), ...asked }
}

const isBinary = (file: string): boolean => file.endsWith('.wasm')

/** `at` names the file. Throws Misused where it can't be read, or is a binary. */
export async function sourceOf(file: string, at = 'the source') {
  if (isBinary(file)) throw new Misused(`${file} is compiled already: dps try, dps test and dps deploy take it as it is`)
  return { language: 'typescript' as const, code: await readableText(file, at) }
}

/** What is said while the service works on the SmartModule in the file. */
export const workOn = (file: string, name = nameOf(file)): string => `${isBinary(file) ? 'inspecting' : 'compiling'} ${name}`

type Uploaded = { source: NonNullable<Trial['processors'][number]['source']> } | { wasm_binary: string }

/** The SmartModule in the file that `at` names: a source, or a binary. Throws Misused where it can't be read. */
export const moduleIn = async (file: string, at?: string): Promise<Uploaded> =>
  isBinary(file) ? { wasm_binary: (await readable(file, at ?? 'the binary')).toString('base64') } : { source: await sourceOf(file, at) }

/** What `--config` is for. */
export const CONFIG = 'of the step (as in the pipeline whose dead letters it takes, else {})'
/** A step's config as `--config` gives it, where it does. Throws Misused where that is no JSON object. */
export const configOf = (given: string | undefined): Pick<Step, 'config'> => {
  if (given === undefined) return {}
  try {
    return { config: z.record(z.string(), z.unknown()).parse(parseAsWritten(given)) }
  } catch {
    throw new Misused('--config must be a JSON object')
  }
}

/** `records` says which records a trial takes; `chainWith` makes the chain that they run through, with this step in its place. */
export type Chosen = {
  records: Pick<Trial, 'records' | 'stream_id' | 'pipeline_id' | 'dead_letters' | 'limit'>
  chainWith(step: Step): Step[]
}

/** The pending dead letters of the SmartModule in a pipeline, and its chain. Throws Misused where no step of it is this SmartModule. */
async function deadLettersOf(context: Context, given: string, name: string, limit: number): Promise<Chosen> {
  const pipeline_id = await idOf(context, 'pipeline', given)
  const { processors } = await context.dps.pipelines.get(pipeline_id)
  if (!processors.some((own) => own.name === name))
    throw new Misused(`${given} has no step of ${name}: --name says what it is called there`)
  return {
    records: { pipeline_id, dead_letters: { module: name }, limit },
    chainWith: (step) =>
      processors.map(({ name: own, module_id, version, config }) => (own === name ? { config, ...step } : { module_id, version, config })),
  }
}

/** The records of a trial of the SmartModule of this name. Throws Misused unless they are given in one way. */
export async function recordsOf(context: Context, { stream, last, records, deadLetters }: RecordOptions, name: string): Promise<Chosen> {
  if ([stream, records, deadLetters].filter((each) => each !== undefined).length !== 1)
    throw new Misused('either --stream, --records or --dead-letters is needed')
  if (deadLetters !== undefined) return deadLettersOf(context, deadLetters, name, last)
  const chainWith = (step: Step): Step[] => [step]
  if (stream !== undefined) return { records: { stream_id: await idOf(context, 'stream', stream), limit: last }, chainWith }
  const file = records ?? ''
  const bytes = await readable(file, '--records')
  const lines = await collect(linesOfFile(file, () => jsonLines(Readable.from([bytes]))))
  return { records: { records: lines.map(({ json }) => ({ value: parseAsWritten(json) })) }, chainWith }
}

const valueOf = ({ value }: Trace['input']): string => writeJson((value as { json?: unknown } | null)?.json ?? value)
const failureOf = ({ steps }: Trace): string | undefined => steps.find(({ error }) => error)?.error?.message

/** The record's place in the source. */
export const placeOf = ({ partition, offset }: Pick<Trace, 'partition' | 'offset'>): string => `${partition}:${offset}`

type Logged = Pick<Trace, 'partition' | 'offset'> & { steps: readonly Pick<Trace['steps'][number], 'step' | 'module' | 'logs'>[] }

/** What the SmartModules logged for the record, a line each. */
export const logsOf = (trace: Logged) =>
  trace.steps.flatMap(({ step, module, logs }) => logs.map((line) => ({ record: placeOf(trace), step: `${step} ${module}`.trim(), line })))

/** Prints what was logged for the records, where something was. */
export function showLogs({ many }: Output, traces: readonly Logged[]): void {
  const lines = traces.flatMap(logsOf)
  if (lines.length > 0) many(lines, { record: ({ record }) => record, step: ({ step }) => step, log: ({ line }) => line })
}

/** Each record's result, for people. */
export const TRACE_COLUMNS: Columns<Trace> = {
  record: placeOf,
  outcome: ({ outcome }) => outcome,
  in: ({ input }) => valueOf(input),
  out: ({ outputs }) => outputs.map(valueOf).join('  '),
  error: (trace) => failureOf(trace) ?? '',
}

/** One record's result, in a line. */
export const resultOf = (trace: Trace): string => {
  const failure = failureOf(trace)
  if (failure !== undefined) return `failed: ${failure}`
  return trace.outputs.length === 0 ? 'dropped' : trace.outputs.map(valueOf).join('  ')
}

/** Says that so many records have no result. */
export const notRun = (left: number): string =>
  `${left} more ${left === 1 ? 'record was' : 'records were'} not run: a step did not return, or the time was over`

/** Prints the traces. Throws Differs where a record failed. */
export function showTraces({ out }: Context, { records: traces, not_run: left = 0 }: Pick<Tried, 'records' | 'not_run'>): void {
  out.many(traces, TRACE_COLUMNS)
  if (out.format === 'table') showLogs(out, traces)
  if (left > 0) out.note(notRun(left))
  const failed = traces.filter((trace) => failureOf(trace) !== undefined).length
  if (failed > 0) throw new Differs(`${failed} of ${traces.length} records failed`)
}

/** What a SmartModule makes of a sample that it should not: nothing where it passes. */
export type Fault = { sample: string; what: 'out' | 'failure'; expected: string; made: string }

/** Runs samples through a SmartModule, each with its own config. */
export async function faultsOf(
  { dps }: Context,
  module: Uploaded,
  samples: readonly ModuleTest[],
  formats: Formats = {},
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const [index, { title, config = {}, records, out, failures = [] }] of samples.entries()) {
    const traces = (await dps.smartmodules.test({ processors: [{ ...module, ...formats, config }], records })).records
    const compare = (what: Fault['what'], made: string[], expected: string[]) => {
      for (let at = 0; at < Math.max(made.length, expected.length); at++)
        if (made[at] !== expected[at])
          faults.push({ sample: title || String(index), what, expected: expected[at] ?? 'nothing', made: made[at] ?? 'nothing' })
    }
    compare(
      'out',
      traces.flatMap(({ outputs }) => outputs.map(({ value }) => canonicalJson((value as { json?: unknown } | null)?.json ?? value))),
      out.map(canonicalJson),
    )
    compare(
      'failure',
      traces.flatMap((trace) => failureOf(trace) ?? []),
      failures,
    )
  }
  return faults
}

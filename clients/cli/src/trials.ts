/** Trials: a source that is not deployed, run over records. */
import type { Command } from 'commander'
import { z } from 'zod'
import { ExactNumber, parseAsWritten, parseJson, writeJson, type Client, type ModuleTest } from '../../typescript/src/index.ts'
import { idOf, type Context } from './context.ts'
import { Differs, integer, Misused } from './outcome.ts'
import type { Columns } from './output.ts'
import { readable } from './samples.ts'

export type Trial = Parameters<Client['smartmodules']['test']>[0]
type Trace = Awaited<ReturnType<Client['smartmodules']['test']>>['records'][number]

/** Where a trial's records come from. */
export type RecordOptions = { stream?: string; last: number; records?: string }

/** The options by which records are chosen. */
export const recordOptions = (command: Command): Command =>
  command
    .option('--stream <name>', 'take the newest records of this stream')
    .option('--last <n>', 'of the stream', integer(1), 10)
    .option('--records <file>', 'take these: lines of JSON')

/** Throws Misused where the file can't be read. */
export const sourceOf = async (file: string) => ({
  language: 'typescript' as const,
  code: (await readable(file, 'the source')).toString('utf8'),
})

/** The value of `--config`. Throws Misused where it is no JSON object. */
export const configOf = (given: string): Record<string, unknown> => {
  try {
    return z.record(z.string(), z.unknown()).parse(parseAsWritten(given))
  } catch {
    throw new Misused('--config must be a JSON object')
  }
}

/** The part of a trial that says which records it takes. Throws Misused unless they are given in one way. */
export async function recordsOf(
  context: Context,
  { stream, last, records }: RecordOptions,
): Promise<Pick<Trial, 'records' | 'stream_id' | 'limit'>> {
  if ((stream === undefined) === (records === undefined)) throw new Misused('either --stream or --records is needed')
  if (stream !== undefined) return { stream_id: await idOf(context, 'stream', stream), limit: last }
  const lines = (await readable(records ?? '', '--records')).toString('utf8').split('\n')
  return { records: lines.filter((line) => line.trim() !== '').map((line) => ({ value: parseAsWritten(line) })) }
}

const valueOf = ({ value }: Trace['input']): string => writeJson((value as { json?: unknown } | null)?.json ?? value)
const failureOf = ({ steps }: Trace): string | undefined => steps.find(({ error }) => error)?.error?.message

/** Each record's result, for people. */
export const TRACE_COLUMNS: Columns<Trace> = {
  record: ({ partition, offset }) => `${partition}:${offset}`,
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

/** Prints the traces. Throws Differs where a record failed. */
export function showTraces({ out }: Context, traces: readonly Trace[]): void {
  out.many(traces, TRACE_COLUMNS)
  const failed = traces.filter((trace) => failureOf(trace) !== undefined).length
  if (failed > 0) throw new Differs(`${failed} of ${traces.length} records failed`)
}

/** What a source makes of a sample that it should not: nothing where it passes. */
export type Fault = { sample: string; what: 'out' | 'failure'; expected: string; made: string }

/** Runs samples through a source, each with its own config. */
export async function faultsOf(
  { dps }: Context,
  source: Trial['processors'][number]['source'],
  samples: readonly ModuleTest[],
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const [index, { title, config = {}, records, out, failures = [] }] of samples.entries()) {
    const traces = (await dps.smartmodules.test({ processors: [{ source, config }], records })).records
    const compare = (what: Fault['what'], made: string[], expected: string[]) => {
      for (let at = 0; at < Math.max(made.length, expected.length); at++)
        if (made[at] !== expected[at])
          faults.push({ sample: title || String(index), what, expected: expected[at] ?? 'nothing', made: made[at] ?? 'nothing' })
    }
    compare(
      'out',
      traces.flatMap(({ outputs }) => outputs.map(({ value }) => sorted((value as { json?: unknown } | null)?.json ?? value))),
      out.map(sorted),
    )
    compare(
      'failure',
      traces.flatMap((trace) => failureOf(trace) ?? []),
      failures,
    )
  }
  return faults
}

/** As JSON, members in the order of their names: their order is no difference, nor are 12.5 and 12.50. */
const sorted = (value: unknown): string => writeJson(inOrder(value))
const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inOrder)
  if (value instanceof ExactNumber) return parseJson(value.text)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, inOrder(each)]),
  )
}

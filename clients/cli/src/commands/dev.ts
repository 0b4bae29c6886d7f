/** `dps dev`: a source is compiled and run over records whenever its file is saved, and what changed is shown. */
import { watch } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { contextOf, WORKSHOP_TIMEOUT_MS, type Context, type Io } from '../context.ts'
import { noteOlder } from '../deployments.ts'
import { Interrupted, ofSource, outcomeOf, textOf } from '../outcome.ts'
import { during } from '../progress.ts'
import { samplesAt } from '../samples.ts'
import {
  CONFIG,
  configOf,
  faultsOf,
  formatOptions,
  formatsOf,
  logsOf,
  nameOf,
  placeOf,
  recordOptions,
  recordsOf,
  resultOf,
  sourceOf,
  workOn,
  type FormatOptions,
  type Chosen,
  type RecordOptions,
  type Trial,
} from '../trials.ts'

type Options = RecordOptions & FormatOptions & { config?: string; samples?: string }
type Wish = 'saved' | 'run' | 'deploy' | 'quit' | 'interrupt'

/** As terminals send them. */
const KEYS: Record<string, Wish> = { d: 'deploy', r: 'run', '\r': 'run', '\n': 'run', q: 'quit', '\u0003': 'interrupt', '\u0004': 'quit' }
/** An editor's save is several changes of the folder. */
const SETTLE_MS = 50

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** The user's requests in turn: the file as it is, keys pressed, and the file saved. Ends with the signal. */
async function* wishes(io: Io, file: string): AsyncGenerator<Wish, void, void> {
  // As it is when the watch begins: what is saved during the first run is seen, too.
  const waiting: Wish[] = ['saved']
  let notify = () => {}
  const add = (wish: Wish) => {
    // A run that waits already sees the latest file.
    if (!waiting.includes(wish)) waiting.push(wish)
    notify()
  }
  const onKeys = (typed: Buffer | string) => {
    for (const key of String(typed)) {
      const wish = KEYS[key]
      if (wish) add(wish)
    }
  }
  const raw = 'setRawMode' in io.stdin && typeof io.stdin.setRawMode === 'function' ? io.stdin.setRawMode.bind(io.stdin) : undefined
  if (io.isTerminal) raw?.(true)
  io.stdin.on('data', onKeys)
  io.stdin.resume()
  const stopped = new AbortController()
  const signal = AbortSignal.any([io.signal, stopped.signal])
  signal.addEventListener('abort', () => notify())
  // The folder, because editors replace the file by another one.
  const watching = (async () => {
    for await (const { filename } of watch(dirname(file), { signal })) if (filename === basename(file)) add('saved')
  })().catch(() => add('quit'))
  try {
    while (!signal.aborted) {
      const wish = waiting.shift()
      if (wish) yield wish
      else await new Promise<void>((resolve) => (notify = resolve))
    }
  } finally {
    stopped.abort()
    io.stdin.off('data', onKeys)
    io.stdin.pause()
    if (io.isTerminal) raw?.(false)
    await watching
  }
}

/** The result of each record, what the SmartModule logged for it, and the id of the dead letter that it is. */
type Results = Map<string, { in: unknown; result: string; logs: string[]; letter: string | undefined }>
type Asked = Chosen['records'] & Pick<Trial, 'from'>

/** The same records again, whatever was written to the stream since, or has failed, or was redriven. */
function sameAgain(chosen: Chosen['records'], results: Results): Asked {
  if (results.size === 0 || chosen.records) return chosen
  if (chosen.dead_letters) return { ...chosen, dead_letters: { ids: [...results.values()].flatMap(({ letter }) => letter ?? []) } }
  const offsets: Record<string, number> = {}
  for (const place of results.keys()) {
    const [partition, offset] = place.split(':').map(Number) as [number, number]
    offsets[partition] = Math.min(offset, offsets[partition] ?? offset)
  }
  return { ...chosen, from: { offsets }, limit: results.size }
}

export function addDevCommand(program: Command, io: Io): void {
  /** Says what is wrong, and goes on. */
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      if (!io.signal.aborted) io.note(textOf(outcomeOf(error).told))
    }
  }

  async function resultsOf({ dps }: Context, processors: Trial['processors'], records: Asked): Promise<Results> {
    const traces = (await dps.smartmodules.test({ processors, ...records })).records
    return new Map(
      traces.map((trace) => [
        placeOf(trace),
        {
          in: trace.input.value,
          result: resultOf(trace),
          logs: logsOf(trace).map(({ line }) => line),
          letter: trace.dead_letter?.id,
        },
      ]),
    )
  }

  formatOptions(recordOptions(program.command('dev <source>')))
    .description('run a SmartModule’s source over records whenever it is saved, and show what changed; d deploys, r runs again, q quits')
    .option('--config <json>', CONFIG)
    .option('--samples <file>', 'run and deployed with it: records and what comes out of them, or a folder of such files')
    .action(async (given: string, { config: text, samples, ...chosen }: Options, command: Command) => {
      const context = contextOf(io, command, { timeoutMs: WORKSHOP_TIMEOUT_MS })
      const { dps, out } = context
      const file = resolve(given)
      const name = chosen.name ?? nameOf(file)
      const config = configOf(text)
      const formats = await formatsOf(context, file, chosen)
      const { records: newest, chainWith } = await recordsOf(context, chosen, name)
      let records: Asked = newest
      let code: string | undefined
      let before: Results | undefined
      let beforeName = ''

      const keep = (results: Results): void => void (records = sameAgain(newest, results))

      async function run(): Promise<void> {
        const source = await sourceOf(file)
        code = source.code
        const running = resultsOf(context, chainWith({ source, ...formats, ...config }), records)
        const results = await ofSource(given, during(io, workOn(file, name), running))
        keep(results)
        let changed = 0
        for (const [record, { in: input, result, logs }] of results) {
          const earlier = before?.get(record)
          const was = earlier?.result
          if (logs.join('\n') !== earlier?.logs.join('\n')) for (const line of logs) io.note(`${record}  logs ${line}`)
          if (was === result) continue
          changed++
          out.next(
            { record, in: input, was: was ?? null, is: result },
            () => `${record}  ${was === undefined ? '' : `${was}  →  `}${result}`,
          )
        }
        const against = before ? `, ${changed} not as ${beforeName}` : ''
        io.note(`${results.size} records${against}   (save to run, d deploys, r runs again, q quits)`)
        before = results
        beforeName = 'in the run before'
        if (samples === undefined) return
        const kept = await samplesAt(samples, '--samples')
        const testing = faultsOf(context, { source }, kept, formats)
        const faults = await ofSource(given, during(io, `testing ${name}`, testing))
        for (const { sample, what, expected, made } of faults) io.note(`sample ${sample}: ${what} should be ${expected}, and is ${made}`)
        if (faults.length === 0) io.note(`${kept.length} ${kept.length === 1 ? 'sample passes' : 'samples pass'}`)
      }

      async function deploy(): Promise<void> {
        const tests = samples === undefined ? {} : { tests: await samplesAt(samples, '--samples') }
        const deploying = dps.smartmodules.deploy({ name, source: await sourceOf(file), ...tests })
        const { version } = await ofSource(given, during(io, workOn(file, name), deploying))
        io.note(`${name} ${version} is deployed`)
        await noteOlder(context, name, version)
      }

      const deployed = (await dps.smartmodules.list({ name })).modules.find((each) => each.name === name)
      if (deployed) {
        await attempt(async () => {
          const running = resultsOf(context, chainWith({ module_id: deployed.id, ...config }), records)
          before = await during(io, `running ${name} ${deployed.version}`, running)
          keep(before)
          beforeName = `in version ${deployed.version}`
        })
      }
      for await (const wish of wishes(io, file)) {
        if (wish === 'quit') return
        if (wish === 'interrupt') throw new Interrupted()
        if (wish === 'deploy') await attempt(deploy)
        else if (wish === 'run') {
          records = newest
          await attempt(run)
        } else {
          await pause(SETTLE_MS)
          await attempt(async () => {
            if ((await sourceOf(file)).code !== code) await run()
          })
        }
      }
    })
}

/** SmartModules: a source is compiled, tried on real records, tested, and deployed. Secrets are set from standard input. */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { z } from 'zod'
import { parseJson, writeJson, type ModuleTest } from '../../../typescript/src/index.ts'
import { contextOf, idOf, type Io } from '../context.ts'
import { Differs, integer, Misused } from '../outcome.ts'

const Samples = z.array(z.looseObject({ records: z.array(z.unknown()) }))

async function samplesIn(file: string): Promise<ModuleTest[]> {
  const parsed = Samples.safeParse(parseJson(await readFile(file, 'utf8')))
  if (!parsed.success) throw new Misused(`${file} must be a list of samples, each with records, out and failures`)
  return parsed.data as unknown as ModuleTest[]
}

const configOf = (given: string): Record<string, unknown> => {
  try {
    return z.record(z.string(), z.unknown()).parse(parseJson(given))
  } catch {
    throw new Misused('--config must be a JSON object')
  }
}

type TryOptions = { config: string; stream?: string; last: number; records?: string }
type DeployOptions = { name?: string; samples?: string; description?: string }

export function addModuleCommands(program: Command, io: Io): void {
  const sourceOf = async (file: string) => ({ language: 'typescript' as const, code: await readFile(file, 'utf8') })

  program
    .command('try <source>')
    .description('run a SmartModule’s source over records, without deploying it; fails where a record fails')
    .option('--config <json>', 'of the step', '{}')
    .option('--stream <name>', 'take the newest records of this stream')
    .option('--last <n>', 'of the stream', integer(1), 10)
    .option('--records <file>', 'take these: lines of JSON')
    .action(async (file: string, { config, stream, last, records }: TryOptions, command: Command) => {
      const context = contextOf(io, command)
      const processors = [{ source: await sourceOf(file), config: configOf(config) }]
      if ((stream === undefined) === (records === undefined)) throw new Misused('either --stream or --records is needed')
      const lines = records === undefined ? [] : (await readFile(records, 'utf8')).split('\n').filter((line) => line.trim() !== '')
      const answer = await context.dps.smartmodules.test(
        stream === undefined
          ? { processors, records: lines.map((line) => ({ value: parseJson(line) })) }
          : { processors, stream_id: await idOf(context, 'stream', stream), limit: last },
      )
      context.out.many(answer.records, {
        record: ({ partition, offset }) => `${partition}:${offset}`,
        outcome: ({ outcome }) => outcome,
        in: ({ input }) => writeJson((input.value as { json?: unknown } | null)?.json),
        out: ({ outputs }) => outputs.map(({ value }) => writeJson((value as { json?: unknown } | null)?.json)).join('  '),
        error: ({ steps }) => steps.find(({ error }) => error)?.error?.message ?? '',
      })
      const failed = answer.records.filter(({ steps }) => steps.some(({ error }) => error)).length
      if (failed > 0) throw new Differs(`${failed} of ${answer.records.length} records failed`)
    })
  program
    .command('compile <source>')
    .description('say what is wrong with a SmartModule’s source, by line and column; fails where something is')
    .action(async (file: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const { ok, details, ...more } = await context.dps.smartmodules.compile({ source: await sourceOf(file) })
      if (ok) return context.out.one(more)
      context.out.many(details, {
        place: ({ line = 1, column = 1 }) => `${file}:${line}:${column}`,
        message: ({ message }) => message,
      })
      throw new Differs(`${details.length} ${details.length === 1 ? 'fault' : 'faults'} in ${file}`)
    })
  program
    .command('deploy <source>')
    .description('deploy a SmartModule’s source as its next version')
    .option('--name <name>', 'of the SmartModule (by the file’s name)')
    .option('--description <text>', 'what it does')
    .option('--samples <file>', 'records and what comes out of them: run before this version and each later one is deployed')
    .action(async (file: string, { name, samples, description }: DeployOptions, command: Command) => {
      const context = contextOf(io, command)
      context.out.one(
        await context.dps.smartmodules.deploy({
          name: name ?? basename(file, '.ts'),
          source: await sourceOf(file),
          ...(description === undefined ? {} : { description }),
          ...(samples === undefined ? {} : { tests: await samplesIn(samples) }),
        }),
      )
    })
  const secret = program.command('secret').description('values that connectors use and no answer shows')
  secret
    .command('set <name>')
    .description('create or replace a secret by what comes on standard input')
    .action(async (name: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const value = (await text(io.stdin)).replace(/\r?\n$/, '')
      if (value === '') throw new Misused('the value is missing: pass it on standard input')
      const known = (await context.dps.secrets.list({ name })).secrets.find((each) => each.name === name)
      if (known) await context.dps.secrets.update(known.id, { value })
      else await context.dps.secrets.create({ name, value })
      io.note(`the secret ${name} is set`)
    })
}

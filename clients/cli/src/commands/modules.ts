/** SmartModules: a source is compiled, tried on real records, tested, and deployed. */
import type { Command } from 'commander'
import { contextOf, WORKSHOP_TIMEOUT_MS, type Io } from '../context.ts'
import { noteOlder } from '../deployments.ts'
import { Differs, ofSource } from '../outcome.ts'
import { during } from '../progress.ts'
import { samplesAt } from '../samples.ts'
import {
  CONFIG,
  configOf,
  faultsOf,
  formatOptions,
  formatsOf,
  moduleIn,
  nameOf,
  recordOptions,
  recordsOf,
  showTraces,
  sourceOf,
  workOn,
  type FormatOptions,
  type RecordOptions,
} from '../trials.ts'

type TryOptions = RecordOptions & FormatOptions & { config?: string }
type DeployOptions = { name?: string; samples?: string; description?: string }

export function addModuleCommands(program: Command, io: Io): void {
  formatOptions(recordOptions(program.command('try <source>')))
    .description('run a SmartModule’s source, or its binary (.wasm), over records, without deploying it; fails where a record fails')
    .option('--config <json>', CONFIG)
    .action(async (file: string, { config, ...options }: TryOptions, command: Command) => {
      const context = contextOf(io, command, { timeoutMs: WORKSHOP_TIMEOUT_MS })
      const step = { ...(await moduleIn(file)), ...(await formatsOf(context, file, options)), ...configOf(config) }
      const { records, chainWith } = await recordsOf(context, options, options.name ?? nameOf(file))
      const trying = context.dps.smartmodules.test({ processors: chainWith(step), ...records })
      showTraces(context, await ofSource(file, during(io, workOn(file), trying)))
    })
  formatOptions(program.command('test <source>'))
    .description('run a SmartModule’s samples, without deploying it; fails where one comes out differently')
    .requiredOption('--samples <file>', 'records and what comes out of them, or a folder of such files')
    .action(async (file: string, { samples, ...chosen }: FormatOptions & { samples: string }, command: Command) => {
      const context = contextOf(io, command, { timeoutMs: WORKSHOP_TIMEOUT_MS })
      const given = await samplesAt(samples, '--samples')
      const testing = faultsOf(context, await moduleIn(file), given, await formatsOf(context, file, chosen))
      const faults = await ofSource(file, during(io, `testing ${chosen.name ?? nameOf(file)}`, testing))
      if (faults.length === 0) return context.out.many([], {}, `${given.length} ${given.length === 1 ? 'sample passes' : 'samples pass'}`)
      context.out.many(faults, {
        sample: (fault) => fault.sample,
        what: (fault) => fault.what,
        expected: (fault) => fault.expected,
        made: (fault) => fault.made,
      })
      throw new Differs(`${faults.length} ${faults.length === 1 ? 'difference' : 'differences'}`)
    })
  program
    .command('compile <source>')
    .description('say what is wrong with a SmartModule’s source, by line and column; fails where something is')
    .action(async (file: string, _options: object, command: Command) => {
      const context = contextOf(io, command, { timeoutMs: WORKSHOP_TIMEOUT_MS })
      const compiling = context.dps.smartmodules.compile({ source: await sourceOf(file) })
      const { ok, details, ...more } = await during(io, workOn(file), compiling)
      if (ok) return context.out.one(more)
      context.out.many(details, {
        place: ({ line = 1, column = 1 }) => `${file}:${line}:${column}`,
        message: ({ message }) => message,
      })
      throw new Differs(`${details.length} ${details.length === 1 ? 'fault' : 'faults'} in ${file}`)
    })
  program
    .command('deploy <source>')
    .description('deploy a SmartModule’s source, or its binary (.wasm), as its next version')
    .option('--name <name>', 'of the SmartModule (by the file’s name)')
    .option('--description <text>', 'what it does')
    .option(
      '--samples <file>',
      'records and what comes out of them, or a folder of such files: run before this version and each later one is deployed',
    )
    .action(async (file: string, { name, samples, description }: DeployOptions, command: Command) => {
      const context = contextOf(io, command, { timeoutMs: WORKSHOP_TIMEOUT_MS })
      const module = {
        name: name ?? nameOf(file),
        ...(await moduleIn(file)),
        ...(description === undefined ? {} : { description }),
        ...(samples === undefined ? {} : { tests: await samplesAt(samples, '--samples') }),
      }
      const deployed = await ofSource(file, during(io, workOn(file, module.name), context.dps.smartmodules.deploy(module)))
      context.out.one(deployed)
      await noteOlder(context, module.name, deployed.version)
    })
}

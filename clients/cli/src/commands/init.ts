/** `dps init`: a folder with a first SmartModule, its samples, and a manifest. */
import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { outputOf, type Io } from '../context.ts'
import { Misused } from '../outcome.ts'

const TEMPLATE = join(import.meta.dirname, '..', '..', 'template')
/** For editors: in a checkout it is beside the command line. */
const SDK = join(import.meta.dirname, '..', '..', '..', '..', 'shared', 'smartmodule', 'sdk')
/** Where the template says the set's name. */
const SET = /\bSET\b/g

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** A folder's name as a set's: what YAML and shells would read as something else is left out. */
const setNameOf = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '') || 'set'

export function addInitCommand(program: Command, io: Io): void {
  program
    .command('init [folder]')
    .description('begin a project: a SmartModule, its samples, and a manifest that uses it')
    .action(async (given: string = '.', _options: object, command: Command) => {
      const folder = resolve(given)
      const files = (await readdir(TEMPLATE, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name).slice(TEMPLATE.length + 1))
        .sort()
      for (const file of files) if (await exists(join(folder, file))) throw new Misused(`${join(given, file)} exists already`)
      for (const file of files) {
        await mkdir(join(folder, file, '..'), { recursive: true })
        await writeFile(join(folder, file), (await readFile(join(TEMPLATE, file), 'utf8')).replaceAll(SET, setNameOf(folder)))
      }
      if (await exists(SDK)) await cp(SDK, join(folder, '.dps', 'sdk'), { recursive: true })
      outputOf(io, command).many(
        files.map((file) => ({ file: join(given, file) })),
        { file: ({ file }) => file },
      )
      // The name is the manifest's: another one would be another SmartModule.
      const name = `--name '${setNameOf(folder)} big-only'`
      io.note(`next: dps dev big-only.ts ${name} --records orders.ndjson   or: dps apply dps.yaml   (npm install is for editors alone)`)
    })
}

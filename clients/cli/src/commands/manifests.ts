/** Manifests: what applying one would change, applying it, and a set as one. Sources, binaries and samples are files beside it. */
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { parseJson, writeJson, type Manifest, type PlannedChange } from '../../../typescript/src/index.ts'
import { contextOf, type Context, type GlobalOptions, type Io } from '../context.ts'
import { Differs, Misused } from '../outcome.ts'

/** As written: a SmartModule's source and tests may be the names of files. */
const Written = z.looseObject({
  smartmodules: z
    .record(z.string(), z.looseObject({ source: z.unknown().optional(), tests: z.unknown().optional() }))
    .nullable()
    .optional(),
})

async function readable(path: string, at: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw new Misused(`${at}: ${path} can't be read: ${error instanceof Error ? error.message : String(error)}`)
  })
}

/** The file as a value of YAML, of which JSON is a part. Throws Misused with the line where it is none. */
function parsed(text: string, at: string): unknown {
  try {
    return parse(text, { prettyErrors: true })
  } catch (error) {
    throw new Misused(`${at}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The samples of a file, or of every `.json` file of a folder. */
async function samplesAt(path: string, at: string): Promise<unknown[]> {
  const names = await readdir(path).catch(() => undefined)
  const files = names
    ? names
        .filter((name) => name.endsWith('.json'))
        .sort()
        .map((name) => join(path, name))
    : [path]
  const samples: unknown[] = []
  for (const file of files) samples.push(...[parseJson((await readable(file, at)).toString('utf8'))].flat())
  return samples
}

/** The manifest of a file, with what it names in place of the names. Throws Misused for what can't be read. */
async function manifestIn(file: string): Promise<Manifest> {
  const folder = dirname(resolve(file))
  const written = Written.safeParse(parsed((await readable(file, 'the manifest')).toString('utf8'), file))
  if (!written.success)
    throw new Misused(`${file}: ${written.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`)
  const smartmodules: Record<string, unknown> = {}
  for (const [name, { source, tests, ...rest }] of Object.entries(written.data.smartmodules ?? {})) {
    const at = `smartmodules.${name}`
    const bytes = typeof source === 'string' ? await readable(join(folder, source), `${at}.source`) : undefined
    smartmodules[name] = {
      ...rest,
      ...(bytes === undefined
        ? { source }
        : String(source).endsWith('.wasm')
          ? { wasm_binary: bytes.toString('base64') }
          : { source: { language: 'typescript', code: bytes.toString('utf8') } }),
      ...(typeof tests === 'string'
        ? { tests: await samplesAt(join(folder, tests), `${at}.tests`) }
        : tests === undefined
          ? {}
          : { tests }),
    }
  }
  // An empty block of YAML is null; the service says what else is wrong.
  const members = Object.entries({ ...written.data, smartmodules }).filter(([, value]) => value !== null)
  return Object.fromEntries(members) as unknown as Manifest
}

type Options = { prune?: boolean; replace?: string[]; planHash?: string }

/** `-description +…`: each difference on a line of its own would hide the change. */
const briefly = ({ differences }: PlannedChange): string =>
  differences.map(({ path, before, after }) => `${path}: ${cut(writeJson(before))} → ${cut(writeJson(after))}`).join('\n')
const SHOWN = 60
const cut = (text: string | undefined): string => (text === undefined ? '' : text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text)

function show({ out }: Context, changes: readonly PlannedChange[]): void {
  out.many(changes, {
    change: ({ action, effect }) => (effect === null || effect === action ? action : `${action} (${effect})`),
    kind: ({ kind }) => kind,
    name: ({ name }) => name,
    differences: briefly,
  })
}

export function addManifestCommands(program: Command, io: Io): void {
  const asked = async (file: string, { prune = false, replace = [] }: Options) => ({ manifest: await manifestIn(file), prune, replace })
  const options = (command: Command): Command =>
    command
      .addOption(new Option('--prune', 'delete members of the set that the manifest no longer names'))
      .option('--replace <names...>', 'pipelines that may be deleted and made anew, which loses their position')

  options(program.command('diff <manifest>'))
    .description('say what applying a manifest would change; fails where it would change something')
    .action(async (file: string, given: Options, command: Command) => {
      const context = contextOf(io, command)
      const { changes, unchanged, hash } = await context.dps.manifests.plan(await asked(file, given))
      show(context, changes)
      if (changes.length === 0) return io.note(`nothing to do: ${unchanged} unchanged`)
      io.note(`the plan’s hash is ${hash}`)
      throw new Differs(`${changes.length} ${changes.length === 1 ? 'change' : 'changes'}, ${unchanged} unchanged`)
    })
  options(program.command('apply <manifest>'))
    .description('make the changes that `dps diff` names')
    .option('--plan-hash <hash>', 'of the plan that was seen: exactly that is applied, or nothing')
    .action(async (file: string, given: Options, command: Command) => {
      const context = contextOf(io, command, { isFinished: true })
      const { planHash: hash } = given
      const answer = await context.dps.manifests.apply({ ...(await asked(file, given)), ...(hash === undefined ? {} : { hash }) })
      show(context, answer.changes)
      const { length } = answer.changes
      io.note(length === 0 ? `nothing to do: ${answer.unchanged} unchanged` : `${length} ${length === 1 ? 'change' : 'changes'} made`)
    })
  program
    .command('export <set>')
    .description('print a set as a manifest, in YAML or, with -o json, in JSON')
    .action(async (set: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const { manifest } = await context.dps.manifests.get(set)
      if (command.optsWithGlobals<GlobalOptions>().output === 'json') return context.out.one(manifest)
      io.write(stringify(manifest, { lineWidth: 0 }))
    })
}

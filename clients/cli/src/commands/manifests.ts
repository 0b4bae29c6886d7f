/** Manifests: what applying one would change, applying it, and a set as one. */
import type { Command } from 'commander'
import { writeJson, type Client, type ManifestPlan } from '../../../typescript/src/index.ts'
import { contextOf, type Context, type GlobalOptions, type Io } from '../context.ts'
import { asPart } from '../json-pointers.ts'
import { isObject, manifestIn } from '../manifest-file.ts'
import { Differs, Misused, ofFiles, type LocationOf } from '../outcome.ts'
import { toYaml } from '../output.ts'
import { during } from '../progress.ts'

type Options = { prune?: boolean; replace?: string[]; planHash?: string }

const SHOWN = 70
/** How much comes before what differs. */
const SHOWN_BEFORE = 20

/** Two values as JSON, cut in front of where they begin to differ. */
function asShown(before: unknown, after: unknown): string[] {
  const texts = [before, after].map((value) => (value === undefined ? '' : writeJson(value)))
  const [was = '', is = ''] = texts
  let same = 0
  while (same < was.length && was[same] === is[same]) same++
  const from = same > SHOWN - SHOWN_BEFORE ? same - SHOWN_BEFORE : 0
  return texts.map((text) => (from > 0 ? '…' : '') + text.slice(from, from + SHOWN) + (text.length > from + SHOWN ? '…' : ''))
}

type Difference = Pick<ManifestPlan['changes'][number]['differences'][number], 'path' | 'before' | 'after'>

/** Of two objects, as schemas and configs are, only the members that differ: all of them would be cut before what is new. */
function bySingleMembers({ path, before, after }: Difference): Difference[] {
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }]
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => writeJson(before[name]) !== writeJson(after[name]))
    .flatMap((name) =>
      bySingleMembers({
        path: `${path}/${asPart(name)}`,
        before: before[name],
        after: after[name],
      }),
    )
}

/** As a table, a line for each difference; as anything else, the plan as it came. */
function show({ out, io }: Context, plan: ManifestPlan, inFile: LocationOf): void {
  if (out.format === 'json' || out.format === 'yaml') return out.one(plan)
  if (out.format === 'ndjson') return out.many(plan.changes, {})
  for (const { path, message } of plan.warnings ?? []) {
    const { file, line, column } = inFile(path) ?? {}
    io.note(`warning: ${file === undefined ? '' : `${file}:${line}:${column}: `}${message}`)
  }
  if (plan.changes.length === 0) return
  const lines = plan.changes.flatMap(({ action, effect, kind, name, adopts, differences }) => {
    const effects = [effect === action ? null : effect, adopts && action !== 'adopt' ? 'adopts' : null].filter((each) => each !== null)
    const change = effects.length > 0 ? `${action} (${effects.join(', ')})` : action
    const first = { change, kind, name, difference: '' }
    const shown = differences.flatMap(bySingleMembers).map(({ path, before, after }) => `${path}: ${asShown(before, after).join(' → ')}`)
    return shown.length === 0
      ? [first]
      : shown.map((difference, index) => ({ ...(index === 0 ? first : { change: '', kind: '', name: '' }), difference }))
  })
  out.many(lines, {
    change: ({ change }) => change,
    kind: ({ kind }) => kind,
    name: ({ name }) => name,
    difference: ({ difference }) => difference,
  })
}

const changesIn = ({ changes: { length } }: ManifestPlan): string => `${length} ${length === 1 ? 'change' : 'changes'}`

const HASH_LEAST = 8

/** The present plan, given the beginning of its hash. Throws Misused when that belongs to another plan. */
async function planNamed({ dps }: Context, request: Parameters<Client['manifests']['plan']>[0], given: string): Promise<ManifestPlan> {
  if (given.length < HASH_LEAST) throw new Misused(`--plan-hash must have at least ${HASH_LEAST} characters`)
  const plan = await dps.manifests.plan(request)
  const { hash } = plan
  if (hash.startsWith(given)) return plan
  throw new Misused(
    `this is not the plan’s hash (it is now ${hash}): the manifest or a flag (--prune, --replace) is another one than dps diff had, or something that the plan is about has changed since`,
    { code: 'conflict', status: 409 },
  )
}

/** Changes are made within the request, and sources compiled for a plan: each may take a while. */
export const MANIFEST_TIMEOUT_MS = 30 * 60_000

export function addManifestCommands(program: Command, io: Io): void {
  /** The request, and what the service refuses of it, by the places in the files. */
  async function asked(file: string, { prune = false, replace = [] }: Options) {
    const { manifest, locationOf } = await manifestIn(file)
    return { locationOf, request: { manifest, prune, replace }, sent: <T>(work: Promise<T>): Promise<T> => ofFiles(locationOf, work) }
  }
  const options = (command: Command): Command =>
    command
      .option('--prune', 'delete members of the set that the manifest no longer names')
      .option('--replace <names...>', 'pipelines that may be deleted and made anew, which loses their position')

  options(program.command('diff <manifest>'))
    .description('say what applying a manifest would change; fails where it would change something')
    .action(async (file: string, given: Options, command: Command) => {
      const context = contextOf(io, command, { timeoutMs: MANIFEST_TIMEOUT_MS })
      const { request, sent, locationOf } = await asked(file, given)
      const plan = await during(io, `planning ${file}`, sent(context.dps.manifests.plan(request)))
      const { changes, unchanged, hash } = plan
      show(context, plan, locationOf)
      if (changes.length === 0) return io.note(`nothing to do: ${unchanged} unchanged`)
      const found = `${changesIn(plan)}, ${unchanged} unchanged`
      if (context.out.format !== 'table') throw new Differs(`${found}; the plan’s hash is ${hash}`)
      io.note(`the plan’s hash is ${hash}`)
      throw new Differs(found)
    })
  options(program.command('apply <manifest>'))
    .description('make the changes that `dps diff` names')
    .option('--plan-hash <hash>', 'of the plan that was seen, or its first 8 characters or more: exactly that is applied, or nothing')
    .action(async (file: string, given: Options, command: Command) => {
      const context = contextOf(io, command, { isFinished: true, timeoutMs: MANIFEST_TIMEOUT_MS })
      const { request, sent, locationOf } = await asked(file, given)
      const { planHash } = given
      const plan = planHash === undefined ? undefined : await during(io, `planning ${file}`, sent(planNamed(context, request, planHash)))
      const what = plan ? `applying ${changesIn(plan)} of ${file}` : `applying ${file}`
      const answer = await during(io, what, sent(context.dps.manifests.apply({ ...request, ...(plan ? { hash: plan.hash } : {}) })))
      show(context, answer, locationOf)
      io.note(answer.changes.length === 0 ? `nothing to do: ${answer.unchanged} unchanged` : `${changesIn(answer)} made`)
    })
  program
    .command('export <set>')
    .description('print a set as a manifest, in YAML or, with -o json, in JSON')
    .action(async (set: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const { manifest } = await context.dps.manifests.get(set)
      const { output } = command.optsWithGlobals<GlobalOptions>()
      if (output === 'json' || output === 'ndjson') return context.out.one(manifest)
      io.write(toYaml(manifest))
    })
}

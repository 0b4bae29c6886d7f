/**
 * Compiles a SmartModule's TypeScript source (AssemblyScript) against our SDK to ABI 1, in this process, from npm packages alone.
 * Belongs here: the compiler call and the entry it needs. Not: what modules do (catalogue), or how they are run (host).
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOM = import.meta.dirname
const SDK = join(ROOM, 'sdk', 'assembly')

/** What an author may export, and how the SDK calls it. */
const AUTHOR_FUNCTIONS = {
  filter: 'author.filter(record) ? Verdict.Keep : Verdict.Drop',
  map: '(author.map(record), Verdict.Changed)',
  filterMap: 'author.filterMap(record) ? Verdict.Changed : Verdict.Drop',
  arrayMap: '(author.arrayMap(record), Verdict.Drop)',
} as const

/** Thrown when the source does not compile; `message` is the compiler's own text. */
export class SmartModuleCompileError extends Error {}

/** The source with what the SDK's entry needs around it. Exactly one of the author's functions must be exported. */
function entryFor(source: string): string {
  const exported = (name: string) => new RegExp(`^\\s*export\\s+function\\s+${name}\\b`, 'm').test(source)
  const kinds = Object.keys(AUTHOR_FUNCTIONS).filter(exported)
  const [kind] = kinds
  if (kinds.length !== 1 || kind === undefined || !(kind in AUTHOR_FUNCTIONS)) {
    throw new SmartModuleCompileError(
      `a SmartModule exports exactly one of ${Object.keys(AUTHOR_FUNCTIONS).join(', ')}; found ${kinds.length === 0 ? 'none' : kinds.join(', ')}`,
    )
  }
  const call = AUTHOR_FUNCTIONS[kind as keyof typeof AUTHOR_FUNCTIONS]
  return `
import { alloc, init, process, Config, Verdict } from 'dps/abi'
import { Record } from 'dps/record'
import * as author from './module'
export const dps_abi_1: i32 = 1
export function dps_alloc(length: i32): usize { return alloc(length) }
export function dps_init(ptr: usize, length: i32): usize {
  return init(ptr, length, (config: Config): void => { ${exported('init') ? 'author.init(config)' : ''} })
}
export function dps_process(ptr: usize, length: i32, count: i32, partition: i32, baseOffset: i64, baseTimestamp: i64, maxTimestamp: i64, attributes: i32): usize {
  return process(ptr, length, count, baseOffset, (attributes & 8) != 0 ? maxTimestamp : baseTimestamp, (attributes & 8) != 0, (record: Record): Verdict => ${call})
}
`
}

/**
 * Options of every build. `minimal` leaves collecting to the SDK, which does so between records, where no reference is on the stack;
 * `incremental` would keep a shadow stack in every function (a third of the time of a small step).
 */
const SMARTMODULE_OPTIONS = ['--runtime', 'minimal', '-O3', '--enable', 'simd', '--maximumMemory', '1024']
/** The kernel allocates a few growing regions by hand and nothing else. */
const KERNEL_OPTIONS = ['--runtime', 'minimal', '-O3', '--enable', 'simd', '--maximumMemory', '16384']

/**
 * Compiles one source text. Files of the checkout are not reachable from it: only the SDK and AssemblyScript's own library.
 * Throws SmartModuleCompileError with the compiler's messages.
 */
export async function compileSmartModule(source: string): Promise<Uint8Array<ArrayBuffer>> {
  const files = new Map([
    ['entry.ts', entryFor(source)],
    ['module.ts', source],
  ])
  for (const name of ['index', 'abi', 'json', 'lexicon', 'path', 'record', 'text']) {
    files.set(`node_modules/dps/${name}.ts`, await readFile(join(SDK, `${name}.ts`), 'utf8'))
  }
  return assemble(files, SMARTMODULE_OPTIONS)
}

/** Files of the host's own kernel, in `host/kernel`. */
export const KERNEL_FILES = ['kernel.ts', 'build.ts', 'gather.ts', 'reader.ts', 'bytes.ts'] as const

/** Compiles the host's own kernel. */
export async function compileKernel(): Promise<Uint8Array<ArrayBuffer>> {
  const files = new Map([['entry.ts', "export * from './kernel'\nexport * from './build'\nexport * from './gather'\n"]])
  for (const name of KERNEL_FILES) files.set(name, await readFile(join(ROOM, 'host', 'kernel', name), 'utf8'))
  return assemble(files, KERNEL_OPTIONS)
}

async function assemble(files: Map<string, string>, options: string[]): Promise<Uint8Array<ArrayBuffer>> {
  // The compiler is 10 MB of JavaScript: loaded only where something is compiled.
  const { default: asc } = await import('assemblyscript/asc')
  let binary: Uint8Array<ArrayBuffer> | undefined
  const { error, stderr } = await asc.main(['entry.ts', '--outFile', 'module.wasm', ...options], {
    readFile: (name) => files.get(name.replace(/^\.\//, '')) ?? null,
    writeFile: (name, content) => {
      if (name === 'module.wasm' && typeof content !== 'string') binary = new Uint8Array(content)
    },
    listFiles: () => [],
  })
  if (error || !binary) throw new SmartModuleCompileError(stderr.toString() || error?.message || 'the compiler wrote nothing')
  return binary
}

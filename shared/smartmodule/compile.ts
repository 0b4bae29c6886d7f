/**
 * Compiles a SmartModule's TypeScript source (AssemblyScript) against the SDK to ABI 1, in this process, with npm packages alone.
 * This file holds the compiler call and the entry it needs; what modules do is in `catalogue`, how they run is in `host`.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { settingsOf, type Settings } from './settings.ts'
import { authorFunctionOf, explained, exportsOf, importFaults, placeIn, type Kind } from './source-text.ts'

const ROOM = import.meta.dirname
const SDK = join(ROOM, 'sdk', 'assembly')

/** The functions that an author may export, and the entry's call of each. */
const AUTHOR_FUNCTIONS = {
  filter: 'author.filter(record) ? Outcome.Keep : Outcome.Drop',
  map: '(author.map(record), Outcome.Changed)',
  filterMap: 'author.filterMap(record) ? Outcome.Changed : Outcome.Drop',
  arrayMap: '(author.arrayMap(record), Outcome.Drop)',
} as const satisfies Record<Kind, string>

/** What is wrong with a source; line and column count from 1, and are missing where it is not at one place. */
export type CompileFault = { message: string; line?: number; column?: number }

/** Thrown when a source can't be compiled, with what is wrong with it: the compiler's own texts, or which export is expected. */
export class SmartModuleCompileError extends Error {
  readonly faults: CompileFault[]
  constructor(faults: CompileFault[]) {
    super(faults.map(({ message, line, column }) => (line === undefined ? message : `${line}:${column}: ${message}`)).join('\n'))
    this.faults = faults
  }
}

/** The entry that connects the author's function to the SDK. */
function entryFor(source: string, kind: Kind, settings: Settings | undefined): string {
  const call = AUTHOR_FUNCTIONS[kind]
  const hasInit = exportsOf(source).some(({ name }) => name === 'init')
  return `
import { alloc, init, process, takeMembers, Outcome } from 'dps/abi'
import { Config } from 'dps/config'
import { Record } from 'dps/record'
import * as author from './module'
export const dps_abi_1: i32 = 1
export function dps_alloc(length: i32): usize { return alloc(length) }
export function dps_members(length: i32): usize { return takeMembers(length) }
export function dps_init(ptr: usize, length: i32): usize {
  return init(ptr, length, (config: Config): void => {
  ${settings?.statements ?? ''}
  ${hasInit ? 'author.init(config)' : ''}
  })
}
export function dps_process(ptr: usize, length: i32, count: i32, partition: i32, baseOffset: i64, baseTimestamp: i64, maxTimestamp: i64, attributes: i32): usize {
  return process(ptr, length, count, partition, baseOffset, (attributes & 8) != 0 ? maxTimestamp : baseTimestamp, (attributes & 8) != 0, (record: Record): Outcome => ${call})
}
`
}

/**
 * Options for SmartModules. With `minimal`, the SDK collects garbage itself, between records, when no reference is on the stack;
 * `incremental` would maintain a shadow stack in every function (a third of a small step's time). What throws at start throws in
 * `_initialize`: by then the host has the memory, which holds the error's text.
 */
const SMARTMODULE_OPTIONS = ['--runtime', 'minimal', '-O3', '--enable', 'simd', '--maximumMemory', '1024', '--exportStart', '_initialize']
/** `minimal` suffices: the kernel only allocates a few growing regions, by hand. */
const KERNEL_OPTIONS = ['--runtime', 'minimal', '-O3', '--enable', 'simd', '--maximumMemory', '16384']

const SDK_FILES = [
  'index',
  'abi',
  'base64',
  'config',
  'double',
  'edits',
  'json',
  'expected-keys',
  'last-document',
  'lexicon',
  'members',
  'path',
  'record',
  'sha256',
  'shortest',
  'telemetry',
  'text',
  'time',
  'varints',
] as const

/**
 * The WebAssembly binary of one source text, which can import only the SDK and AssemblyScript's own library, no files of the repository;
 * a built-in also its other files, by their names. Throws SmartModuleCompileError with the compiler's messages.
 */
export async function compileSmartModule(source: string, others?: ReadonlyMap<string, string>): Promise<Uint8Array<ArrayBuffer>> {
  const imported = others === undefined ? importFaults(source) : []
  if (imported.length > 0) throw new SmartModuleCompileError(imported)
  const author = authorFunctionOf(source)
  if ('message' in author) throw new SmartModuleCompileError([author])
  const settings = await settingsOf(source)
  if (settings && 'faults' in settings) throw new SmartModuleCompileError(settings.faults)
  const files = new Map([...(others ?? []), ['entry.ts', entryFor(source, author.name, settings)], ['module.ts', source]])
  for (const name of SDK_FILES) {
    files.set(`node_modules/dps/${name}.ts`, await readFile(join(SDK, `${name}.ts`), 'utf8'))
  }
  return assemble(files, SMARTMODULE_OPTIONS, placeIn(source, author.at))
}

/** Source files of the host's own kernel, in `host/kernel`. */
export const KERNEL_FILES = ['kernel.ts', 'blocks.ts', 'build.ts', 'gather.ts', 'split.ts', 'reader.ts', 'bytes.ts'] as const

/** Those of them that the others share, and that export nothing. */
const KERNEL_PARTS: ReadonlySet<string> = new Set(['reader.ts', 'bytes.ts'])

/** The WebAssembly binary of the host's own kernel. Throws SmartModuleCompileError when it does not compile. */
export async function compileKernel(): Promise<Uint8Array<ArrayBuffer>> {
  const files = new Map([
    [
      'entry.ts',
      KERNEL_FILES.filter((name) => !KERNEL_PARTS.has(name))
        .map((name) => `export * from './${name.replace('.ts', '')}'\n`)
        .join(''),
    ],
  ])
  for (const name of KERNEL_FILES) files.set(name, await readFile(join(ROOM, 'host', 'kernel', name), 'utf8'))
  return assemble(files, KERNEL_OPTIONS)
}

/** `exported`: where the author's function is, which is what errors in the entry are about. */
async function assemble(files: Map<string, string>, options: string[], exported?: Place): Promise<Uint8Array<ArrayBuffer>> {
  // The compiler is 10 MB of JavaScript: loaded only when something is compiled.
  const { default: asc } = await import('assemblyscript/asc')
  let binary: Uint8Array<ArrayBuffer> | undefined
  const found: Diagnostic[] = []
  const { error, stderr } = await asc.main(['entry.ts', '--outFile', 'module.wasm', ...options], {
    reportDiagnostic: (diagnostic: unknown) => void found.push(diagnostic as Diagnostic),
    readFile: (name) => files.get(name.replace(/^\.\//, '')) ?? null,
    writeFile: (name, content) => {
      if (name === 'module.wasm' && typeof content !== 'string') binary = new Uint8Array(content)
    },
    listFiles: () => [],
  })
  if (!error && binary) return binary
  const errors = found.filter(({ category }) => category === ERROR)
  // What has no type because of an error before it is only a consequence, and so is a second fault of the entry's call.
  const causes = errors.filter((each, index) => {
    return !each.message.endsWith("on type 'auto'.") && !(isInEntry(each) && errors.slice(0, index).some(isInEntry))
  })
  const faults = (causes.length > 0 ? causes : errors).map((each) => faultOf(each, files, exported))
  if (faults.length > 0) throw new SmartModuleCompileError(faults.slice(0, FAULTS_MAX))
  throw new SmartModuleCompileError([{ message: shortened(stderr.toString() || error?.message || 'the compiler wrote nothing') }])
}

type Place = ReturnType<typeof placeIn>

/** A diagnostic of AssemblyScript's compiler; `start` is an offset in its source. */
type Diagnostic = { category: number; message: string; range: { start: number; source: { normalizedPath: string } } | null }

const isInEntry = ({ range }: Diagnostic): boolean => range?.source.normalizedPath === 'entry.ts'

/** AssemblyScript's DiagnosticCategory.Error; 2 is a warning. */
const ERROR = 3
const FAULTS_MAX = 50
/** The compiler names types in full, which may take megabytes. */
const MESSAGE_MAX = 500

const shortened = (text: string): string => (text.length <= MESSAGE_MAX ? text : `${text.slice(0, MESSAGE_MAX)}…`)

/** The fault, with its place where that is in the author's own source. */
function faultOf({ message: text, range }: Diagnostic, files: ReadonlyMap<string, string>, exported?: Place): CompileFault {
  // The SDK's classes by the names that the author knows.
  const message = explained(shortened(text.slice(0, 10 * MESSAGE_MAX).replaceAll(/~lib\/dps\/\w+\//g, '')))
  const name = range?.source.normalizedPath
  if (name === 'entry.ts') return { message: `the exported function has not the form that the SDK expects: ${message}`, ...exported }
  const source = name === 'module.ts' ? files.get(name) : undefined
  if (source === undefined || !range) return { message: name === undefined ? message : `${message} (in ${name})` }
  return { message, ...placeIn(source, range.start) }
}

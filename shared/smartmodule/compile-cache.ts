/**
 * Compiles the project's own guests (kernel, built-ins) on first use and keeps the binaries in the cache folder under the sha-256 of all
 * compiler inputs, so that a second start compiles nothing and a changed source never gets an old binary.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import assemblyscript from 'assemblyscript/package.json' with { type: 'json' }
import { KERNEL_FILES, compileKernel, compileSmartModule } from './compile.ts'

const ROOM = import.meta.dirname
/** The compiler's version. */
const COMPILER = assemblyscript.version

async function inputHash(source: string, others: ReadonlyMap<string, string>, kind: string): Promise<string> {
  const hash = createHash('sha256')
    .update(kind)
    .update(COMPILER)
    .update(source)
    .update(await readFile(join(ROOM, 'compile.ts')))
    .update(await readFile(join(ROOM, 'settings.ts')))
    .update(await readFile(join(ROOM, 'source-text.ts')))
  for (const [name, content] of others) hash.update(name).update(content)
  for (const name of KERNEL_FILES) hash.update(await readFile(join(ROOM, 'host', 'kernel', name)))
  const sdk = join(ROOM, 'sdk', 'assembly')
  for (const name of (await readdir(sdk)).sort()) hash.update(name).update(await readFile(join(sdk, name)))
  return hash.digest('hex')
}

/** The other files that a built-in is made of: those of its folder, and of each folder beside it that one of its files imports from. */
export async function filesBeside(sourceFile: string): Promise<Map<string, string>> {
  const own = dirname(sourceFile)
  const folders = new Set(['.'])
  const addFolders = (source: string) => {
    for (const [, folder] of source.matchAll(/ from '(\.\.\/[\w-]+)\//g)) folders.add(folder!)
  }
  addFolders(await readFile(sourceFile, 'utf8'))
  const found = new Map<string, string>()
  // A set is walked to its end, what is added on the way included.
  for (const folder of folders) {
    const names = (await readdir(join(own, folder))).filter((name) => name.endsWith('.ts') && name !== basename(sourceFile)).sort()
    for (const name of names) {
      const text = await readFile(join(own, folder, name), 'utf8')
      found.set(folder === '.' ? name : `${folder}/${name}`, text)
      addFolders(text)
    }
  }
  return found
}

/**
 * The source file's binary, from `cacheFolder` or newly compiled: as a `smartmodule` against the SDK, or as the bare `kernel`. Throws
 * an Error that names the file when it does not compile.
 */
export async function compileCached(
  sourceFile: string,
  kind: 'smartmodule' | 'kernel',
  cacheFolder: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const source = await readFile(sourceFile, 'utf8')
  const folder = join(cacheFolder, 'smartmodules')
  const others = kind === 'kernel' ? new Map<string, string>() : await filesBeside(sourceFile)
  const file = join(folder, `${await inputHash(source, others, kind)}.wasm`)
  try {
    return new Uint8Array(await readFile(file))
  } catch {
    const binary = await (kind === 'kernel' ? compileKernel() : compileSmartModule(source, others)).catch((error: unknown) => {
      throw error instanceof Error ? new Error(`${sourceFile}: ${error.message}`, { cause: error }) : error
    })
    await mkdir(folder, { recursive: true })
    const temporary = `${file}.${randomUUID()}`
    await writeFile(temporary, binary)
    await rename(temporary, file)
    return binary
  }
}

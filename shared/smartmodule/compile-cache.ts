/**
 * Compiles the project's own guests (kernel, built-ins) on first use and keeps the binaries in the cache folder under the sha-256 of all
 * compiler inputs, so that a second start compiles nothing and a changed source never gets an old binary.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KERNEL_FILES, compileKernel, compileSmartModule } from './compile.ts'

const ROOM = import.meta.dirname

async function inputHash(source: string, kind: string): Promise<string> {
  const hash = createHash('sha256')
    .update(kind)
    .update(source)
    .update(await readFile(join(ROOM, 'compile.ts')))
  for (const name of KERNEL_FILES) hash.update(await readFile(join(ROOM, 'host', 'kernel', name)))
  const sdk = join(ROOM, 'sdk', 'assembly')
  for (const name of (await readdir(sdk)).sort()) hash.update(name).update(await readFile(join(sdk, name)))
  return hash.digest('hex')
}

/**
 * The source file's binary, from `cacheFolder` or newly compiled: as a `smartmodule` against the SDK, or as the bare `kernel`. Throws
 * SmartModuleCompileError when it does not compile.
 */
export async function compileCached(
  sourceFile: string,
  kind: 'smartmodule' | 'kernel',
  cacheFolder: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const source = await readFile(sourceFile, 'utf8')
  const folder = join(cacheFolder, 'smartmodules')
  const file = join(folder, `${await inputHash(source, kind)}.wasm`)
  try {
    return new Uint8Array(await readFile(file))
  } catch {
    const binary = await (kind === 'kernel' ? compileKernel() : compileSmartModule(source))
    await mkdir(folder, { recursive: true })
    const temporary = `${file}.${randomUUID()}`
    await writeFile(temporary, binary)
    await rename(temporary, file)
    return binary
  }
}

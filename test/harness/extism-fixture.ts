/** Compiles an Extism plug-in fixture with plain AssemblyScript, without our SDK. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export async function compileFixture(name: string): Promise<Buffer> {
  const { default: asc } = await import('assemblyscript/asc')
  const source = await readFile(join(import.meta.dirname, '..', 'fixtures', 'smartmodules', `${name}.ts`), 'utf8')
  let binary: Buffer | undefined
  const { error, stderr } = await asc.main(['entry.ts', '--outFile', 'entry.wasm', '-O', '--runtime', 'stub'], {
    readFile: (path) => (path === 'entry.ts' ? source : null),
    writeFile: (path, content) => {
      if (path === 'entry.wasm' && typeof content !== 'string') binary = Buffer.from(content)
    },
    listFiles: () => [],
  })
  if (error || !binary) throw new Error(stderr.toString())
  return binary
}

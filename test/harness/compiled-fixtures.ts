/** Builds modules of test/fixtures/smartmodules with other people's tools: AssemblyScript, with or without Extism's PDK, and Go's. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { limitMs } from './machine-speed.ts'

const FIXTURES = join(import.meta.dirname, '..', 'fixtures', 'smartmodules')
const PACKAGES = join(import.meta.dirname, '..', '..', 'node_modules')
const BUILD_MAX_MS = Math.max(600_000, limitMs(180_000))

/** An AssemblyScript source as a plug-in; one with the PDK needs its `abort` in place of the host's. */
export async function compileFixture(name: string, flags: string[] = []): Promise<Buffer> {
  const { default: asc } = await import('assemblyscript/asc')
  const source = await readFile(join(FIXTURES, `${name}.ts`), 'utf8')
  let binary: Buffer | undefined
  const { error, stderr } = await asc.main(['entry.ts', '--outFile', 'entry.wasm', '-O', '--runtime', 'stub', ...flags], {
    readFile: async (path) =>
      path === 'entry.ts'
        ? source
        : path.startsWith('node_modules/@extism/')
          ? readFile(join(PACKAGES, path.slice('node_modules/'.length)), 'utf8').catch(() => null)
          : null,
    writeFile: (path, content) => {
      if (path === 'entry.wasm' && typeof content !== 'string') binary = Buffer.from(content)
    },
    listFiles: () => [],
  })
  if (error || !binary) throw new Error(stderr.toString())
  return binary
}

/** What Go says when the network does not give it a module. */
const NOT_FETCHED = /proxy|dial tcp|no such host|i\/o timeout|403 Forbidden|404 Not Found/

/** A program of test/fixtures/smartmodules, built by the Go on the machine; undefined where there is none, or it can't fetch the SDK. */
export async function buildGo(fixture: string, args: string[] = []): Promise<Buffer | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'dps-go-'))
  try {
    await cp(join(FIXTURES, fixture), folder, { recursive: true })
    const env = { ...process.env, GOOS: 'wasip1', GOARCH: 'wasm' }
    await promisify(execFile)('go', ['build', ...args, '-o', 'built.wasm', '.'], { cwd: folder, env, timeout: BUILD_MAX_MS })
    return await readFile(join(folder, 'built.wasm'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    if (error instanceof Error && NOT_FETCHED.test(error.message)) return undefined
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The Go plug-in that exports this function, or `map` as `enrich`, which sends requests; undefined where there is no Go. */
export const buildGoPlugin = (exported: 'map' | 'array_map' | 'enrich'): Promise<Buffer | undefined> =>
  buildGo('go', ['-buildmode=c-shared', '-tags', exported])

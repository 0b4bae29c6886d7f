/** Builds the thin programs that the product is compared with, once, into the cache. One that can't be built comes with its reason. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder, cached } from '../../../deploy/local/cache.ts'

const run = promisify(execFile)
const BUILD_MS_MAX = 600_000

type Recipe = { name: string; folder: string; sources: string[]; binary: string; tool: string; args: string[] }

const RECIPES: Recipe[] = [
  {
    name: 'thin Go (franz-go)',
    folder: 'go',
    sources: ['main.go', 'go.mod', 'go.sum'],
    binary: 'thin',
    tool: 'go',
    args: ['build', '-o', 'thin', '.'],
  },
  {
    name: 'thin Rust (rdkafka, serde)',
    folder: 'rust',
    sources: ['src/main.rs', 'Cargo.toml'],
    binary: 'target/release/thin',
    tool: 'cargo',
    args: ['build', '--release', '--quiet'],
  },
]

export type Thin = { name: string; /** Undefined if it could not be built; `reason` then says why. */ path?: string; reason?: string }

async function build({ name, folder, sources, binary, tool, args }: Recipe): Promise<Thin> {
  const hash = createHash('sha256')
  for (const source of sources) hash.update(await readFile(join(import.meta.dirname, folder, source)))
  try {
    const place = await cached(`thin-${folder}-${hash.digest('hex').slice(0, 12)}`, async (target) => {
      const work = join(cacheFolder(), `thin-${folder}-build`)
      await cp(join(import.meta.dirname, folder), work, { recursive: true })
      await run(tool, args, { cwd: work, timeout: BUILD_MS_MAX, maxBuffer: 16 << 20 })
      await cp(join(work, binary), join(target, 'thin'))
      await rm(work, { recursive: true, force: true })
    })
    return { name, path: join(place, 'thin') }
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').at(-1) : ''
    return { name, reason: `${tool} did not build it: ${said || (error instanceof Error ? error.message : String(error))}` }
  }
}

/** Builds one after the other, because a compiler takes all cores. */
export async function buildThinPrograms(): Promise<Thin[]> {
  const built: Thin[] = []
  for (const recipe of RECIPES) built.push(await build(recipe))
  return built
}

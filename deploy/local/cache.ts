/** The cache of downloads, kept between runs and outside of any checkout; downloads are verified and put in place by one rename. */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** The cache folder: `DPS_CACHE`, else `~/.cache/data-pipeline-service`. */
export function cacheFolder(): string {
  return process.env.DPS_CACHE ?? join(homedir(), '.cache', 'data-pipeline-service')
}

/** Where Node keeps compiled code (`NODE_COMPILE_CACHE`): many processes are started, and a third to a half of a start is compiling. */
export const compileCacheFolder = (): string => join(cacheFolder(), 'node')

/**
 * Returns `<cache>/<name>`, filling it by `fill` the first time. `fill` works in a temporary folder that is renamed whole, so that a
 * killed download leaves nothing that looks complete, and two starts at the same time do not disturb each other.
 */
export async function cached(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const target = join(cacheFolder(), name)
  if (existsSync(target)) return target
  await mkdir(cacheFolder(), { recursive: true })
  const folder = await mkdtemp(join(cacheFolder(), `.${name}-`))
  try {
    await fill(folder)
    await rename(folder, target)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    // Another start may have won the race; its folder is just as good.
    if (!existsSync(target)) throw error
  }
  return target
}

/** Hex sha-256 of a file. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** Throws unless the files of `folder` are exactly those of `sumsFile` (lines as `sha256sum` prints them), with the right contents. */
export async function verifyFolder(folder: string, sumsFile: string): Promise<void> {
  const expected = new Map(
    (await readFile(sumsFile, 'utf8'))
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(66).trim(), line.slice(0, 64)]),
  )
  for (const name of await readdir(folder)) {
    if (!expected.has(name)) throw new Error(`${name} was downloaded but is not listed in ${basename(sumsFile)}`)
  }
  for (const [name, sum] of expected) {
    const actual = await sha256OfFile(join(folder, name))
    if (actual !== sum) throw new Error(`${name} does not match its sha-256 in ${basename(sumsFile)}: refusing to run it`)
  }
}

/**
 * The built-in SmartModules, present in every account as `dps/<name>`. To add one, add a folder here and its name below: `module.ts` is its
 * source, `module.json` says what it is and what a step's config may be, `examples.json` shows what it does and is run as a test.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { compileCached } from '../compile-cache.ts'

/** The folders here, in the order in which they are listed. */
export const BUILT_IN_NAMES = [
  'filter',
  'map-fields',
  'text-classifier',
  'cel',
  'cast',
  'redact',
  'explode',
  'flatten',
  'parse',
  'timestamp',
  'route-by',
  'sample',
  'lookup',
  'validate',
] as const

const About = z.strictObject({ version: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) })

/** A built-in SmartModule; `parameters` is the JSON Schema for a step's config. */
export type BuiltIn = { name: string } & z.output<typeof About>

/** All built-ins. A step's config is checked against `parameters` when a pipeline is created. */
export const BUILT_INS: readonly BuiltIn[] = BUILT_IN_NAMES.map((name) => ({
  name: `dps/${name}`,
  ...About.parse(JSON.parse(readFileSync(join(import.meta.dirname, name, 'module.json'), 'utf8'))),
}))

/** The built-ins with their compiled binaries; the first call compiles them, for half a minute or more, later ones read the cache. */
export async function builtInSmartModules(
  cacheFolder: string,
  builtIns = BUILT_INS,
): Promise<(BuiltIn & { binary: Uint8Array<ArrayBuffer> })[]> {
  const found: (BuiltIn & { binary: Uint8Array<ArrayBuffer> })[] = []
  for (const builtIn of builtIns) {
    const source = join(import.meta.dirname, builtIn.name.slice('dps/'.length), 'module.ts')
    found.push({ ...builtIn, binary: await compileCached(source, 'smartmodule', cacheFolder) })
    // The compiler holds the thread for seconds a module: all of them in one turn would look like a process that stands still.
    await setImmediate()
  }
  return found
}

/** A manifest in a file: sources, binaries and samples are files beside it. */
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import type { Manifest } from '../../typescript/src/index.ts'
import { asPart, namesIn } from './json-pointers.ts'
import { IN_MANIFEST, Misused, sourceLocation, type LocationOf } from './outcome.ts'
import { openYaml, type OpenYaml } from './output.ts'
import { readableText } from './readable-files.ts'
import { samplesAt } from './samples.ts'
import { moduleIn } from './trials.ts'

/** As written: a SmartModule's source and tests may be the names of files. */
const NO_OBJECT = { error: 'must be an object' }
const Written = z.looseObject({
  smartmodules: z
    .record(z.string(), z.looseObject({ source: z.unknown().optional(), tests: z.unknown().optional() }, NO_OBJECT), NO_OBJECT)
    .nullable()
    .optional(),
})

/** What is wrong with a part of a manifest; `at` comes before its paths. */
export const faultsIn = ({ issues }: z.ZodError, at = ''): string =>
  issues.map(({ path, message }) => `${at}${path.join('.')}: ${message}`).join('; ')

/** An object of JSON. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The file as YAML, of which JSON is a part. Throws Misused with the line where it is none. */
function opened(text: string, at: string): OpenYaml {
  try {
    return openYaml(text)
  } catch (error) {
    throw new Misused(`${at}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The value of a text of YAML. Throws like `opened`. */
export const parsed = (text: string, at: string): unknown => opened(text, at).value

/**
 * A manifest with what its file names in place of the names. `sources`: the file of a SmartModule's source by its name; `locationOf`: where
 * in the files a part of a request with this manifest is.
 */
export type ManifestFile = { manifest: Manifest; sources: ReadonlyMap<string, string>; locationOf: LocationOf }

/** Throws Misused for what can't be read. */
export async function manifestIn(file: string): Promise<ManifestFile> {
  const folder = dirname(resolve(file))
  const { value, placeOf } = opened(await readableText(file, 'the manifest'), file)
  const at = (pointer: string): string => {
    const { line, column } = placeOf(pointer)
    return `${file}:${line}:${column}: ${pointer}`
  }
  if (!isObject(value)) {
    const what = value === null ? 'is empty' : Array.isArray(value) ? 'is a list' : 'is a single value'
    throw new Misused(`${file} ${what}: a manifest is an object with \`dps: 1\` and its \`set\` (see /manifest.schema.json of the service)`)
  }
  const written = Written.safeParse(value)
  if (!written.success) throw new Misused(`${file}: ${faultsIn(written.error)}`)
  const faults: string[] = []
  /** What a file holds. All files that can't be read are named at once. */
  const read = async <T extends object>(reading: Promise<T>): Promise<T | object> =>
    reading.catch((error: unknown) => {
      if (!(error instanceof Misused)) throw error
      faults.push(error.message)
      return {}
    })
  const smartmodules: [string, unknown][] = []
  const sources = new Map<string, string>()
  for (const [name, { source, tests, ...rest }] of Object.entries(written.data.smartmodules ?? {})) {
    const own = `/smartmodules/${asPart(name)}`
    if (typeof source === 'string') sources.set(name, join(dirname(file), source))
    const part = {
      ...rest,
      ...(typeof source === 'string' ? await read(moduleIn(resolve(folder, source), at(`${own}/source`))) : { source }),
      ...(typeof tests === 'string'
        ? await read(samplesAt(resolve(folder, tests), at(`${own}/tests`)).then((samples) => ({ tests: samples })))
        : tests === undefined
          ? {}
          : { tests }),
    }
    smartmodules.push([name, part])
  }
  if (faults.length > 0) throw new Misused(faults.join('\n  '))
  // An empty block of YAML is null; the service says what else is wrong.
  const members = Object.entries({ ...written.data, smartmodules: Object.fromEntries(smartmodules) }).filter(([, value]) => value !== null)
  const ofSource = sourceLocation((path) => sources.get(namesIn(path).at(-1) ?? ''))
  const locationOf: LocationOf = (path) => {
    const source = ofSource(path)
    if (source || !IN_MANIFEST.test(path)) return source
    return { file, ...placeOf(path.replace(IN_MANIFEST, '')) }
  }
  return { manifest: Object.fromEntries(members) as unknown as Manifest, sources, locationOf }
}

/** A manifest with files beside it, which it names: SmartModules' sources, binaries and tests. */
import { parseAsWritten } from '../../../clients/typescript/src/core/exact-json.ts'
import { isObject, textOfFile } from './records.ts'
import { parseYaml } from './yaml.ts'

/** What files hold, by their names: texts, of binaries in base64. */
export type Files = ReadonlyMap<string, string>

const isBinary = (name: string): boolean => name.endsWith('.wasm')

async function contentOf(file: File): Promise<string> {
  if (!isBinary(file.name)) return textOfFile(file)
  const bytes = new Uint8Array(await file.arrayBuffer())
  return btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(''))
}

/** Files that were chosen together: the manifest, which is the one in YAML, else the one in JSON; and the others. */
export async function readFiles(chosen: readonly File[]): Promise<{ text: string | undefined; files: Files }> {
  const manifest = chosen.find(({ name }) => /\.ya?ml$/.test(name)) ?? chosen.find(({ name }) => name.endsWith('.json'))
  const files = new Map<string, string>()
  for (const file of chosen) if (file !== manifest) files.set(file.name, await contentOf(file))
  return { text: manifest && (await textOfFile(manifest)), files }
}

/** A SmartModule with what its files hold. Throws an Error that names a file which was not chosen. */
function withFiles(module: string, { source, tests, ...rest }: Record<string, unknown>, files: Files): object {
  const contentAt = (path: string): string => {
    const content = files.get(path.split('/').at(-1) ?? '')
    if (content === undefined) throw new Error(`The SmartModule ${module} names ${path}: choose that file too, together with the manifest.`)
    return content
  }
  const codeIn = (file: string) =>
    isBinary(file) ? { wasm_binary: contentAt(file) } : { source: { language: 'typescript', code: contentAt(file) } }
  return {
    ...rest,
    ...(typeof source === 'string' ? codeIn(source) : { source }),
    ...(typeof tests === 'string' ? { tests: [parseAsWritten(contentAt(tests))].flat() } : { tests }),
  }
}

/** The manifest as requests take it. Throws an Error for what is no manifest, and for files that it names and that are not there. */
export function manifestOf(text: string, files: Files): unknown {
  const manifest = parseYaml(text)
  if (!isObject(manifest)) return manifest
  const smartmodules =
    isObject(manifest.smartmodules) &&
    Object.entries(manifest.smartmodules).map(([name, part]) => [name, isObject(part) ? withFiles(name, part, files) : part])
  const members = { ...manifest, ...(smartmodules ? { smartmodules: Object.fromEntries(smartmodules) } : {}) }
  // An empty block of YAML is null.
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

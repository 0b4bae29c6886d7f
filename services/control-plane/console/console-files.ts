/** The built console as it is served: files by path, and the page that every other path of the console leads to. Read once. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

export type ConsoleFile = { bytes: Buffer; type: string; isImmutable: boolean }

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}
/** Marks where the page's `<base>` goes. */
const BASE = '<!--base-->'

export type ConsoleFiles = {
  /** A file of the build, by its path below the console's. */
  file(path: string): ConsoleFile | undefined
  /** The page, for a path that is this many folders below the console's. */
  page(depth: number): string
}

/** The console in the folder; undefined where it was not built. */
export function readConsole(folder: string): ConsoleFiles | undefined {
  if (!existsSync(join(folder, 'index.html'))) return undefined
  const files = new Map<string, ConsoleFile>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')
    const type = TYPES[path.split('.').at(-1) ?? '']
    // What is in `assets` has its hash in its name.
    if (type !== undefined) files.set(path, { bytes: readFileSync(join(folder, path)), type, isImmutable: path.startsWith('assets/') })
  }
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
  return {
    file: (path) => files.get(path),
    // Relative, so that it holds below any path that a proxy adds.
    page: (depth) => html.replace(BASE, `<base href="${'../'.repeat(depth) || './'}">`),
  }
}

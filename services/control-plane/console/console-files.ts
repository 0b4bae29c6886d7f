/** The built console as it is served: its files, and the page that every other path of the console leads to. */
import { readBuilt, type BuiltFile } from './built-files.ts'

/** Marks where the page's `<base>` goes. */
const BASE = '<!--base-->'

export type ConsoleFiles = {
  /** A file of the build, by its path below the console's. */
  file(path: string): BuiltFile | undefined
  /** The page, for a path that is this many folders below the console's. */
  page(depth: number): string
}

/** The console in the folder; undefined where it was not built. */
export function readConsole(folder: string): ConsoleFiles | undefined {
  const files = readBuilt(folder)
  if (!files) return undefined
  const html = files.get('index.html')!.bytes.toString('utf8')
  return {
    file: (path) => (path === 'index.html' ? undefined : files.get(path)),
    // Relative, so that it holds below any path that a proxy adds.
    page: (depth) => html.replace(BASE, `<base href="${'../'.repeat(depth) || './'}">`),
  }
}

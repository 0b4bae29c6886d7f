/** What `make build` has made, as it is served: files by path. Read once. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

export type BuiltFile = { bytes: Buffer; type: string; isImmutable: boolean }

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Undefined where the folder has no `index.html`: it was not built. */
export function readBuilt(folder: string): ReadonlyMap<string, BuiltFile> | undefined {
  if (!existsSync(join(folder, 'index.html'))) return undefined
  const files = new Map<string, BuiltFile>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')
    const type = TYPES[path.split('.').at(-1) ?? '']
    // What is in `assets` has its hash in its name.
    if (type !== undefined) files.set(path, { bytes: readFileSync(join(folder, path)), type, isImmutable: path.startsWith('assets/') })
  }
  return files
}

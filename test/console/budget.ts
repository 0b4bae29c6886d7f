/** What a browser loads of the console, gzipped, beside what it may (`make console-budget`). */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const DIST = join(import.meta.dirname, '..', '..', 'services', 'console', 'dist')

export type Size = { what: string; bytes: number; bytesMax: number }

const gzipped = (file: string): number => gzipSync(readFileSync(file)).length

/** Sizes of the built console. Throws when it is not built. */
export function consoleSizes(): Size[] {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8')
  const first = (kind: string): number =>
    [...page.matchAll(new RegExp(`(?:src|href)="\\./(assets/[^"]+\\.${kind})"`, 'g'))].reduce(
      (sum, [, file]) => sum + gzipped(join(DIST, file!)),
      0,
    )
  const scripts = readdirSync(join(DIST, 'assets')).filter((name) => name.endsWith('.js'))
  return [
    { what: 'scripts of the first load', bytes: first('js'), bytesMax: 60_000 },
    { what: 'styles of the first load', bytes: first('css'), bytesMax: 12_000 },
    { what: 'all scripts', bytes: scripts.reduce((sum, name) => sum + gzipped(join(DIST, 'assets', name)), 0), bytesMax: 220_000 },
  ]
}

if (import.meta.main) {
  const sizes = consoleSizes()
  for (const { what, bytes, bytesMax } of sizes)
    process.stdout.write(`${what.padEnd(26)} ${String(bytes).padStart(7)} bytes of ${bytesMax}${bytes > bytesMax ? '  TOO LARGE' : ''}\n`)
  if (sizes.some(({ bytes, bytesMax }) => bytes > bytesMax)) process.exitCode = 1
}

/** `make clients`: writes what is generated of the clients; with `--check` it only says whether that is up to date. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeApi } from './document.ts'
import { resourcesModule, typesModule } from './python.ts'
import { resourcesFile, typesFile } from './typescript.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const api = describeApi()
const FILES: Record<string, string> = {
  'clients/typescript/src/generated/types.ts': typesFile(api),
  'clients/typescript/src/generated/resources.ts': resourcesFile(api),
  'clients/python/src/dps_client/_generated/types.py': typesModule(api),
  'clients/python/src/dps_client/_generated/resources.py': resourcesModule(api),
}

/** As `make format` writes it. */
function formatted(path: string, text: string): string {
  if (!path.endsWith('.ts')) return text
  const folder = mkdtempSync(join(tmpdir(), 'dps-clients-'))
  try {
    const file = join(folder, path.split('/').at(-1)!)
    writeFileSync(file, text)
    execFileSync(join(ROOT, 'node_modules', '.bin', 'oxfmt'), ['--config', join(ROOT, '.oxfmtrc.json'), '--write', file])
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const stale = Object.entries(FILES).filter(([path, text]) => {
  const made = formatted(path, text)
  const file = join(ROOT, path)
  let known = ''
  try {
    known = readFileSync(file, 'utf8')
  } catch {
    // It is not there yet.
  }
  if (known === made) return false
  if (!process.argv.includes('--check')) writeFileSync(file, made)
  return true
})
if (process.argv.includes('--check') && stale.length > 0) {
  process.stderr.write(`out of date: ${stale.map(([path]) => path).join(', ')}; run \`make clients\`\n`)
  process.exit(1)
}
process.exit(0)

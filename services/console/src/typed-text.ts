/** What people type, as values; what is wrong with it is said beside its field. */
import { parseAsWritten } from '../../../clients/typescript/src/core/exact-json.ts'

/** `at` is a JSON pointer to the member that the field is for. */
export class Mistyped extends Error {
  readonly at: string
  constructor(at: string, message: string) {
    super(message)
    this.at = at
  }
}

/** The text as JSON. Throws Mistyped. */
export function jsonAt(at: string, text: string): unknown {
  try {
    return parseAsWritten(text)
  } catch (error) {
    const place = /line \d+ column \d+/.exec(String(error))
    throw new Mistyped(at, text.trim() ? `is not JSON${place ? `: see ${place[0]}` : ', as {"name": "value"}'}` : 'is empty')
  }
}

const COUNTED: Record<string, string> = { records: 'record', processors: 'step', steps: 'step', tests: 'test' }
const LEFT_OUT = /^(?:query|manifest|config)$/

/** A JSON pointer into a request, in words: `record 1, id`; of one below `at` what comes behind that, and an item with its noun. */
export function inWords(path: string, at = ''): string {
  const names = path.split('/').slice(1)
  const words: string[] = []
  const behind = at.split('/').length - 1
  const isItem = COUNTED[names[behind - 1]!] && /^\d+$/.test(names[behind] ?? '')
  for (let index = isItem ? behind - 1 : behind; index < names.length; index++) {
    const name = names[index]!.replaceAll('~1', '/').replaceAll('~0', '~')
    const noun = COUNTED[name]
    if (noun && /^\d+$/.test(names[index + 1] ?? '')) words.push(`${noun} ${Number(names[++index]) + 1}`)
    else if (!LEFT_OUT.test(name) || index === names.length - 1) words.push(name)
  }
  return words.join(', ')
}

/** Which member of a step's config a SmartModule means when it refuses the config. */
import { pointer } from '../../../shared/model/json-pointer.ts'

/** What may follow a name in a text: the next name, or the rest of the sentence. */
const ENDS_A_NAME = /^(?:$|[.[:,\s])/

/** What a SmartModule refuses of its config: a text whose every line names a member is several. */
export function refusalsIn(text: string): string[] {
  const lines = text.split('\n')
  return lines.every((line) => line.startsWith('config.')) ? lines : [text]
}

type Found = { names: string[]; /** What stands behind them. */ rest: string }

/** The names down to the deepest member that the text goes on with; names may have dots themselves. */
function namesIn(value: unknown, text: string): Found {
  let found: Found = { names: [], rest: text }
  if (typeof value !== 'object' || value === null) return found
  const dotted = Array.isArray(value) ? text.replace(/^\[(\d+)\]/, '.$1') : text
  if (!dotted.startsWith('.')) return found
  // A whole name goes before its part in front of a dot.
  for (const [name, member] of Object.entries(value).toSorted(([a], [b]) => b.length - a.length)) {
    const after = dotted.slice(1 + name.length)
    if (!dotted.startsWith(name, 1) || !ENDS_A_NAME.test(after)) continue
    const below = namesIn(member, after)
    const names = [name, ...below.names]
    if (names.join('.').length > found.names.join('.').length) found = { names, rest: below.rest }
  }
  return found
}

/**
 * A JSON pointer into the config, to the deepest of its members that a text such as `config.fields.day.format has no year: YYYY` names at
 * its beginning, and what the text says of it. Where it names none, or more than there is, that is the whole text.
 */
export function namedMember(config: unknown, text: string): { path: string; message: string } {
  if (!text.startsWith('config.')) return { path: '', message: text }
  const { names, rest } = namesIn(config, text.slice('config'.length))
  // Behind part of a name, as in `config.emit[7]` of a shorter list, the rest says nothing alone.
  const said = names.length > 0 ? /^[:\s]+(.+)/s.exec(rest)?.[1] : undefined
  return { path: pointer(names), message: said ?? text }
}

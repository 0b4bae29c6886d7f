/** Which member of a step's config a SmartModule means when it refuses the config. */
import { pointer } from '../../../shared/model/json-pointer.ts'

/** What may follow a name in a text: the next name, or the rest of the sentence. */
const ENDS_A_NAME = /^(?:$|[.[:,\s])/

/** The names down to the deepest member that the text goes on with; names may have dots themselves. */
function namesIn(value: unknown, text: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  const rest = Array.isArray(value) ? text.replace(/^\[(\d+)\]/, '.$1') : text
  if (!rest.startsWith('.')) return []
  let found: string[] = []
  // A whole name goes before its part in front of a dot.
  for (const [name, member] of Object.entries(value).toSorted(([a], [b]) => b.length - a.length)) {
    const after = rest.slice(1 + name.length)
    if (!rest.startsWith(name, 1) || !ENDS_A_NAME.test(after)) continue
    const names = [name, ...namesIn(member, after)]
    if (names.join('.').length > found.join('.').length) found = names
  }
  return found
}

/**
 * A JSON pointer into the config, to the deepest of its members that a text such as `config.fields.day.format has no year: YYYY` names at
 * its beginning, and what the text says of it; the whole text, with an empty pointer, where it names none.
 */
export function namedMember(config: unknown, text: string): { path: string; message: string } {
  const names = text.startsWith('config.') ? namesIn(config, text.slice('config'.length)) : []
  let rest = text.slice('config'.length)
  for (const name of names) rest = rest.slice(rest.startsWith('[') ? name.length + 2 : name.length + 1)
  const message = rest.replace(/^[:\s]+/, '')
  // Behind part of a name, as in `config.emit[7]` of a shorter list, the rest says nothing alone.
  return names.length > 0 && /^[:\s]/.test(rest) && message !== ''
    ? { path: pointer(names), message }
    : { path: pointer(names), message: text }
}

/** Which fields of a stream the config of a step or sink names: as a name, as the beginning of a path, or within a CEL expression. */
import { turns } from '../../../shared/model/turns.ts'

/** A place in a text at which a field may be named. */
type Place = { text: string; at: number }

/** What stands before a field within an expression: `value.`, `value.?` and `value["`. */
const BEFORE_FIELD = /\bvalue\s*(?:\.\s*\??|\[\s*["'])/g
const LETTERS = /\w*/y

/** All texts and member names of a config. */
function* textsOf(config: unknown): Generator<string | undefined> {
  const open = [config]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string') yield next
    else if (typeof next === 'object' && next !== null) {
      if (!Array.isArray(next)) yield* Object.keys(next)
      // One by one: as arguments of one call, those of a long array exhaust the stack.
      for (const each of Object.values(next)) open.push(each)
    }
    // Also what has no text takes its time.
    yield undefined
  }
}

/** Where the config may name a field: at the beginning of each text, and after `value`. */
function* placesIn(config: unknown): Generator<Place | undefined> {
  for (const text of textsOf(config)) {
    if (text === undefined) {
      yield undefined
      continue
    }
    yield { text, at: 0 }
    for (const { 0: found, index } of text.matchAll(BEFORE_FIELD)) yield { text, at: index + found.length }
  }
}

/** The letters, digits and underscores from there on. */
function lettersAt(text: string, at: number): string {
  LETTERS.lastIndex = at
  return LETTERS.exec(text)![0]
}

/**
 * The fields that the config names in any text or member name; a text that is equal by chance counts too. Accounts write both, so each
 * place is looked at once, however many fields there are, and in short turns.
 */
export async function mentionedFields(config: unknown, fields: readonly string[]): Promise<string[]> {
  // By what can be read at a place: most fields are all letters, and at most one of these is named there.
  const open = Map.groupBy(fields, (field) => lettersAt(field, 0))
  const named = new Set<string>()
  const places = placesIn(config)
  await turns(Infinity, () => {
    const { value: place, done } = places.next()
    if (done) return false
    if (!place) return true
    const { text, at } = place
    const letters = lettersAt(text, at)
    const candidates = open.get(letters)
    if (!candidates) return true
    const left = candidates.filter((field) => {
      const isNamed = text.startsWith(field, at) && lettersAt(text, at + field.length) === ''
      if (isNamed) named.add(field)
      return !isNamed
    })
    if (left.length > 0) open.set(letters, left)
    else open.delete(letters)
    return open.size > 0
  })
  return fields.filter((field) => named.has(field))
}

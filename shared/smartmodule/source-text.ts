/**
 * A source as text: where something is in it, which of the author's functions it exports, and what it exports in their place. The compiler
 * says what is wrong inside; what a source must export is ours to say.
 */
import type { CompileFault } from './compile.ts'

/** What the kinds of functions return: nothing, or whether the record stays. */
const RETURNS = { filter: 'bool', map: 'void', filterMap: 'bool', arrayMap: 'void' } as const

/** The functions of which a source exports one. */
export type Kind = keyof typeof RETURNS
const KINDS = Object.keys(RETURNS) as Kind[]

const IN_PLACE = 'a record is changed in place, for example by record.setText(…) or record.setJson(…)'
/** What is written instead by who returns something else. */
const INSTEAD = {
  filter: 'it returns true for a record that stays',
  map: `${IN_PLACE}, and what is returned is lost`,
  filterMap: `${IN_PLACE}, and true keeps it`,
  arrayMap: 'each output is handed to emit(…) or emitJson(…), and what is returned is lost',
} as const satisfies Record<Kind, string>

/** Line and column, from 1, of an offset in a text. */
export function placeIn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ')
const COMMENT_OR_TEXT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g

/** The source with blanks for its comments and texts: a word is then a word of the language, at its place. */
const bareOf = (source: string): string => source.replaceAll(COMMENT_OR_TEXT, blank)
const withoutComments = (source: string): string =>
  source.replaceAll(COMMENT_OR_TEXT, (each) => (each.startsWith('/') ? blank(each) : each))

/** `own`: the name inside of the source. */
type Exported = { name: string; own: string; at: number }

/** What a source exports, by `export function …` or `export { … as … }`, and where. */
export function exportsOf(source: string): Exported[] {
  const bare = bareOf(source)
  const functions = [...bare.matchAll(/\bexport\s+(?:function|const)\s+(\w+)/g)].map(({ 1: name, index }) => ({
    name: name!,
    own: name!,
    at: index,
  }))
  const listed = [...bare.matchAll(/\bexport\s*\{([^}]*)\}/g)].flatMap(({ 1: list, index }) =>
    list!.split(',').map((each) => {
      const names = each.trim().split(/\s+as\s+/)
      return { name: names.at(-1)!, own: names[0]!, at: index }
    }),
  )
  return [...functions, ...listed]
}

const isOf = (name: string): name is Kind => (KINDS as string[]).includes(name)
const likened = (name: string) => name.replaceAll('_', '').toLowerCase()

/** What a source has in the place of one of the functions; undefined where there is nothing like it. */
function inPlaceOf(source: string): { name: string; at: number; hint: string } | undefined {
  const bare = bareOf(source)
  const other = /\bexport\s+(default|async)\b\s*(?:async\b\s*)?(?:function\b\s*)?(\w*)/.exec(bare)
  if (other) {
    const [, word, name] = other
    const hint = word === 'async' ? 'a function can’t be async' : 'it is exported by its name, without default'
    return { name: `${word} ${name}`.trim(), at: other.index, hint }
  }
  const exported = exportsOf(source).filter(({ name }) => name !== 'init' && name !== 'settings')
  for (const each of exported) {
    const meant = KINDS.find((kind) => likened(kind) === likened(each.name))
    if (meant) return { ...each, hint: `its name is ${meant}` }
  }
  const hidden = [...bare.matchAll(/\bfunction\s+(\w+)/g)].find(([, name]) => isOf(name!))
  if (hidden) return { name: `${hidden[1]} without export`, at: hidden.index, hint: 'write export in front of it' }
  return exported[0] && { ...exported[0], hint: '' }
}

/** The type that a function says to return; undefined where there is no such function. */
function returnTypeOf(bare: string, name: string): string | undefined {
  const from = /^\w+$/.test(name) && new RegExp(`\\bfunction\\s+${name}\\s*\\(`).exec(bare)
  if (!from) return undefined
  let depth = 1
  let at = from.index + from[0].length
  for (; at < bare.length && depth > 0; at++) depth += bare[at] === '(' ? 1 : bare[at] === ')' ? -1 : 0
  return /^\s*:([^{;]*)\{/.exec(bare.slice(at))?.[1]?.trim()
}

/** What can't stand for true or false, as far as it is seen without the compiler: a filter of texts would keep what is not empty. */
const NO_CONDITION = /^(void|string|Record)$|\]$/

/** A function that returns what would be lost: the compiler itself accepts a `map` that returns a text. */
function returnFault(source: string, { name, own, at }: Exported & { name: Kind }): CompileFault | undefined {
  const returned = returnTypeOf(bareOf(source), own)
  const isWrong = returned !== undefined && (RETURNS[name] === 'void' ? returned !== 'void' : NO_CONDITION.test(returned))
  if (!isWrong) return undefined
  return { message: `${name} returns ${RETURNS[name]}, and not ${returned}: ${INSTEAD[name]}`, ...placeIn(source, at) }
}

/** The one of the author's functions that a source exports; or what is wrong with its exports. */
export function authorFunctionOf(source: string): (Exported & { name: Kind }) | CompileFault {
  const found = exportsOf(source).filter(({ name }) => isOf(name))
  const [first, second] = found
  const expected = `a SmartModule exports exactly one of ${KINDS.join(', ')}`
  if (first && second) {
    return { message: `${expected}; found ${found.map(({ name }) => name).join(', ')}`, ...placeIn(source, second.at) }
  }
  if (first && isOf(first.name)) {
    const author = { ...first, name: first.name }
    return returnFault(source, author) ?? author
  }
  const instead = inPlaceOf(source)
  if (!instead) return { message: `${expected}; found none` }
  const { name, at, hint } = instead
  return { message: `${expected}; found ${name}${hint === '' ? '' : `: ${hint}`}`, ...placeIn(source, at) }
}

/** Imports of the SDK's own parts, which change without notice; the compiler itself finds no other files. */
export function importFaults(source: string): CompileFault[] {
  const bare = bareOf(source)
  return (
    [...withoutComments(source).matchAll(/\b(?:from|import)\s*(["'])(dps\/[^"'\n]*)\1/g)]
      // Not inside of a text.
      .filter(({ index }) => bare[index] !== ' ')
      .map(({ 2: path, index }) => ({ message: `only 'dps' may be imported, and not '${path}'`, ...placeIn(source, index) }))
  )
}

/** The compiler's own words about a file or a type, and what they mean for a SmartModule. */
export function explained(message: string): string {
  const path = /^File '(?:~lib\/)?(.*?)(?:\.ts)?' not found\.$/.exec(message)?.[1]
  if (path !== undefined) return `only 'dps' may be imported: '${path}' is not found`
  if (message === 'Type expected.') return 'Type expected: a parameter’s or a result’s stands behind a colon, as in (record: Record): void'
  return message
}

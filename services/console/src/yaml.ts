/** YAML, of which JSON is a part, as `dps` reads it: numbers with all their digits, and nothing that JSON has no value for. */
import { FAILSAFE_SCHEMA, load, Type, YAMLException } from 'js-yaml'
import { NUMBER as NUMBER_OF_JSON, parseAsWritten } from '../../../clients/typescript/src/core/exact-json.ts'

/** Numbers of YAML 1.2 (§10.3.2, the core schema). */
const NUMBER = /^(?:[-+]?(?:\d+|\.\d+|\d+\.\d*)(?:[eE][+-]?\d+)?|0o[0-7]+|0x[\da-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/

function numberOf(text: string): unknown {
  if (NUMBER_OF_JSON.test(text)) return parseAsWritten(text)
  const value = Number(text)
  if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return value
  throw new YAMLException(`${text} is not a number of JSON`)
}

/** A scalar without a tag that matches is of this kind. */
const scalar = (name: string, pattern: RegExp, construct: (text: string) => unknown) =>
  new Type(`tag:yaml.org,2002:${name}`, {
    kind: 'scalar',
    // What is left empty comes as null.
    resolve: (text: string | null) => pattern.test(text ?? ''),
    construct,
  })

const SCHEMA = FAILSAFE_SCHEMA.extend({
  implicit: [
    scalar('null', /^(?:~|null|Null|NULL)?$/, () => null),
    scalar('bool', /^(?:true|True|TRUE|false|False|FALSE)$/, (text) => /^t/i.test(text)),
    scalar('float', NUMBER, numberOf),
    scalar('merge', /^<<$/, (text) => text),
  ],
})

/** Whether an alias leads to a value around it, which no JSON could hold. `open`: what this value is in; `done`: what was looked at. */
function holdsItself(value: unknown, open = new Set<unknown>(), done = new Set<unknown>()): boolean {
  if (typeof value !== 'object' || value === null || done.has(value)) return false
  if (open.has(value)) return true
  open.add(value)
  const isFound = Object.values(value).some((each) => holdsItself(each, open, done))
  open.delete(value)
  done.add(value)
  return isFound
}

/** Throws an Error that says where the text is no YAML. */
export function parseYaml(text: string): unknown {
  try {
    const value = load(text, { schema: SCHEMA })
    if (holdsItself(value)) throw new Error('An alias (*name) stands within what it means.')
    return value
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const { mark, reason } = error
    throw new Error(mark ? `line ${mark.line + 1}, column ${mark.column + 1}: ${reason}` : error.message, { cause: error })
  }
}

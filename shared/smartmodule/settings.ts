/**
 * Typed settings of a source: the exported class `Settings` says what config a step takes. Its fields become the JSON Schema that configs
 * are checked against, and the statements that fill `settings` before the module's own `init`.
 */
import { reasonOf } from '../errors/reason-of.ts'
import type { CompileFault } from './compile.ts'
import { placeIn } from './source-text.ts'

/** A config is parsed by JavaScript, which would make other numbers of larger ones on their way to the module. */
const WHOLE = { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER } as const

/** How a field's type is written in JSON Schema, and read by `Config`. */
const TYPES = {
  string: { schema: { type: 'string' }, read: 'text' },
  bool: { schema: { type: 'boolean' }, read: 'bool' },
  f64: { schema: { type: 'number' }, read: 'number' },
  i64: { schema: WHOLE, read: 'integer' },
  i32: { schema: { type: 'integer', minimum: -2_147_483_648, maximum: 2_147_483_647 }, read: 'integer', as: 'i32' },
  u32: { schema: { type: 'integer', minimum: 0, maximum: 4_294_967_295 }, read: 'integer', as: 'u32' },
  'string[]': { schema: { type: 'array', items: { type: 'string' } }, read: 'texts' },
  'f64[]': { schema: { type: 'array', items: { type: 'number' } }, read: 'numbers' },
  'i64[]': { schema: { type: 'array', items: WHOLE }, read: 'integers' },
} as const satisfies Record<string, { schema: Schema; read: string; as?: string }>

type Schema = Record<string, unknown>
/** A source's settings: the JSON Schema of a config, and the statements that assign one. */
export type Settings = { parameters: Schema; statements: string }

/** What is used of AssemblyScript's compiler, whose own types have const enums that can't be imported. */
type Compiler = {
  CommonFlags: Record<'Export' | 'Static' | 'Private' | 'Constructor', number>
  NodeKind: Record<'ClassDeclaration' | 'Variable', number>
  newOptions(): unknown
  newProgram(options: unknown): { sources: { normalizedPath: string; statements: Statement[] }[] }
  parse(program: unknown, text: string, path: string, isEntry: boolean): void
}
type Range = { start: number; end: number }
type Member = {
  name?: { text: string }
  type?: { range: Range } | null
  initializer?: { range: Range } | null
  range: Range
  flags: number
}
type Statement = {
  kind: number
  name?: { text: string }
  flags?: number
  members?: Member[]
  declarations?: { name: { text: string }; flags: number }[]
  range: Range
}

/** Tags that say something to the schema; any other word behind an @ belongs to the text that it stands in. */
const TAG = /(?:^|\s)(?=@(?:minimum|maximum|minLength|maxLength|minItems|maxItems|pattern|enum)\s)/

const NUMBER_TAGS = new Set(['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'])

/** What a doc block says: its text, and the tags that are words of JSON Schema. */
function documented(block: string): Schema {
  const lines = block
    .replaceAll(/^\/\*\*|\*\/$/g, '')
    .split('\n')
    // A tag may stand behind the text on one line, as in a block of one line.
    .flatMap((line) => line.replace(/^\s*\*?/, '').split(TAG))
    .map((line) => line.trim())
  const schema: Schema = {}
  const text = lines.filter((line) => line !== '' && !line.startsWith('@')).join(' ')
  if (text !== '') schema.description = text
  for (const line of lines) {
    const [, tag = '', value = ''] = /^@(\w+)\s+(.*)$/.exec(line) ?? []
    if (NUMBER_TAGS.has(tag) && Number.isFinite(Number(value))) schema[tag] = Number(value)
    if (tag === 'pattern') schema.pattern = value
    if (tag === 'enum') schema.enum = value.split(',').map((each) => each.trim())
  }
  return schema
}

/** What a doc block says of a list itself; its other tags say something of each item. */
const OF_LISTS = new Set(['description', 'minItems', 'maxItems'])

/** The schema of a field's type with what its doc block says. Throws an Error for what no value of the type can be. */
function within(type: Schema, said: Schema): Schema {
  if (!type.items) return bounded(type, said)
  const [own, ofItems] = [true, false].map((isOwn) =>
    Object.fromEntries(Object.entries(said).filter(([tag]) => OF_LISTS.has(tag) === isOwn)),
  )
  return { ...type, ...own, items: bounded(type.items as Schema, ofItems!) }
}

/** The type of a value, whose bounds what is said can't widen. */
function bounded(type: Schema, said: Schema): Schema {
  const both: Schema = { ...type, ...said }
  if (Array.isArray(said.enum)) both.enum = said.enum.map((text: string) => valueOf(type, text))
  if (typeof type.minimum === 'number' && typeof said.minimum === 'number') both.minimum = Math.max(type.minimum, said.minimum)
  if (typeof type.maximum === 'number' && typeof said.maximum === 'number') both.maximum = Math.min(type.maximum, said.maximum)
  return both
}

/** The value that a text in the doc block stands for. Throws an Error where the type has none such. */
function valueOf({ type, minimum = -Infinity, maximum = Infinity }: Schema, text: string): unknown {
  if (type === 'string') return text
  const value = literal(text)
  const isNumber = typeof value === 'number' && value >= Number(minimum) && value <= Number(maximum)
  const isIt = type === 'boolean' ? typeof value === 'boolean' : isNumber && (type !== 'integer' || Number.isInteger(value))
  if (!isIt) throw new Error(`@enum: ${text} is no ${String(type)} that the field can have`)
  return value
}

/** The value of an initializer that is a literal; undefined for any other, and for numbers that JSON would not keep. */
function literal(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text.replaceAll(/'((?:[^'\\]|\\.)*)'/g, (_, inner: string) => JSON.stringify(inner)))
    const isKept = (each: unknown): boolean => typeof each !== 'number' || !Number.isInteger(each) || Number.isSafeInteger(each)
    return (Array.isArray(value) ? value : [value]).every(isKept) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * The settings of a source; undefined if it has none, or does not parse (the compiler then says why). `faults` are why the class can't be a
 * config.
 */
export async function settingsOf(source: string): Promise<Settings | { faults: CompileFault[] } | undefined> {
  if (!/\bclass\s+Settings\b/.test(source)) return undefined
  const compiler: unknown = await import('assemblyscript')
  const { CommonFlags, NodeKind, newOptions, newProgram, parse } = compiler as Compiler
  const program = newProgram(newOptions())
  parse(program, source, 'module.ts', true)
  const statements = program.sources.find(({ normalizedPath }) => normalizedPath === 'module.ts')?.statements ?? []
  const isExported = ({ flags = 0 }: { flags?: number }) => (flags & CommonFlags.Export) !== 0
  const found = statements.find((each) => each.kind === NodeKind.ClassDeclaration && each.name?.text === 'Settings' && isExported(each))
  if (!found) return undefined

  const faults: CompileFault[] = []
  const fault = ({ start }: Range, message: string) => {
    faults.push({ message, ...placeIn(source, start) })
  }
  const constants = statements.filter(({ kind }) => kind === NodeKind.Variable).flatMap(({ declarations = [] }) => declarations)
  if (!constants.some((each) => each.name.text === 'settings' && isExported(each)))
    fault(found.range, 'a class Settings needs `export const settings = new Settings()` beside it')

  const properties: Record<string, Schema> = {}
  const required: string[] = []
  const lines: string[] = []
  let from = found.range.start
  for (const member of found.members ?? []) {
    const { name, type, initializer, range, flags } = member
    const before = source.slice(from, range.start)
    from = range.end
    if ((flags & (CommonFlags.Static | CommonFlags.Private | CommonFlags.Constructor)) !== 0 || !name) continue
    const written = type ? source.slice(type.range.start, type.range.end).replaceAll(/\s/g, '') : ''
    if (!Object.hasOwn(TYPES, written)) {
      fault(range, `the type of ${name.text} must be one of ${Object.keys(TYPES).join(', ')}`)
      continue
    }
    const { schema, read, as } = TYPES[written as keyof typeof TYPES] as { schema: Schema; read: string; as?: string }
    const block = /\/\*\*[\s\S]*?\*\/\s*$/.exec(before)?.[0].trim()
    const initial = initializer ? literal(source.slice(initializer.range.start, initializer.range.end)) : undefined
    try {
      const own = within(schema, block ? documented(block) : {})
      properties[name.text] = { ...own, ...(initial === undefined ? {} : { default: initial }) }
    } catch (error) {
      fault(range, `${name.text}: ${reasonOf(error)}`)
    }
    if (!initializer) required.push(name.text)
    const cast = as ? ` as ${as}` : ''
    const value = initializer
      ? `config.${read}Or('${name.text}', author.settings.${name.text})${cast}`
      : `config.${read}('${name.text}')${cast}`
    lines.push(`author.settings.${name.text} = ${value}`)
  }
  if (faults.length > 0) return { faults }
  const parameters = { type: 'object', properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false }
  return { parameters, statements: lines.join('\n  ') }
}

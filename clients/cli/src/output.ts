/** What a command prints: a table for people, or JSON, YAML or lines of JSON for programs. */
import { isAlias, isMap, isNode, isSeq, LineCounter, parseDocument, stringify, visit, type ParsedNode, type ScalarTag } from 'yaml'
import { ExactNumber, parseAsWritten, writeJson } from '../../typescript/src/index.ts'
import { namesIn } from './json-pointers.ts'

export const FORMATS = ['table', 'json', 'yaml', 'ndjson'] as const
export type Format = (typeof FORMATS)[number]
/** Columns of a table: the title, and what stands there. */
export type Columns<T> = Record<string, (item: T) => unknown>

export type Output = {
  format: Format
  /** One thing. As a table, its members below each other. */
  one(value: object): void
  /** Several things. In place of an empty table, `none` is said. */
  many<T extends object>(items: readonly T[], columns: Columns<T>, none?: string): void
  /** One of a stream of things, as it comes: a line, or a document of YAML. */
  next<T extends object>(item: T, line: (item: T) => string): void
  /** What was done: the text for people, the value for programs. */
  done(value: object, text: string): void
  /** Said to people, beside what is printed. */
  note(text: string): void
}

/** Numbers of YAML that JavaScript would change, by their text where JSON has the same. */
const EXACT: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  test: /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/,
  identify: (value) => value instanceof ExactNumber,
  resolve: parseAsWritten,
  stringify: ({ value }) => String(value),
}

/** As YAML, numbers with all their digits. */
export const toYaml = (value: unknown): string => stringify(value, { customTags: (tags) => [...tags, EXACT], lineWidth: 0 })

/** A document of YAML. `placeOf`: line and column, from 1, of the member at a JSON pointer, or of the innermost one around it. */
export type OpenYaml = { value: unknown; placeOf(pointer: string): { line: number; column: number } }

/**
 * A document of YAML, of which JSON is a part; numbers as `parseAsWritten` has them. Throws an Error that names the line of what is no
 * YAML, and of what has no such value: tags that are not known here, numbers that lose digits, aliases within what they mean.
 */
export function openYaml(text: string): OpenYaml {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, {
    prettyErrors: true,
    merge: true,
    // With them, !!binary would be a Buffer.
    resolveKnownTags: false,
    customTags: (tags) => [EXACT, ...tags],
    lineCounter,
  })
  const lineOf = (range: readonly number[] | null | undefined): number => lineCounter.linePos(range?.[0] ?? 0).line
  const [wrong] = [...document.errors, ...document.warnings]
  if (wrong?.code === 'MULTIPLE_DOCS') throw new Error('it has several documents (---), where one is needed')
  if (wrong) throw wrong
  visit(document, {
    Scalar(_key, { value, source = '', range }) {
      if (typeof value !== 'number' || EXACT.test?.test(source)) return
      if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return
      throw new Error(`line ${lineOf(range)}: ${source} is not a number of JSON`)
    },
  })
  visit(document, {
    Alias(_key, alias, path) {
      const meant = alias.resolve(document)
      if (meant === undefined) throw new Error(`line ${lineOf(alias.range)}: there is no &${alias.source} before *${alias.source}`)
      if (path.some((each) => each === meant))
        throw new Error(`line ${lineOf(alias.range)}: *${alias.source} stands within &${alias.source}`)
    },
  })
  return {
    value: document.toJS(),
    placeOf(pointer) {
      let node: unknown = document.contents
      let offset = document.contents?.range[0] ?? 0
      for (const name of namesIn(pointer)) {
        if (isAlias(node)) node = node.resolve(document)
        const pair = isMap(node) ? node.items.find(({ key }) => String(isNode(key) ? key.toJSON() : key) === name) : undefined
        const inside: unknown = isSeq(node) ? node.items[Number(name)] : pair?.value
        if (pair === undefined && inside === undefined) break
        const shown = pair && (isMap(inside) || isSeq(inside) || inside === null) ? pair.key : inside
        offset = (shown as ParsedNode | undefined)?.range?.[0] ?? offset
        node = inside
      }
      const { line, col } = lineCounter.linePos(offset)
      return { line, column: col }
    },
  }
}

/** The value of a document of YAML. Throws like `openYaml`. */
export const fromYaml = (text: string): unknown => openYaml(text).value

const CONTROLS = /[\p{Cc}\u2028\u2029]/gu

/** As JSON escapes it; JSON.stringify leaves those from U+007F on as they are. */
const escaped = (control: string): string =>
  control < ' ' ? JSON.stringify(control).slice(1, -1) : `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`

/** What a SmartModule or a record says must not steer the terminal. */
export const plain = (text: string): string => text.replaceAll(CONTROLS, escaped)

/** JSON of several lines, whose own line ends stay. JSON writes those below U+0020 as escapes, and no others. */
const safe = (json: string): string => json.replaceAll(/[\u007f-\u009f\u2028\u2029]/g, escaped)

const cell = (value: unknown): string => {
  if (value === null || value === undefined) return '-'
  return plain(typeof value === 'object' ? writeJson(value) : String(value))
}

function tableOf<T>(items: readonly T[], columns: Columns<T>): string {
  const titles = Object.keys(columns).map((title) => title.toUpperCase())
  const rows = [titles, ...items.map((item) => Object.values(columns).map((of) => cell(of(item))))]
  const widths = titles.map((_, column) => rows.reduce((most, row) => Math.max(most, row[column]!.length), 0))
  return rows
    .map((row) =>
      row
        .map((each, column) => each.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A cell that is longer is shown as YAML below its name, if it has parts. */
const CELL_MAX = 60

const isShort = (value: unknown): boolean =>
  cell(value).length <= CELL_MAX && (typeof value !== 'object' || value === null || value instanceof ExactNumber)

/** Things that a table can show: all their members are short. */
const isTabular = (value: unknown): value is Record<string, unknown>[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((each) => typeof each === 'object' && each !== null && Object.values(each).length > 0 && Object.values(each).every(isShort))

/** A column for each member that one of the things has. */
const columnsOf = (items: readonly Record<string, unknown>[]): Columns<Record<string, unknown>> =>
  Object.fromEntries(items.flatMap(Object.keys).map((name) => [name, (item) => item[name]]))

/** The members of one thing below each other. Its id is shown once, where the service names it `job_id` too. */
function membersOf(value: object): string {
  const members = Object.entries(value)
  const id = (value as { id?: unknown }).id
  const once = members.filter(([name, each]) => !(name.endsWith('_id') && each === id))
  const width = once.reduce((most, [name]) => Math.max(most, name.length), 0)
  return once
    .map(([name, each]) => {
      const text = cell(each)
      if (typeof each !== 'object' || text.length <= CELL_MAX) return `${name.padEnd(width)}  ${text}`.trimEnd()
      const below = isTabular(each) ? tableOf(each, columnsOf(each)).split('\n') : toYaml(each).trimEnd().split('\n').map(plain)
      return [name, ...below.map((line) => `  ${line}`)].join('\n')
    })
    .join('\n')
}

export function createOutput(format: Format, write: (text: string) => void, note: (text: string) => void): Output {
  const line = (text: string) => write(`${text}\n`)
  function next<T extends object>(item: T, text: (item: T) => string): void {
    if (format === 'yaml') write(`---\n${toYaml(item)}`)
    else line(format === 'table' ? plain(text(item)) : safe(writeJson(item)))
  }
  return {
    format,
    note,
    one(value) {
      if (format === 'json') line(safe(writeJson(value, 2)))
      else if (format === 'yaml') write(toYaml(value))
      else if (format === 'ndjson') line(safe(writeJson(value)))
      else line(membersOf(value))
    },
    many(items, columns, none) {
      if (format === 'json') line(safe(writeJson(items, 2)))
      else if (format === 'yaml') write(toYaml(items))
      else if (format === 'ndjson') for (const item of items) line(safe(writeJson(item)))
      else if (items.length === 0 && none !== undefined) note(none)
      else line(tableOf(items, columns))
    },
    next,
    done(value, text) {
      if (format === 'table') note(text)
      else next(value, () => text)
    },
  }
}

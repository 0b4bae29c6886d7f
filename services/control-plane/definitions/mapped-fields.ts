/** How `dps/map-fields` changes the types of members: exact where they follow from the config, `any` where records may differ. */
import { bare, isOptional } from '../../../shared/model/stream-schema.ts'

type Fields = Record<string, string>
type Config = Record<string, unknown>

const optional = (type: string): string => (type === 'any' || isOptional(type) ? type : `${type}?`)

const namesIn = (list: unknown): Set<string> => new Set(Array.isArray(list) ? list.map(String) : [])
const entriesOf = (object: unknown): [string, unknown][] => (typeof object === 'object' && object !== null ? Object.entries(object) : [])

/** The type of what `set` writes. */
function typeOf(value: unknown): string {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number'
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? 'object' : 'any'
}

/** Types whose texts change meaning with case; after upper- or lower-casing they are plain strings. */
const HAVE_CASE = new Set(['datetime', 'bytes'])

/** The type of a member that has its own value (`own`) in records that lack those renamed to it. */
function merged(own: string | undefined, renamed: readonly string[]): string {
  const [first] = renamed
  if (first === undefined) return own ?? 'any'
  // Records with both have the name twice.
  if (renamed.length > 1) return 'any'
  if (!isOptional(first) || own === undefined) return first
  return bare(first) === bare(own) ? first : 'any'
}

/** The types behind a step with this config. A path with a dot means the member of the whole name where there is one, else a nested one. */
export function mappedFields(fields: Fields, config: Config): Fields {
  const [drop, upper, lower] = [namesIn(config.drop), namesIn(config.uppercase), namesIn(config.lowercase)]
  const rename = new Map(entriesOf(config.rename).map(([from, to]) => [from, String(to)]))
  const set = new Map(entriesOf(config.set))
  const kept = new Map<string, string>()
  const renamed = new Map<string, string[]>()
  /** Members that give way to another one, which is itself dropped in records that have it. */
  const lost = new Set<string>()
  for (const [name, type] of Object.entries(fields)) {
    const cased = (upper.has(name) || lower.has(name)) && HAVE_CASE.has(bare(type)) ? `string${isOptional(type) ? '?' : ''}` : type
    const to = rename.get(name)
    if (drop.has(name)) {
      if (to !== undefined) lost.add(to)
    } else if (to === undefined) {
      if (!set.has(name)) kept.set(name, cased)
    } else {
      const known = renamed.get(to)
      if (known) known.push(cased)
      else renamed.set(to, [cased])
    }
  }
  const after = new Map<string, string>()
  for (const name of [...Object.keys(fields), ...renamed.keys()]) {
    if (!kept.has(name) && !renamed.has(name)) continue
    const type = merged(kept.get(name), renamed.get(name) ?? [])
    after.set(name, lost.has(name) ? optional(type) : type)
  }
  const targets = new Set(rename.values())
  for (const [path, value] of set) {
    const isWhole = Object.hasOwn(fields, path)
    const isSure = !path.includes('.') || (isWhole && !isOptional(fields[path]!) && fields[path] !== 'any')
    if (isSure) after.set(path, typeOf(value))
    // Whether records have a member of that name, or one is renamed to it, decides which of the two is set.
    else if (isWhole || targets.has(path)) after.set(path, 'any')
    if (isSure) continue
    const top = path.slice(0, path.indexOf('.'))
    if (set.has(top)) continue
    const type = withObject(after.get(top))
    after.set(top, (isWhole || targets.has(path)) && !after.has(top) ? optional(type) : type)
  }
  return Object.fromEntries(after)
}

/** The type of a member in which something is set, and which is made where it is missing; what is no object stays. */
function withObject(type: string | undefined): string {
  if (type === undefined) return 'object'
  return bare(type) === 'object' || !isOptional(type) ? type : 'any'
}

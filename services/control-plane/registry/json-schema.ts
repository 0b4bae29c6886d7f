/** Compiles JSON Schemas of every draft that Ajv knows, with the schemas they refer to. */
import { createHash } from 'node:crypto'
import Ajv, { type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import type { SchemaText } from '../../../shared/model/schema-text.ts'
import { runBounded, TookTooLong } from '../concurrency/bounded-work.ts'
import { openLruCache } from '../caches/lru-cache.ts'
import { ServiceError } from '../service-error.ts'

/** `\-`, for example, is an error in a Unicode pattern only, and what the drafts up to 7 mean is a pattern without that flag. */
const patternOf = (pattern: string, flags: string): RegExp => {
  try {
    return new RegExp(pattern, flags)
  } catch {
    return new RegExp(pattern)
  }
}
const OPTIONS = {
  strict: false,
  strictNumbers: true,
  ownProperties: true,
  code: { regExp: Object.assign(patternOf, { code: 'new RegExp' }) },
} as const

/** What a validator says of a value: its first fault, or every one, which takes time that grows with the square of their number. */
export type Faults = 'first' | 'all'

/** A thousand fields take about a tenth of it. */
const COMPILE_MS_MAX = 2000
const REMEMBERED_MS = 10 * 60_000
/** When schemas have taken too long, by the hash of their text: each holds the main thread once in a while. */
const refusedAt = openLruCache<string, number>(1000)
/** What came of compiling schemas, by the hash of their text: why one can't be used, or nothing. A schema's text decides it for ever. */
const faultOf = openLruCache<string, { fault: string | undefined }>(1000)
const FAULT_CHARACTERS_MAX = 1000

const keyOf = (schema: SchemaText): string => createHash('sha256').update(JSON.stringify(schema)).digest('base64')

/**
 * Returns the validator of a schema that an account may have written. Throws TookTooLong when it takes over two seconds to compile, and
 * what `openJsonSchema` throws.
 */
export function openForeignJsonSchema(schema: SchemaText, faults: Faults = 'first'): ValidateFunction {
  const key = keyOf(schema)
  if (performance.now() - (refusedAt.get(key) ?? -Infinity) < REMEMBERED_MS)
    throw new TookTooLong(`it takes more than ${COMPILE_MS_MAX} ms to compile`)
  try {
    return runBounded(() => openJsonSchema(schema, faults), COMPILE_MS_MAX)
  } catch (error) {
    if (!(error instanceof TookTooLong)) throw error
    refusedAt.set(key, performance.now())
    throw new TookTooLong(`it takes more than ${COMPILE_MS_MAX} ms to compile`)
  }
}

/**
 * Whether the schema can be used, without a validator: compiled only once while the process runs, as every check of a stream's schema asks
 * it. Throws as `openForeignJsonSchema`.
 */
export function assertForeignJsonSchema(schema: SchemaText): void {
  const key = keyOf(schema)
  let found = faultOf.get(key)
  if (!found) {
    found = { fault: faultIn(schema) }
    faultOf.set(key, found)
  }
  if (found.fault !== undefined) throw new Error(found.fault)
}

function faultIn(schema: SchemaText): string | undefined {
  try {
    openForeignJsonSchema(schema)
    return undefined
  } catch (error) {
    // How long it takes, and whether there is time for it, depends on what else the machine does: such a one is tried again.
    if (error instanceof TookTooLong || error instanceof ServiceError) throw error
    return reasonOf(error).slice(0, FAULT_CHARACTERS_MAX)
  }
}

/**
 * Returns the validator of a schema. Finds other schemas by their own id, or by the reference's name. Throws an Error that says why the
 * schema can't be used.
 */
export function openJsonSchema({ text, references }: SchemaText, faults: Faults): ValidateFunction {
  const root = asDraft7(parsed(text))
  const draft = String(root.$schema ?? '')
  const hasReferences = text.includes('"$ref"')
  // Inlined, the code of a shared type would be repeated at each place; a schema with references of its own is left as it is.
  const options = { ...OPTIONS, allErrors: faults === 'all', inlineRefs: hasReferences }
  const ajv = draft.includes('2020-12') ? new Ajv2020(options) : draft.includes('2019-09') ? new Ajv2019(options) : new Ajv.Ajv(options)
  addFormats.default(ajv)
  for (const { name, text: referred } of references) {
    const document = asDraft7(parsed(referred))
    ajv.addSchema(document, name)
    const resolved = resolvedName(name, root.$id)
    if (resolved !== undefined && resolved !== root.$id && !(resolved in ajv.schemas) && !(resolved in ajv.refs))
      ajv.addSchema(document, resolved)
  }
  return ajv.compile(hasReferences ? root : withSharedTypes(root))
}

/** What a reference of this name is to a schema with this id, which relative references are resolved against (RFC 3986, section 5). */
const resolvedName = (name: string, id: unknown): string | undefined =>
  typeof id === 'string' && URL.canParse(name, id) ? new URL(name, id).href : undefined

function parsed(text: string): Record<string, unknown> {
  const schema: unknown = JSON.parse(text)
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw new Error('it is not a JSON object')
  return schema as Record<string, unknown>
}

/**
 * Removes `$schema` of drafts 4 to 7, however it is written, so that they are read as draft 7. Drafts 4 and 6 are subsets of it, except for
 * draft 4's exclusive bounds and its `id`.
 */
function asDraft7(schema: Record<string, unknown>): Record<string, unknown> {
  const { $schema, ...rest } = schema
  const [, draft] = /draft-0([467])/.exec(String($schema)) ?? []
  if (draft === undefined) return schema
  const { id, ...more } = rest
  return draft === '4' && typeof id === 'string' ? { $id: id, ...more } : rest
}

/** An object of a schema's document. */
type Node = Record<string, unknown>
export const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Keywords that mean the same in any place of a schema. */
const PLAIN = new Set('type format pattern minimum maximum minLength maxLength contentEncoding title description items'.split(' '))
const DEPTH_MAX = 32
const isPlain = (node: unknown, depth = 0): node is Node =>
  isNode(node) &&
  depth < DEPTH_MAX &&
  Object.entries(node).every(([keyword, value]) => PLAIN.has(keyword) && (keyword !== 'items' || isPlain(value, depth + 1)))

/**
 * The schema with each plain type of its properties there once and referred to: the code would grow with the number of fields times their
 * depth, and Ajv takes 1.6 s on the main thread for 1,000 fields of eight arrays each.
 */
function withSharedTypes(root: Node): Node {
  if (!isNode(root.properties) || root.definitions !== undefined) return root
  const definitions: Node = {}
  const names = new Map<string, string>()
  const referredBy = (node: Node): { $ref: string } => {
    const key = JSON.stringify(node)
    let name = names.get(key)
    if (name === undefined) {
      names.set(key, (name = `t${names.size}`))
      definitions[name] = isNode(node.items) ? { ...node, items: referredBy(node.items) } : node
    }
    return { $ref: `#/definitions/${name}` }
  }
  const properties = Object.entries(root.properties).map(([name, node]) => [name, isPlain(node) ? referredBy(node) : node])
  return { ...root, properties: Object.fromEntries(properties), definitions }
}

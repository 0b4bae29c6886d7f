/** Reads a module's sections (core specification §5.5) into the few facts that the inspection needs; refuses what is out of bounds. */
import { SMARTMODULE_LIMITS } from '../../../shared/smartmodule/abi.ts'
import { assertValueType, CODE_LIMITS, CONSTANT, walkExpression, type CodeContext } from './wasm-code.ts'
import type { Arity } from './wasm-stack.ts'
import { InspectionError, readerOf, shownName, type Reader } from './wasm-reader.ts'

export type Limits = { minimum: number; maximum: number }
export type ModuleShape = {
  imports: { module: string; name: string; kind: string }[]
  /** By name; `signature`: of a function, as `i32 → i32`, or the type of a global. */
  exports: Map<string, { kind: string; signature?: string }>
  memory: Limits
  tables: (Limits & { type: number })[]
  /** Where each section is, its header included. */
  places: { id: number; start: number; end: number }[]
}

/** How many of each a module may have: far more than compilers make, and few enough that none costs more than some megabytes. */
export const COUNTS_MAX = {
  types: 10_000,
  imports: 1000,
  functions: 100_000,
  tables: 16,
  globals: 20_000,
  exports: 20_000,
  elements: 20_000,
  element_items: 1_000_000,
  data: 100_000,
  values: 100,
  body_bytes: 2 << 20,
} as const

const KINDS = ['function', 'table', 'memory', 'global'] as const
const TYPE_NAMES: Record<number, string> = {
  0x7f: 'i32',
  0x7e: 'i64',
  0x7d: 'f32',
  0x7c: 'f64',
  0x7b: 'v128',
  0x70: 'funcref',
  0x6f: 'externref',
}
/** In this order, each at most once; custom sections (0) may stand anywhere. DataCount (12) stands before the code (§5.5.16). */
const ORDER = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11]

type Working = ModuleShape & {
  types: string[]
  arities: Arity[]
  functions: number[]
  globals: string[]
  memories: Limits[]
  merges: number
  bodies: number
}

export function readSections(binary: Uint8Array): ModuleShape {
  const shape: Working = {
    imports: [],
    exports: new Map(),
    memory: { minimum: 0, maximum: 0 },
    tables: [],
    places: [],
    types: [],
    arities: [],
    functions: [],
    globals: [],
    memories: [],
    merges: 0,
    bodies: 0,
  }
  const reader = readerOf(binary, 8, binary.length)
  let last = -1
  while (!reader.isAtEnd()) {
    const start = reader.at()
    const id = reader.byte()
    const section = reader.part(reader.u32())
    shape.places.push({ id, start, end: reader.at() })
    if (id === 0) {
      section.name()
      continue
    }
    const order = ORDER.indexOf(id)
    if (id === 13) throw new InspectionError('the module uses exceptions, which is not supported')
    if (order < 0) throw new InspectionError(`the module has an unknown section (${id})`)
    if (order <= last) throw new InspectionError('the binary has sections twice or out of order')
    last = order
    READ[id]!(section, shape)
    section.assertAtEnd()
  }
  if (shape.functions.length - importedFunctions(shape) !== shape.bodies)
    throw new InspectionError('the binary declares another number of functions than it has')
  const [memory] = shape.memories
  if (!memory) throw new InspectionError('the module has no memory of its own')
  return { ...shape, memory }
}

const importedFunctions = ({ imports }: Working): number => imports.length

function valueTypes(reader: Reader): string[] {
  const names: string[] = []
  for (let count = reader.count('parameters or results of one function type', COUNTS_MAX.values); count > 0; count--) {
    const type = reader.byte()
    assertValueType(type)
    names.push(TYPE_NAMES[type]!)
  }
  return names
}

function limits(reader: Reader, what: 'memory' | 'table'): Limits {
  const flags = reader.byte()
  if ((flags & 2) !== 0) throw new InspectionError(`the module declares a shared ${what}, which is not supported`)
  if (flags > 1) throw new InspectionError(`the module declares a 64-bit or otherwise unsupported ${what}`)
  const minimum = reader.u32()
  const maximum = flags === 1 ? reader.u32() : Number.POSITIVE_INFINITY
  if (maximum < minimum) throw new InspectionError(`the module declares a ${what} whose maximum is below its minimum`)
  return { minimum, maximum }
}

function table(reader: Reader): Limits & { type: number } {
  const type = reader.byte()
  if (type !== 0x70 && type !== 0x6f) throw new InspectionError('the module declares a table of a type that is not supported')
  const found = limits(reader, 'table')
  const most = SMARTMODULE_LIMITS.table_elements_max
  if (found.minimum > most) throw new InspectionError(`the module needs a table of ${found.minimum} elements; at most ${most} are allowed`)
  return { type, ...found }
}

function each(reader: Reader, what: string, most: number, read: () => void): void {
  for (let count = reader.count(what, most); count > 0; count--) read()
}

function typeIndex(reader: Reader, { types }: Working): number {
  const index = reader.u32()
  if (index >= types.length) throw new InspectionError('the binary names a type that it does not have')
  return index
}

const functionOf = ({ arities, functions }: Working, index: number): Arity | undefined => arities[functions[index] ?? -1]

const indices = (reader: Reader): void => each(reader, 'elements of tables', COUNTS_MAX.element_items, reader.u32)
const expressions = (reader: Reader): void =>
  each(reader, 'elements of tables', COUNTS_MAX.element_items, () => void walkExpression(reader, CONSTANT))

/** An element segment (§5.5.12): bit 0 passive or declarative, bit 1 a table index or declarative, bit 2 expressions. */
function element(reader: Reader): void {
  const flags = reader.u32()
  if (flags > 7) throw new InspectionError('the binary has an element segment of an unknown kind')
  if ((flags & 1) === 0) {
    if ((flags & 2) !== 0) reader.u32()
    walkExpression(reader, CONSTANT)
  }
  if ((flags & 3) !== 0) reader.byte()
  if ((flags & 4) !== 0) expressions(reader)
  else indices(reader)
}

function body(reader: Reader, shape: Working): void {
  const bytes = reader.u32()
  if (bytes > COUNTS_MAX.body_bytes)
    throw new InspectionError(`a function has ${bytes} bytes; at most ${COUNTS_MAX.body_bytes} are allowed`)
  const code = reader.part(bytes)
  let locals = 0
  each(code, 'groups of locals in one function', CODE_LIMITS.locals_max, () => {
    locals += code.u32()
    assertValueType(code.byte())
  })
  if (locals > CODE_LIMITS.locals_max)
    throw new InspectionError(`a function has ${locals} locals; at most ${CODE_LIMITS.locals_max} are allowed`)
  const own = functionOf(shape, importedFunctions(shape) + shape.bodies)
  const context: CodeContext = {
    locals: locals + (own?.parameters ?? 0),
    typeOf: (index) => shape.arities[index],
    functionOf: (index) => functionOf(shape, index),
  }
  const merges = walkExpression(code, context)
  code.assertAtEnd()
  shape.bodies++
  shape.merges += merges
  if (merges > CODE_LIMITS.merges_max || shape.merges > CODE_LIMITS.merges_all_max)
    throw new InspectionError(
      `a function with ${locals} locals has too many blocks and branches with too many operands: compiling it would take too much memory`,
    )
}

/** By section id. */
const READ: Record<number, (reader: Reader, shape: Working) => void> = {
  1: (reader, { types, arities }) =>
    each(reader, 'types', COUNTS_MAX.types, () => {
      const form = reader.byte()
      if (form !== 0x60) throw new InspectionError('the module declares types of garbage collection, which is not supported')
      const [parameters, results] = [valueTypes(reader), valueTypes(reader)]
      types.push(`${parameters.join(' ')} → ${results.join(' ')}`)
      arities.push({ parameters: parameters.length, results: results.length })
    }),
  2: (reader, shape) =>
    each(reader, 'imports', COUNTS_MAX.imports, () => {
      const [module, name] = [reader.name(), reader.name()]
      const kind = KINDS[reader.byte()]
      if (kind === 'function') {
        const type = typeIndex(reader, shape)
        // The host's functions take and give numbers, at most one of them back; V8 would only find out when they are called.
        if (shape.arities[type]!.results > 1 || /ref|v128/.test(shape.types[type]!))
          throw new InspectionError(
            `the module imports ${shownName(module)}.${shownName(name)} as a function of another type than the host's`,
          )
        shape.functions.push(type)
      } else if (kind === undefined) throw new InspectionError('the module imports something of an unknown kind')
      // An import of any other kind is refused, so what it says is not read.
      else throw new InspectionError(`the module imports ${shownName(module)}.${shownName(name)} (${kind}), which is not allowed`)
      shape.imports.push({ module, name, kind })
    }),
  3: (reader, shape) => each(reader, 'functions', COUNTS_MAX.functions, () => void shape.functions.push(typeIndex(reader, shape))),
  4: (reader, { tables }) => each(reader, 'tables', COUNTS_MAX.tables, () => void tables.push(table(reader))),
  5: (reader, { memories }) => {
    const count = reader.u32()
    if (count !== 1) throw new InspectionError(`the module declares ${count} memories; exactly one is supported`)
    const memory = limits(reader, 'memory')
    const most = SMARTMODULE_LIMITS.memory_pages_max
    if (memory.minimum > most)
      throw new InspectionError(`the module needs ${memory.minimum} memory pages at start; at most ${most} (64 MiB) are allowed`)
    memories.push(memory)
  },
  6: (reader, { globals }) =>
    each(reader, 'globals', COUNTS_MAX.globals, () => {
      const type = reader.byte()
      assertValueType(type)
      globals.push(TYPE_NAMES[type]!)
      reader.byte()
      walkExpression(reader, CONSTANT)
    }),
  7: (reader, { exports, functions, globals, types }) =>
    each(reader, 'exports', COUNTS_MAX.exports, () => {
      const name = reader.name()
      const kind = KINDS[reader.byte()]
      const index = reader.u32()
      if (kind === undefined) throw new InspectionError('the module exports something of an unknown kind')
      const signature = kind === 'function' ? types[functions[index] ?? -1] : kind === 'global' ? globals[index] : undefined
      exports.set(name, signature === undefined ? { kind } : { kind, signature })
    }),
  8: (reader) => void reader.u32(),
  9: (reader) => each(reader, 'element segments', COUNTS_MAX.elements, () => element(reader)),
  10: (reader, shape) => each(reader, 'function bodies', COUNTS_MAX.functions, () => body(reader, shape)),
  11: (reader) =>
    each(reader, 'data segments', COUNTS_MAX.data, () => {
      const flags = reader.u32()
      if (flags > 2) throw new InspectionError('the binary has a data segment of an unknown kind')
      if (flags === 2 && reader.u32() !== 0) throw new InspectionError('the module uses several memories, which is not supported')
      if (flags !== 1) walkExpression(reader, CONSTANT)
      reader.skip(reader.u32())
    }),
  12: (reader) => void reader.u32(),
}

/**
 * Walks the instructions of WebAssembly 2.0 with SIMD (core specification §5.4) and nothing beyond: what is not in the table is refused by
 * name. It counts what makes compiling expensive. Types are V8's to check.
 */
import { InspectionError, type Reader } from './wasm-reader.ts'
import { bulkChangeOf, changeOf, vectorChangeOf, type Arity } from './wasm-stack.ts'

/** Limits of one function, and of all together (docs/limits.md). */
export const CODE_LIMITS = {
  locals_max: 20_000,
  depth_max: 1000,
  branch_targets_max: 10_000,
  /**
   * Parameters, locals and operands at each block and branch, summed: compilers keep the state of all of them for each.
   */
  merges_max: 10_000_000,
  merges_all_max: 100_000_000,
} as const

const REFUSED: readonly (readonly [from: number, to: number, what: string])[] = [
  [0x06, 0x0a, 'exceptions'],
  [0x12, 0x13, 'tail calls'],
  [0x14, 0x15, 'typed function references'],
  [0x18, 0x19, 'exceptions'],
  [0x1f, 0x1f, 'exceptions'],
  [0xd3, 0xd6, 'garbage collection'],
  [0xe0, 0xe6, 'stack switching'],
  [0xfb, 0xfb, 'garbage collection'],
  [0xfe, 0xfe, 'threads'],
]

const refuse = (opcode: number): never => {
  const known = REFUSED.find(([from, to]) => opcode >= from && opcode <= to)
  throw new InspectionError(
    known ? `the module uses ${known[2]}, which is not supported` : `the module uses the unknown instruction 0x${opcode.toString(16)}`,
  )
}

/** Value types of WebAssembly 2.0: i32, i64, f32, f64, v128, funcref, externref. */
const VALUE_TYPES = new Set([0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f])
export const assertValueType = (type: number): void => {
  if (!VALUE_TYPES.has(type))
    throw new InspectionError(`the module uses the type 0x${type.toString(16)}, which is not one of WebAssembly 2.0`)
}

/** `locals` includes the parameters. Arities of types and of functions by their indices; undefined for one that does not exist. */
export type CodeContext = { locals: number; typeOf(index: number): Arity | undefined; functionOf(index: number): Arity | undefined }

/** An expression outside of functions. */
export const CONSTANT: CodeContext = { locals: 0, typeOf: () => undefined, functionOf: () => undefined }

/** Reads one expression up to its last `end`, and returns what it costs to compile (`merges_max`). */
export function walkExpression(reader: Reader, { locals, typeOf, functionOf }: CodeContext): number {
  /** By open block, the height that its end leaves. */
  const ends: number[] = [0]
  let height = 0
  let cost = 0
  const merge = (times = 1) => void (cost += times * (locals + height))
  const callOf = (arity: Arity | undefined) => {
    if (!arity) throw new InspectionError('the binary names a function or a type that it does not have')
    height = Math.max(0, height - arity.parameters) + arity.results
  }
  const memoryArgument = () => {
    // Bit 6 of the alignment names another memory (multi-memory).
    if (reader.u32() >= 64) throw new InspectionError('the module uses several memories, which is not supported')
    reader.u32()
  }
  while (ends.length > 0) {
    const opcode = reader.byte()
    height = Math.max(0, height + changeOf(opcode))
    switch (opcode) {
      case 0x00: // unreachable
      case 0x01: // nop
      case 0x0f: // return
      case 0x1a: // drop
      case 0x1b: // select
      case 0xd1: // ref.is_null
        break
      case 0x02: // block
      case 0x03: // loop
      case 0x04: // if
        {
          const { parameters, results } = blockType(reader, typeOf)
          merge()
          ends.push(Math.max(0, height - parameters) + results)
        }
        if (ends.length > CODE_LIMITS.depth_max)
          throw new InspectionError(`a function nests blocks deeper than ${CODE_LIMITS.depth_max}, the limit`)
        break
      case 0x05: // else
        merge()
        break
      case 0x0b: // end
        // Operands that the block took stay below this height, whatever its code did.
        height = ends.pop()!
        merge()
        break
      case 0x0c: // br
      case 0x0d: // br_if
        reader.u32()
        merge()
        break
      case 0x0e: {
        // br_table
        const targets = reader.count('targets in one branch table', CODE_LIMITS.branch_targets_max)
        for (let index = 0; index <= targets; index++) reader.u32()
        merge(targets + 1)
        break
      }
      case 0x10: // call
        callOf(functionOf(reader.u32()))
        break
      case 0x11: // call_indirect
        height = Math.max(0, height - 1)
        callOf(typeOf(reader.u32()))
        reader.u32()
        break
      case 0x1c: // select t*
        for (let types = reader.count('types of a select', 1); types > 0; types--) assertValueType(reader.byte())
        break
      case 0x3f: // memory.size
      case 0x40: // memory.grow
        if (reader.byte() !== 0) throw new InspectionError('the module uses several memories, which is not supported')
        break
      case 0x41: // i32.const
        reader.leb(32)
        break
      case 0x42: // i64.const
        reader.leb(64)
        break
      case 0x43: // f32.const
        reader.skip(4)
        break
      case 0x44: // f64.const
        reader.skip(8)
        break
      case 0xd0: {
        // ref.null: of funcref or externref
        assertValueType(reader.byte())
        break
      }
      case 0xfc:
        height = Math.max(0, height + bulk(reader))
        break
      case 0xfd:
        height = Math.max(0, height + vector(reader, memoryArgument))
        break
      default:
        if (opcode === 0xd2 || (opcode >= 0x20 && opcode <= 0x26)) reader.u32()
        else if (opcode >= 0x28 && opcode <= 0x3e) memoryArgument()
        else if (opcode < 0x45 || opcode > 0xc4) refuse(opcode)
    }
  }
  return cost
}

/** Empty, a value type, or the index of a function type as a signed 33-bit number (§5.4.1). */
function blockType(reader: Reader, typeOf: CodeContext['typeOf']): Arity {
  const first = reader.byte()
  // One byte with bit 6 set is a negative number: a value type, or 0x40 for none.
  if (first === 0x40) return { parameters: 0, results: 0 }
  if (first > 0x40 && first < 0x80) {
    assertValueType(first)
    return { parameters: 0, results: 1 }
  }
  let index = first & 0x7f
  for (let bytes = 1, last = first; last >= 0x80; bytes++) {
    if (bytes === 5) throw new InspectionError('the binary is not a valid WebAssembly module')
    last = reader.byte()
    index += (last & 0x7f) * 2 ** (7 * bytes)
  }
  const arity = typeOf(index)
  if (!arity) throw new InspectionError('the binary names a type that it does not have')
  return arity
}

/** Saturating truncations (0 to 7) and bulk operations (8 to 17). */
function bulk(reader: Reader): number {
  const operation = reader.u32()
  if (operation > 17) throw new InspectionError(`the module uses the unknown instruction 0xfc ${operation}`)
  if (operation < 8) return bulkChangeOf(operation)
  // memory.fill, data.drop, elem.drop and the table operations with one index have one; the others have two.
  const indices = [9, 11, 13, 15, 16, 17].includes(operation) ? 1 : 2
  for (let index = 0; index < indices; index++) reader.u32()
  return bulkChangeOf(operation)
}

/** SIMD (§5.4.8); relaxed SIMD starts at 0x100. */
function vector(reader: Reader, memoryArgument: () => void): number {
  const operation = reader.u32()
  if (operation >= 0x100) throw new InspectionError('the module uses relaxed SIMD, which is not supported')
  if (operation <= 11 || operation === 92 || operation === 93) memoryArgument()
  else if (operation === 12 || operation === 13) reader.skip(16)
  else if (operation >= 21 && operation <= 34) reader.skip(1)
  else if (operation >= 84 && operation <= 91) {
    memoryArgument()
    reader.skip(1)
  }
  return vectorChangeOf(operation)
}

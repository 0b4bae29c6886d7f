/**
 * How each instruction of WebAssembly 2.0 changes the height of the operand stack. Never too low: where one entry stands for several
 * instructions, it is the one that leaves the most.
 */

/** Parameters and results of a function type. */
export type Arity = { parameters: number; results: number }

const UNARY: readonly (readonly [number, number])[] = [
  [0x45, 0x45],
  [0x50, 0x50],
  [0x67, 0x69],
  [0x79, 0x7b],
  [0x8b, 0x91],
  [0x99, 0x9f],
  [0xa7, 0xc4],
]

/** Of an instruction of one byte, without calls and blocks. */
export function changeOf(opcode: number): number {
  switch (opcode) {
    case 0x1a: // drop
    case 0x21: // local.set
    case 0x24: // global.set
    case 0x04: // if
    case 0x0d: // br_if
    case 0x0e: // br_table
      return -1
    case 0x1b: // select
    case 0x1c:
    case 0x26: // table.set
      return -2
    case 0x20: // local.get
    case 0x23: // global.get
    case 0x3f: // memory.size
    case 0x41:
    case 0x42:
    case 0x43:
    case 0x44:
    case 0xd0: // ref.null
    case 0xd2: // ref.func
      return 1
    default:
      if (opcode >= 0x36 && opcode <= 0x3e) return -2
      if (opcode < 0x45 || opcode > 0xc4) return 0
      return UNARY.some(([from, to]) => opcode >= from && opcode <= to) ? 0 : -1
  }
}

/** Of saturating truncations (0 to 7) and bulk operations (8 to 17). */
export function bulkChangeOf(operation: number): number {
  if (operation < 8 || operation === 9 || operation === 13) return 0
  if (operation === 15) return -1
  return operation === 16 ? 1 : -3
}

/** SIMD instructions that take one operand more than they leave; those that take two more come first. */
const VECTOR_TAKES_TWO: readonly (readonly [number, number])[] = [
  [11, 11],
  [82, 82],
  [88, 91],
]
const VECTOR_TAKES_ONE: readonly (readonly [number, number])[] = [
  [13, 14],
  [23, 23],
  [26, 26],
  [28, 28],
  [30, 30],
  [32, 32],
  [34, 76],
  [78, 81],
  [84, 87],
  [101, 102],
  [107, 115],
  [118, 121],
  [123, 123],
  [130, 130],
  [133, 134],
  [139, 147],
  [149, 153],
  [155, 159],
  [171, 174],
  [177, 177],
  [181, 186],
  [188, 191],
  [203, 206],
  [209, 209],
  [213, 223],
  [228, 235],
  [240, 247],
]

export function vectorChangeOf(operation: number): number {
  const within = (ranges: readonly (readonly [number, number])[]) => ranges.some(([from, to]) => operation >= from && operation <= to)
  if (operation === 12) return 1
  if (within(VECTOR_TAKES_TWO)) return -2
  return within(VECTOR_TAKES_ONE) ? -1 : 0
}

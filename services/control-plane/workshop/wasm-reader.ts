/** Reads the parts of a WebAssembly binary (core specification 2.0, §5) within bounds: a cursor never leaves its section. */

/** Thrown for a binary that is refused; the message names the import, the export or the fault. */
export class InspectionError extends Error {}

const INCOMPLETE = 'the binary is not a complete WebAssembly module'
const INVALID = 'the binary is not a valid WebAssembly module'
const NAME_SHOWN = 100
const NAME_BYTES_MAX = 1000

export type Reader = {
  at(): number
  isAtEnd(): boolean
  byte(): number
  /** LEB128 of at most `bits` bits; the value of 64-bit ones is not needed, only their length (§5.2.2). */
  leb(bits: 32 | 64): number
  u32(): number
  /** The number of elements of a vector, `most` at most; each takes at least one byte. */
  count(what: string, most: number): number
  skip(length: number): void
  name(): string
  /** A reader of the next `length` bytes, which this one skips. */
  part(length: number): Reader
  assertAtEnd(): void
}

/** A reader of `bytes` from `at` up to `end`. Each read throws InspectionError at the end, and for numbers that are too long. */
export function readerOf(bytes: Uint8Array, at: number, end: number): Reader {
  const decoder = new TextDecoder('utf-8', { fatal: true })

  function byte(): number {
    if (at >= end) throw new InspectionError(INCOMPLETE)
    return bytes[at++]!
  }

  function leb(bits: 32 | 64): number {
    const bytesMax = Math.ceil(bits / 7)
    let value = 0
    for (let index = 0; index < bytesMax; index++) {
      const next = byte()
      if (index < 5) value += (next & 0x7f) * 2 ** (7 * index)
      if (next < 0x80) return value
    }
    throw new InspectionError(INVALID)
  }

  const u32 = (): number => {
    const value = leb(32)
    if (value > 0xffff_ffff) throw new InspectionError(INVALID)
    return value
  }

  return {
    at: () => at,
    isAtEnd: () => at >= end,
    byte,
    leb,
    u32,
    count(what: string, most: number): number {
      const count = u32()
      if (count > most) throw new InspectionError(`the module has ${count} ${what}; at most ${most} are allowed`)
      if (count > end - at) throw new InspectionError(INCOMPLETE)
      return count
    },
    skip(length: number): void {
      if (length > end - at) throw new InspectionError(INCOMPLETE)
      at += length
    },
    name(): string {
      const length = u32()
      if (length > NAME_BYTES_MAX)
        throw new InspectionError(`the module has a name of ${length} bytes; at most ${NAME_BYTES_MAX} are allowed`)
      if (length > end - at) throw new InspectionError(INCOMPLETE)
      try {
        return decoder.decode(bytes.subarray(at, (at += length)))
      } catch {
        throw new InspectionError(INVALID)
      }
    },
    part(length) {
      if (length > end - at) throw new InspectionError(INCOMPLETE)
      return readerOf(bytes, at, (at += length))
    },
    assertAtEnd(): void {
      if (at !== end) throw new InspectionError(INVALID)
    },
  }
}

/** A name of the module's, short and without control characters. */
export const shownName = (name: string): string =>
  JSON.stringify(name.length > NAME_SHOWN ? `${name.slice(0, NAME_SHOWN)}…` : name)
    .slice(1, -1)
    .replaceAll(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '?')

/** LEB128 of an unsigned number. */
export function unsigned(value: number): number[] {
  const bytes = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
  return bytes
}

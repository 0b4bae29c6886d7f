/**
 * What the last step left, handed record by record to whoever encodes rows of it: for sinks that are no topic.
 * HOT: nothing is made per record.
 */
import type { Kernel } from './kernel.ts'

/** Why a record makes no row. */
export type RowFault = { code: string; message: string }

/** Takes values as rows. What was added counts once it is kept; a record at fault takes its siblings with it. */
export type RowTarget = {
  /**
   * The value at `[from, to)` of `source`, `from` -1 for a null, of the record at `offset`; its key, -1 for none, lies at
   * `[keyFrom, keyTo)`, its headers (their count first) at `[headersFrom, end)`.
   */
  add(
    source: Uint8Array,
    from: number,
    to: number,
    offset: number,
    keyFrom: number,
    keyTo: number,
    headersFrom: number,
    end: number,
  ): RowFault | undefined
  keep(): void
  drop(): void
}

/** Adds the value of every record of the kernel's current section, without its first `prefix` bytes; tells which make no row. */
export function addRows(
  kernel: Kernel,
  target: RowTarget,
  prefix: number,
  baseOffset: bigint,
  fail: (delta: number, fault: RowFault) => void,
): void {
  const source = new Uint8Array(kernel.memory.buffer)
  const base = Number(baseOffset)
  let at = kernel.currentPtr()
  // The kernel has walked this section before: its lengths hold.
  for (let left = kernel.currentCount(); left > 0; left--) {
    let size = 0
    let shift = 0
    let byte: number
    do {
      byte = source[at++]!
      size |= (byte & 0x7f) << shift
      shift += 7
    } while (byte & 0x80)
    const end = at + ((size >>> 1) ^ -(size & 1))
    // Attributes, then the timestamp's delta.
    at++
    while (source[at++]! & 0x80);
    let delta = 0
    shift = 0
    do {
      byte = source[at++]!
      delta |= (byte & 0x7f) << shift
      shift += 7
    } while (byte & 0x80)
    delta = (delta >>> 1) ^ -(delta & 1)
    let key = 0
    shift = 0
    do {
      byte = source[at++]!
      key |= (byte & 0x7f) << shift
      shift += 7
    } while (byte & 0x80)
    key = (key >>> 1) ^ -(key & 1)
    const keyFrom = key < 0 ? -1 : at
    if (key > 0) at += key
    const keyTo = at
    let value = 0
    shift = 0
    do {
      byte = source[at++]!
      value |= (byte & 0x7f) << shift
      shift += 7
    } while (byte & 0x80)
    value = (value >>> 1) ^ -(value & 1)
    const fault =
      value < 0
        ? target.add(source, -1, -1, base + delta, keyFrom, keyTo, at, end)
        : value < prefix
          ? NOT_FRAMED
          : target.add(source, at + prefix, at + value, base + delta, keyFrom, keyTo, at + value, end)
    if (fault) fail(delta, fault)
    at = end
  }
}

const NOT_FRAMED: RowFault = { code: 'not_framed', message: 'the value does not start with the schema registry prefix (magic byte 0)' }

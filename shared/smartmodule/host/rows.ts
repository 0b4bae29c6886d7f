/**
 * Hands the output of the last step, record by record, to an encoder of rows, for sinks that do not take batches.
 * HOT: nothing is allocated per record.
 */
import type { Kernel } from './kernel.ts'

/** Why a record can't become a row. */
export type RowFault = { code: string; message: string }

/** Takes values as rows, which count after `keep` and are discarded by `drop`. A faulty row fails its source record with all outputs. */
export type RowTarget = {
  /** The rows become records of a topic, whose broker refuses some timestamps. */
  isForTopic: boolean
  /**
   * Adds the record at `offset` with the time `timeMs`; returns the fault when it can't become a row. In `source`, its value is at
   * `[from, to)` (`from` -1 for null), its key at `[keyFrom, keyTo)` (-1 for none), its headers, count first, at `[headersFrom, end)`.
   */
  add(
    source: Uint8Array,
    from: number,
    to: number,
    offset: number,
    timeMs: number,
    keyFrom: number,
    keyTo: number,
    headersFrom: number,
    end: number,
  ): RowFault | undefined
  keep(): void
  drop(): void
}

/**
 * Adds the value of every record of the kernel's current section, without the registry prefix of `prefix` bytes (the first one zero), and
 * calls `fail` for records that can't become rows. A record's time is `baseTimeMs` plus its delta, or `fixedTimeMs` unless that is
 * negative (log-append time).
 */
export function addRows(
  kernel: Kernel,
  target: RowTarget,
  prefix: number,
  baseOffset: bigint,
  baseTimeMs: number,
  fixedTimeMs: number,
  fail: (delta: number, fault: RowFault) => void,
): void {
  const source = new Uint8Array(kernel.memory.buffer)
  const base = Number(baseOffset)
  let at = kernel.currentPtr()
  // The kernel has already checked the lengths in this section.
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
    // Attributes, then the timestamp's delta: with up to 64 bits it is too long for shifts.
    at++
    let time = 0
    let unit = 1
    do {
      byte = source[at++]!
      time += (byte & 0x7f) * unit
      unit *= 128
    } while (byte & 0x80)
    time = fixedTimeMs >= 0 ? fixedTimeMs : baseTimeMs + (time % 2 === 0 ? time / 2 : -(time + 1) / 2)
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
        ? target.add(source, -1, -1, base + delta, time, keyFrom, keyTo, at, end)
        : value < prefix || (prefix > 0 && source[at] !== 0)
          ? NOT_FRAMED
          : target.add(source, at + prefix, at + value, base + delta, time, keyFrom, keyTo, at + value, end)
    if (fault) fail(delta, fault)
    at = end
  }
}

const NOT_FRAMED: RowFault = { code: 'not_framed', message: 'the value does not start with the schema registry prefix (magic byte 0)' }

/**
 * The source contract. A source has a fixed number of splits; whoever owns one reads it from a position on, as blocks of bytes, and the
 * position after each block is committed together with its records. Positions are opaque to everybody but the source.
 */
import type { RecordBlock } from './record-block.ts'

/** A step of reading: records (none is allowed), the position behind them, and what is to be remembered for ever. */
export type SourceRead = {
  block: RecordBlock
  /** At most 4,000 bytes: it travels as the metadata of an offset commit. */
  position: string
  /** Entries for the set of what this split has seen; a null value forgets one. */
  seen?: { key: string; value: string | null }[]
}

export type OpenSource = {
  /** Reads for ever, or until everything is read where the source has an end. Ends early when `signal` is aborted. */
  read(
    split: { index: number; count: number },
    position: string | undefined,
    seen: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): AsyncIterable<SourceRead>
  /** The records up to this position are safe; the other system may forget them. */
  confirm?(split: number, position: string): void
  close(): Promise<void>
}

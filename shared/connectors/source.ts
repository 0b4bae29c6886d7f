/**
 * The source contract. A source has a fixed number of splits. The owner of a split reads it from a position as blocks of bytes, and the
 * position after each block is committed together with its records. Only the source interprets positions.
 */
import type { RecordBlock } from './record-block.ts'
import type { SeenView } from './seen-entries.ts'

/** Most bytes of a record; a larger one is refused while it is read. What is left of a batch is for what surrounds it. */
export const RECORD_BYTES_MAX = 7 << 20

/** One step of reading: records (may be none), the position after them, and changes to the permanent set of seen entries. */
export type SourceRead = {
  block: RecordBlock
  /** Best below 4,000 bytes: a longer one goes to a topic of its own, because it is stored as the metadata of an offset commit. */
  position: string
  /** Changes to the set of entries that this split has seen, with values made by `seenValue`; a null value removes an entry. */
  seen?: { key: string; value: string | null }[]
  /** Once this is committed, all entries with a time before this one are removed: the position shows that they were seen. */
  forgetBefore?: number
}

/** An opened source. */
export type OpenSource = {
  /**
   * Reads a split from `position` on, or from its start: forever, or to the end of a finite source. Ends early when `signal` is aborted.
   */
  read(
    split: { index: number; count: number },
    position: string | undefined,
    seen: SeenView,
    signal: AbortSignal,
  ): AsyncIterable<SourceRead>
  /** Called once the records up to this position are committed; the external system may discard them. */
  confirm?(split: number, position: string): void
  close(): Promise<void>
}

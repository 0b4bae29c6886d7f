/** Encodes files in a thread of its own: a Parquet file takes a second, and so do a million rows that are grouped by folder. */
import type { Rows } from '../sink.ts'
import { openThread } from '../thread.ts'
import type { FileSpec, ObjectFiles } from './object-files.ts'

/** The rows of a range come one by one, and then the spec of their files. */
export type EncodePart = Rows | FileSpec

/** A worker thread that makes files of rows. */
export type EncodeThread = {
  /** Rejects if the thread ends; the next call starts another one. */
  encode(rows: readonly Rows[], spec: FileSpec): Promise<ObjectFiles>
  close(): Promise<void>
}

/** Starts the thread at its first use. */
export function openEncodeThread(): EncodeThread {
  const thread = openThread<EncodePart, ObjectFiles>(new URL('./encode-worker.ts', import.meta.url), 'encoding')
  return {
    // Copied, not transferred: if the store is unavailable, the same rows are written again.
    encode: (rows, spec) => thread.ask([...rows, spec]),
    close: thread.close,
  }
}

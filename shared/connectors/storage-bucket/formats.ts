/**
 * Formats of objects, fed with chunks of bytes: each finds the records and adds them to a block, and knows the place behind the last one.
 * A record that is not well formed goes on as it is: the step or the sink that can't take it makes it a dead letter, bytes and all.
 */
import type { BlockBuilder } from '../record-block.ts'
import { openCsv, type CsvOptions } from './format-csv.ts'
import { openJsonArray } from './format-json-array.ts'
import { openLines } from './format-lines.ts'

export type FormatName = 'ndjson' | 'json' | 'csv' | 'text'

/** `b`: bytes of the object behind the last record; `n`: records so far. */
export type FormatPlace = { b: number; n: number }

export type FormatReader = {
  /** It can begin behind any record, given the bytes from there on; otherwise it is given the whole object again. */
  canResume: boolean
  /** Called once, first: where the bytes begin, and how many records are behind already. Answers what tells the place. */
  begin(bytes: number, records: number): () => FormatPlace
  add(chunk: Buffer): void | Promise<void>
  /** The object is at its end. Throws where it ends in the middle of something. */
  end(): void | Promise<void>
}

export type FormatOptions = { object: string; csv: CsvOptions }

/** What no topic takes is refused while it is read: an endless line must not fill the memory. */
export const RECORD_BYTES_MAX = 7 << 20

export function openFormat(name: FormatName, options: FormatOptions, into: BlockBuilder): FormatReader {
  switch (name) {
    case 'ndjson':
      return openLines(options.object, into, false)
    case 'text':
      return openLines(options.object, into, true)
    case 'json':
      return openJsonArray(options.object, into)
    case 'csv':
      return openCsv(options.object, options.csv, into)
  }
}

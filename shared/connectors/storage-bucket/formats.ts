/**
 * Opens the formats of objects. Each gets chunks of bytes, adds the records it finds to a block, and knows the position after the last one.
 * A malformed record passes through unchanged: the step or sink that can't parse it makes it a dead letter with its bytes. A malformed csv
 * row is refused at once, because it can't become an object.
 */
import type { BlockBuilder } from '../record-block.ts'
import { openCsv, type CsvOptions } from './format-csv.ts'
import { openJsonArray } from './format-json-array.ts'
import { openLines } from './format-lines.ts'
import type { FormatReader } from './format-reader.ts'

/** Formats that objects are read in. */
export type FormatName = 'ndjson' | 'json' | 'csv' | 'text'

/** The object’s key, for errors, and how CSV is read. */
export type FormatOptions = { object: string; csv: CsvOptions }

/** The reader of a format, which adds records to the block. */
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

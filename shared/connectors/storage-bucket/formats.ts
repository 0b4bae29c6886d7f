/**
 * Formats of objects, fed with chunks of bytes: each finds the records and adds them to a block, and knows the place behind the last one.
 * A record that is not well formed goes on as it is: the step or the sink that can't take it makes it a dead letter, bytes and all.
 */
import type { BlockBuilder } from '../record-block.ts'
import { openCsv, type CsvOptions } from './format-csv.ts'
import { openJsonArray } from './format-json-array.ts'
import { openLines } from './format-lines.ts'
import type { FormatReader } from './format-reader.ts'

export type FormatName = 'ndjson' | 'json' | 'csv' | 'text'

export type FormatOptions = { object: string; csv: CsvOptions }

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

/** Delimited rows (RFC 4180) as JSON objects, by csv-parse. A place within is a number of rows: the parser begins at the first byte. */
import { finished } from 'node:stream/promises'
import { parse, type Parser } from 'csv-parse'
import { ConfigRefused } from '../connector.ts'
import type { BlockBuilder } from '../record-block.ts'
import { RECORD_BYTES_MAX, type FormatReader } from './format-reader.ts'

export type CsvOptions = { delimiter: string; header: boolean; quote: boolean }

export function openCsv(object: string, { delimiter, header, quote }: CsvOptions, into: BlockBuilder): FormatReader {
  let names: string[] | undefined
  let records = 0
  let skipped = 0
  let failure: Error | undefined
  const parser: Parser = parse({
    delimiter,
    // Files that were put together of others have several of them.
    record_delimiter: ['\r\n', '\n', '\r'],
    quote: quote ? '"' : null,
    bom: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: RECORD_BYTES_MAX,
  })
  parser.on(
    'error',
    (error) => (failure = new ConfigRefused(`the object ${object} is not well formed behind row ${records}: ${error.message}`)),
  )

  function addRow(row: string[]): void {
    if (header && !names) {
      names = row
      return
    }
    if (skipped > 0) {
      skipped--
      return
    }
    records++
    const members = row.map((value, index): [string, string] => [names?.[index] ?? `column${index + 1}`, value])
    into.add(null, Buffer.from(JSON.stringify(Object.fromEntries(members))))
  }

  parser.on('data', (row: string[]) => {
    try {
      addRow(row)
    } catch (error) {
      failure ??= error instanceof Error ? error : new Error(String(error))
    }
  })
  const assertSound = () => {
    if (failure) throw failure
  }

  return {
    canResume: false,
    begin(_bytes, before) {
      records = before
      skipped = before
      return () => ({ b: 0, n: records })
    },
    async add(chunk) {
      await new Promise<void>((resolve) => parser.write(chunk, () => resolve()))
      assertSound()
    },
    async end() {
      const ended = finished(parser, { writable: true }).catch(() => {})
      parser.end()
      await ended
      assertSound()
    },
  }
}

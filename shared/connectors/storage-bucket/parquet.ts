/** Encodes rows as a Parquet file, with hyparquet-writer. There is a column for each known field and for each other member of the rows. */
import { parquetWriteBuffer, type ColumnSource } from 'hyparquet-writer'
import type { RefusedRecord, Rows } from '../sink.ts'
import { parseExactly } from '../../model/exact-json.ts'
import { createMemberScanner, ESCAPED, STRING } from '../../model/json-members.ts'
import { columnOf, describedType } from './parquet-columns.ts'

type Document = Readonly<Record<string, unknown>>
/** `from` and `to`: where its JSON is in `bytes`. */
type Source = { document: Document; offset: bigint; bytes: Buffer; from: number; to: number }

/** A Parquet file, or the rows that don’t fit its columns. */
export type Encoded = { file: Uint8Array } | { faults: RefusedRecord[] }

/**
 * A number of so many digits, or with an exponent of three, may not fit a double. Only then are numbers parsed exactly, which costs a call
 * per value.
 */
const LONG_NUMBER = /\d[\d.]{15}|\d[eE][+-]?\d{3,}(?=[\s,\]}]|$)/

function documentsOf(rows: readonly Rows[], faults: RefusedRecord[]): Source[] {
  const documents: Source[] = []
  for (const { bytes, ends, offsets, count } of rows) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let row = 0; row < count; row++) {
      const offset = BigInt(offsets[row]!)
      try {
        const [from, to] = [row === 0 ? 0 : ends[row - 1]!, ends[row]!]
        const json = text.toString('utf8', from, to)
        const value = LONG_NUMBER.test(json) ? parseExactly(json) : JSON.parse(json)
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
        documents.push({ document: isObject ? (value as Document) : { value }, offset, bytes: text, from, to })
      } catch {
        faults.push({ offset, code: 'not_json', message: 'the value is not one JSON document' })
      }
    }
  }
  return documents
}

/** Returns a function to the JSON text of the member in the document with this index, which has it. */
function sourcesOf(documents: readonly Source[], name: string): (index: number) => string {
  const scanner = createMemberScanner([name], true)
  return (index) => {
    const { bytes, from, to } = documents[index]!
    // A document that is no object is the only value of its row.
    if (scanner.scan(bytes, from, to) !== undefined) return bytes.toString('utf8', from, to).trim()
    const quotes = scanner.sorts[0] === STRING || scanner.sorts[0] === ESCAPED ? 1 : 0
    return bytes.toString('utf8', scanner.starts[0]! - quotes, scanner.ends[0]! + quotes)
  }
}

const hasNegativeZero = (cell: unknown): boolean => (Array.isArray(cell) ? cell.some(hasNegativeZero) : Object.is(cell, -0))

/** The file, or the records that can't be written into it. */
export function encodeParquet(rows: readonly Rows[], fields: Readonly<Record<string, string>> | undefined): Encoded {
  const faults: RefusedRecord[] = []
  const documents = documentsOf(rows, faults)
  const names = new Set(Object.keys(fields ?? {}))
  for (const { document } of documents) for (const name of Object.keys(document)) names.add(name)
  // Without a column a file has no rows.
  if (names.size === 0) names.add('value')
  const columns = [...names].map((name) => {
    const type = fields && Object.hasOwn(fields, name) ? fields[name] : undefined
    // A member may have the name of an inherited property, such as `toString`.
    const valueIn = ({ document }: Source) => (Object.hasOwn(document, name) ? document[name] : undefined)
    const column = columnOf(name, documents.map(valueIn), type, sourcesOf(documents, name))
    for (const index of column.faults)
      faults.push({
        offset: documents[index]!.offset,
        code: 'wrong_type',
        message: `the member "${name}" is not of type ${type === undefined ? column.elements[0]!.type : describedType(type)}`,
      })
    return column
  })
  if (faults.length > 0) return { faults }
  const columnData = columns.map(({ elements, cells }): ColumnSource => ({
    name: elements[0]!.name,
    data: cells as ColumnSource['data'],
    // The library's dictionaries take 0 and -0 for one value.
    ...(cells.some(hasNegativeZero) ? { encoding: 'PLAIN' } : {}),
  }))
  const schema = [{ name: 'root', num_children: columns.length }, ...columns.flatMap(({ elements }) => elements)]
  return { file: new Uint8Array(parquetWriteBuffer({ columnData, schema, codec: 'SNAPPY' })) }
}

/** Rows as a Parquet file, by hyparquet-writer. Columns come from the fields that records are known to have, else from the rows. */
import { parquetWriteBuffer, type ColumnSource } from 'hyparquet-writer'
import type { RefusedRecord, Rows } from '../sink.ts'

type Type = NonNullable<ColumnSource['type']>
type Column = { name: string; type: Type; read(value: unknown): unknown }

const asText = (value: unknown): unknown =>
  typeof value === 'string' ? value : value === undefined || value === null ? undefined : JSON.stringify(value)
const asDate = (value: unknown): unknown => {
  const time = typeof value === 'string' ? new Date(value) : undefined
  return time && !Number.isNaN(time.getTime()) ? time : undefined
}
const isWhole = (value: unknown): boolean => typeof value === 'number' && Number.isSafeInteger(value)

const READERS: Record<string, Omit<Column, 'name'>> = {
  string: { type: 'STRING', read: asText },
  uuid: { type: 'STRING', read: asText },
  decimal: { type: 'STRING', read: asText },
  date: { type: 'STRING', read: asText },
  bytes: { type: 'STRING', read: asText },
  integer: { type: 'INT64', read: (value) => (isWhole(value) ? BigInt(value as number) : undefined) },
  number: { type: 'DOUBLE', read: (value) => (typeof value === 'number' ? value : undefined) },
  boolean: { type: 'BOOLEAN', read: (value) => (typeof value === 'boolean' ? value : undefined) },
  datetime: { type: 'TIMESTAMP', read: asDate },
}
const TEXT = READERS.string!
/** What is no plain value is kept as the JSON that it is. */
const JSON_TEXT: Omit<Column, 'name'> = {
  type: 'STRING',
  read: (value) => (value === undefined || value === null ? undefined : JSON.stringify(value)),
}

/** What all of the values are; text where they differ. */
function sortOf(values: readonly unknown[]): Omit<Column, 'name'> {
  const present = values.filter((value) => value !== undefined && value !== null)
  if (present.length === 0) return TEXT
  if (present.every((value) => typeof value === 'boolean')) return READERS.boolean!
  if (present.every(isWhole)) return READERS.integer!
  if (present.every((value) => typeof value === 'number')) return READERS.number!
  return present.every((value) => typeof value === 'string') ? TEXT : JSON_TEXT
}

type Document = Readonly<Record<string, unknown>>
type Source = { document: Document; offset: bigint }

function documentsOf(rows: readonly Rows[], faults: RefusedRecord[]): Source[] {
  const documents: Source[] = []
  for (const { bytes, ends, offsets, count } of rows) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let row = 0; row < count; row++) {
      const offset = BigInt(offsets[row]!)
      try {
        const value: unknown = JSON.parse(text.toString('utf8', row === 0 ? 0 : ends[row - 1], ends[row]))
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
        documents.push({ document: isObject ? (value as Document) : { value }, offset })
      } catch {
        faults.push({ offset, code: 'not_json', message: 'the value is not one JSON document' })
      }
    }
  }
  return documents
}

/** The file, or the records that have no place in it. */
export function encodeParquet(
  rows: readonly Rows[],
  fields: Readonly<Record<string, string>> | undefined,
): { file: Uint8Array } | { faults: RefusedRecord[] } {
  const faults: RefusedRecord[] = []
  const documents = documentsOf(rows, faults)
  const names = new Set(Object.keys(fields ?? {}))
  for (const { document } of documents) for (const name of Object.keys(document)) names.add(name)
  const columnData = [...names].map((name): ColumnSource => {
    const known = fields?.[name]?.replace(/\?$/, '')
    const { type, read } = known === undefined ? sortOf(documents.map(({ document }) => document[name])) : (READERS[known] ?? JSON_TEXT)
    const data = documents.map(({ document, offset }) => {
      const value = document[name] ?? undefined
      const cell = read(value)
      if (value !== undefined && cell === undefined)
        faults.push({ offset, code: 'wrong_type', message: `the member "${name}" is no ${known ?? type}` })
      return cell
    })
    return { name, type, data: data as ColumnSource['data'], nullable: true }
  })
  return faults.length > 0 ? { faults } : { file: new Uint8Array(parquetWriteBuffer({ columnData, codec: 'SNAPPY' })) }
}

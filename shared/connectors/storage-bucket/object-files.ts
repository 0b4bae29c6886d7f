/** Encodes the rows of a range as files, one per folder; the sink compresses them later. */
import { createCsvEncoder } from '../encode/csv-rows.ts'
import { createRowBuffer } from '../encode/row-buffer.ts'
import type { RefusedRecord, Rows } from '../sink.ts'
import type { BucketSinkConfig } from './connector.ts'
import { partsByFolder } from './group-by-folder.ts'
import { encodeParquet } from './parquet.ts'

/** `columns`: of csv. `isEncoded`: the rows are lines of csv already. `fields`: types of members by name, where known. */
export type FileSpec = Pick<BucketSinkConfig, 'key' | 'format' | 'delimiter'> & {
  columns: string[]
  isEncoded: boolean
  fields: Record<string, string>
}

/** `folder` still contains the parts of the range, such as `{stream}`, as placeholders. */
export type ObjectFile = { folder: string; file: Uint8Array }
/** The objects that rows become, or the rows that can’t be written. */
export type ObjectFiles = { files: ObjectFile[] } | { faults: RefusedRecord[] }

const quoteField = (name: string): string => (/["\r\n,;\t|]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)

/** Encodes JSON lines as rows of csv. */
function csvOf(pieces: readonly Rows[], { columns, delimiter }: FileSpec): { bytes: Uint8Array[] } | { faults: RefusedRecord[] } {
  const encode = createCsvEncoder({ kind: 'csv', columns, delimiter })
  const faults: RefusedRecord[] = []
  const bytes = pieces.map((piece) => {
    const buffer = createRowBuffer()
    for (let row = 0; row < piece.count; row++) {
      const before = buffer.used
      const fault = encode(piece.bytes, row === 0 ? 0 : piece.ends[row - 1]!, piece.ends[row]!, buffer, -1, -1, 0, 0, 0, 0)
      if (!fault) continue
      buffer.used = before
      faults.push({ offset: BigInt(piece.offsets[row]!), ...fault })
    }
    return buffer.bytes.subarray(0, buffer.used)
  })
  return faults.length > 0 ? { faults } : { bytes }
}

function fileOf(rows: readonly Rows[], spec: FileSpec): { file: Uint8Array } | { faults: RefusedRecord[] } {
  if (spec.format === 'parquet') return encodeParquet(rows, spec.fields)
  if (spec.format === 'ndjson') return { file: Buffer.concat(rows.map(({ bytes }) => bytes)) }
  const encoded = spec.isEncoded ? { bytes: rows.map(({ bytes }) => bytes) } : csvOf(rows, spec)
  if ('faults' in encoded) return encoded
  const header = Buffer.from(`${spec.columns.map(quoteField).join(spec.delimiter)}\r\n`)
  return { file: Buffer.concat([header, ...encoded.bytes]) }
}

/** The files, or the records that can't be written into one. */
export function filesOf(rows: readonly Rows[], spec: FileSpec): ObjectFiles {
  const split = partsByFolder(rows, spec.key)
  if ('faults' in split) return split
  const files: ObjectFile[] = []
  const faults: RefusedRecord[] = []
  for (const part of split.parts) {
    const made = fileOf(part.rows, spec)
    if ('faults' in made) faults.push(...made.faults)
    else files.push({ folder: part.folder, file: made.file })
  }
  return faults.length > 0 ? { faults } : { files }
}

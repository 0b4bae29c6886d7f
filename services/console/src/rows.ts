/** Records as people paste them. */
import { parseAsWritten } from '../../../clients/typescript/src/core/exact-json.ts'
import { isObject } from './records.ts'

export type Row = Record<string, unknown>

/** Lines of JSON, or one array. Throws an Error that names the line. */
export function rowsOf(text: string): Row[] {
  const trimmed = text.trim()
  const values = trimmed.startsWith('[') ? (parseAsWritten(trimmed) as unknown[]) : trimmed.split('\n').filter((line) => line.trim() !== '')
  return values.map((value, index) => {
    try {
      const row = typeof value === 'string' ? parseAsWritten(value) : value
      if (isObject(row)) return row
    } catch {
      // Told below.
    }
    throw new Error(`line ${index + 1} is not a JSON object`)
  })
}

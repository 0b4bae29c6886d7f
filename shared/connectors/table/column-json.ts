/** Converts a column's value from Postgres' text form to JSON. Snapshots, queries and the replication stream share this mapping. */

/** Ids of built-in types, which never change (pg_type.dat). */
const BOOL = 16
const BYTEA = 17
const NUMBERS = new Set([21, 23, 20, 700, 701, 26])
const DOCUMENTS = new Set([114, 3802])
const TIMESTAMP = 1114
const TIMESTAMPTZ = 1184

/** A column and the OID of its type. */
export type SourceColumn = { name: string; typeId: number }

/** Options with which a session writes values in the only form that is read here. */
export const SESSION_OPTIONS = '-c timezone=UTC -c datestyle=ISO,YMD -c bytea_output=hex -c intervalstyle=iso_8601 -c extra_float_digits=1'

/** `2026-01-02 03:04:05.6+00` → `2026-01-02T03:04:05.6+00:00`. Text of another form, such as infinity, stays unchanged. */
function isoTime(text: string, hasZone: boolean): string {
  if (!/^\d{4,}-\d\d-\d\d \d\d:\d\d:\d\d/.test(text)) return text
  const iso = text.replace(' ', 'T')
  return hasZone ? iso.replace(/([+-]\d\d)$/, '$1:00') : iso
}

/** The JSON of a value in Postgres’ text form; the type decides. */
function valueToJson(text: string | null, typeId: number): string {
  if (text === null) return 'null'
  if (NUMBERS.has(typeId)) return /^[+-]?[\d.]/.test(text) ? text : JSON.stringify(text)
  if (typeId === BOOL) return text === 't' ? 'true' : 'false'
  if (DOCUMENTS.has(typeId)) return text
  if (typeId === TIMESTAMPTZ || typeId === TIMESTAMP) return JSON.stringify(isoTime(text, typeId === TIMESTAMPTZ))
  if (typeId === BYTEA) return JSON.stringify(Buffer.from(text.slice(2), 'hex').toString('base64'))
  return JSON.stringify(text)
}

/** A JSON object with a member for every column whose value is not undefined. */
export function rowToJson(columns: readonly SourceColumn[], values: readonly (string | null | undefined)[]): string {
  let json = '{'
  for (let i = 0; i < columns.length; i++) {
    const value = values[i]
    if (value === undefined) continue
    const { name, typeId } = columns[i]!
    json += `${json.length > 1 ? ',' : ''}${JSON.stringify(name)}:${valueToJson(value, typeId)}`
  }
  return `${json}}`
}

/** dps/lookup: adds what a table in the config says of a field's value. */
import { Config, FIELD_MISSING, Kind, Members, Path, Record, Segment, textOf } from 'dps'
import { excerpt } from 'dps/text'

const enum Missing { Null, Keep, Fail, Drop }
const MISSING: string[] = ['null', 'keep', 'fail', 'drop']

let field: string = ''
let path: Path = new Path('')
let into: Segment = new Segment('')
let rows: Map<string, ArrayBuffer> = new Map<string, ArrayBuffer>()
let otherwise: ArrayBuffer = new ArrayBuffer(0)
let onMissing: Missing = Missing.Null

function copyOf(start: usize, end: usize): ArrayBuffer {
  const bytes = new ArrayBuffer((end - start) as i32)
  memory.copy(changetype<usize>(bytes), start, end - start)
  return bytes
}

export function init(config: Config): void {
  field = config.text('field')
  path = new Path(field)
  into = new Segment(config.text('into'))
  rows = new Map<string, ArrayBuffer>()
  otherwise = String.UTF8.encode('null')
  const given = config.get('default')
  const hasDefault = given.kind != Kind.Missing
  if (hasDefault) otherwise = copyOf(given.start, given.end)
  const missing = config.get('on_missing')
  const at = missing.kind == Kind.String ? MISSING.indexOf(textOf(missing.start, missing.end)) : 0
  onMissing = (at < 0 ? 0 : at) as Missing
  if (hasDefault && onMissing != Missing.Null) config.refuse('config.default is for on_missing null alone')
  const table = config.get('table')
  if (table.kind != Kind.Object) return config.refuse('config.table must be an object of value: what it means')
  const members = new Members(table.start, table.end)
  while (members.next()) rows.set(members.name, copyOf(members.start, members.end))
}

export function filterMap(record: Record): bool {
  const slice = record.find(path)
  const isText = slice.kind == Kind.String
  const isValue = isText || slice.kind == Kind.Number || slice.kind == Kind.True || slice.kind == Kind.False
  const name = isText ? textOf(slice.start, slice.end) : isValue ? String.UTF8.decodeUnsafe(slice.start, slice.end - slice.start) : ''
  if (isValue && rows.has(name)) {
    const found = rows.get(name)
    record.setBytes(into, changetype<usize>(found), found.byteLength)
    return true
  }
  if (onMissing == Missing.Fail) {
    if (slice.kind == Kind.Missing) record.fail('the field ' + field + ' is missing', FIELD_MISSING)
    else record.fail('the table has nothing for the field ' + field + ': ' + excerpt(slice.start, slice.end))
  }
  if (onMissing == Missing.Null) record.setBytes(into, changetype<usize>(otherwise), otherwise.byteLength)
  return onMissing != Missing.Drop
}

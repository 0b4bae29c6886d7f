/** dps/route-by: makes a record's key of its fields, by which it is spread over partitions. */
import { Config, FIELD_MISSING, Items, Kind, Path, RECORD_FAILED, Record, Writer, kindAt, textOf, unescape } from 'dps'

let paths: Path[] = []
let names: string[] = []
let separator: ArrayBuffer = new ArrayBuffer(0)
let keepsKey: bool = false
const key = new Writer()

export function init(config: Config): void {
  paths = []
  names = []
  const fields = config.get('fields')
  const items = new Items(fields.start, fields.end)
  for (let i = 0; items.next() && kindAt(items.start) == Kind.String; i++) {
    names.push(textOf(items.start, items.end))
    paths.push(new Path(names[i]))
  }
  if (paths.length == 0) config.refuse('config.fields must name at least one field')
  separator = String.UTF8.encode(config.textOr('separator', '|'))
  keepsKey = config.textOr('on_missing', '') == 'keep'
}

export function filterMap(record: Record): bool {
  key.clear()
  key.room(64)
  for (let i = 0; i < paths.length; i++) {
    if (i > 0) key.bytes(changetype<usize>(separator), separator.byteLength)
    const slice = record.find(paths[i])
    if (slice.kind == Kind.Missing || slice.kind == Kind.Null) {
      const isMissing = slice.kind == Kind.Missing
      if (!keepsKey) record.fail('the field ' + names[i] + (isMissing ? ' is missing' : ' is null'), isMissing ? FIELD_MISSING : RECORD_FAILED)
      return true
    }
    if (slice.kind != Kind.String) {
      key.bytes(slice.start, slice.end - slice.start)
      continue
    }
    key.room(slice.end - slice.start)
    key.at = unescape(slice.start + 1, slice.end - 1, key.at)
  }
  record.setKey(key.start, key.length)
  return true
}

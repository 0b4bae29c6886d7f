/** dps/explode: makes a record of each item of an array, with the rest of the record around it. */
import { Config, Kind, Path, Record, Writer, emit, skipChecked, skipSpace } from 'dps'

let path: Path = new Path('')
let field: string = ''
let keepsEmpty: bool = false
const out = new Writer()

export function init(config: Config): void {
  field = config.text('field')
  path = new Path(field)
  keepsEmpty = config.textOr('on_empty', '') == 'keep'
}

/** Emits the record with the value [from, to) in the place of the array. */
function put(record: Record, start: usize, end: usize, from: usize, to: usize): void {
  out.clear()
  out.room(record.end - record.start + 32)
  out.bytes(record.start, start - record.start)
  out.bytes(from, to - from)
  out.bytes(end, record.end - end)
  emit(out.start, out.at)
}

export function arrayMap(record: Record): void {
  if (record.kind != Kind.Object) return record.fail('the value is not a JSON object')
  const slice = record.find(path)
  const kind = slice.kind
  if (kind == Kind.Missing || kind == Kind.Null) {
    if (keepsEmpty) emit(record.start, record.end)
    return
  }
  if (kind != Kind.Array) return record.fail('the field ' + field + ' is not an array')
  const start = slice.start
  const end = slice.end
  let p = skipSpace(start + 1, end)
  if (load<u8>(p) == 93 && keepsEmpty) {
    const none = String.UTF8.encode('null')
    put(record, start, end, changetype<usize>(none), changetype<usize>(none) + 4)
  }
  // Until there would be too many, and the record has failed.
  while (load<u8>(p) != 93 && record.failure === null) {
    const after = skipChecked(p)
    put(record, start, end, p, after)
    p = skipSpace(after, end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
}

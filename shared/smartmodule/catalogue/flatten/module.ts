/** dps/flatten: lifts the members of nested objects to the top, under their paths as names. */
import { Config, Kind, Record, Writer, closeOf, keyEnd, keyStart, kindAt, numberOf, skipChecked, skipSpace, twinMember } from 'dps'
import { excerpt } from 'dps/text'
import { TOO_LARGE, fits } from 'dps/abi'

const prefix = new Writer()
const separator = new Writer()
let depthMax: i32 = 0
/** Set where the names of many members, with long names in front, would be more than may be made of a record. */
let isTooLarge: bool = false

export function init(config: Config): void {
  separator.clear()
  const given = config.get('separator')
  // As JSON has it, because it becomes a part of names in JSON.
  if (given.kind == Kind.String) separator.bytes(given.start + 1, given.end - given.start - 2)
  else separator.byte(46)
  const depth = config.get('depth')
  depthMax = depth.kind == Kind.Number ? (numberOf(depth.start, depth.end) as i32) : 128
}

/** True for an object with members, which are lifted; an empty one stays. */
function isLifted(p: usize, depth: i32): bool { return depth < depthMax && kindAt(p) == Kind.Object && load<u8>(skipSpace(p + 1, usize.MAX_VALUE)) != 125 }

/** Writes the members of the object at `p`, with the names so far in front. */
function members(out: Writer, p: usize, depth: i32): void {
  const end = usize.MAX_VALUE
  p = skipSpace(p + 1, end)
  while (load<u8>(p) == 34) {
    const close = closeOf(p + 1)
    const before = prefix.length
    prefix.bytes(p + 1, close - p - 1)
    p = skipSpace(skipSpace(close + 1, end) + 1, end)
    const after = skipChecked(p)
    if (isLifted(p, depth)) {
      prefix.bytes(separator.start, separator.length)
      members(out, p, depth + 1)
      if (isTooLarge) return
    } else {
      isTooLarge = !fits(out.length + prefix.length + (after - p))
      if (isTooLarge) return
      if (out.length > 1) out.byte(44)
      out.byte(34)
      out.bytes(prefix.start, prefix.length)
      out.byte(34)
      out.byte(58)
      out.bytes(p, after - p)
    }
    prefix.at = prefix.start + before
    p = skipSpace(after, end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
}

export function map(record: Record): void {
  if (record.kind != Kind.Object) return record.fail('the value is not a JSON object')
  const out = record.writer()
  prefix.clear()
  prefix.room(64)
  isTooLarge = false
  out.byte(123)
  members(out, skipSpace(record.start, record.end), 0)
  if (isTooLarge) return record.fail(TOO_LARGE)
  out.byte(125)
  record.commit(out)
  if (!record.parse()) return
  const twin = twinMember()
  if (twin >= 0) record.fail('two members have the same name: ' + excerpt(keyStart(twin) - 1, keyEnd(twin) + 1))
}

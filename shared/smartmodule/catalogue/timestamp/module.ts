/** dps/timestamp: gives a record the time that one of its fields has. */
import { Config, FIELD_MISSING, Kind, Path, RECORD_FAILED, Record, Writer, hasBackslash, textOf, unescape } from 'dps'
import { afterBlanks, beforeBlanks, excerpt } from 'dps/text'
import { formatProblem, milliseconds, readFormatted, readIso, tokensOf } from 'dps/time'

let field: string = ''
let path: Path = new Path('')
/** As the config has it; empty for ISO 8601. */
let formatText: string = ''
let tokens: i32[] = []
let keepsTime: bool = false
const plain = new Writer()

export function init(config: Config): void {
  field = config.text('field')
  path = new Path(field)
  keepsTime = config.textOr('on_failure', '') == 'keep'
  tokens = []
  formatText = ''
  const format = config.get('format')
  if (format.kind != Kind.String) return
  formatText = textOf(format.start, format.end)
  tokens = tokensOf(formatText)
  if (tokens.length == 0) config.refuse('config.format ' + formatProblem)
}

/** Why the value [start, end) is no time, with its beginning. */
function failureOf(kind: Kind, start: usize, end: usize): string {
  if (kind == Kind.Missing) return 'is missing'
  if (kind == Kind.Number && tokens.length == 0) return 'is a number, for which config.format must say how it is read, such as unix_ms'
  const wanted = tokens.length == 0 ? 'no time in ISO 8601' : 'no time in the format ' + formatText
  return 'is ' + wanted + ': ' + excerpt(start, end)
}

export function filterMap(record: Record): bool {
  const slice = record.find(path)
  const isText = slice.kind == Kind.String
  let start = isText ? slice.start + 1 : slice.start
  let end = isText ? slice.end - 1 : slice.end
  if (isText && hasBackslash(start, end)) {
    plain.clear()
    plain.room(end - start + 8)
    plain.at = unescape(start, end, plain.start)
    start = plain.start
    end = plain.at
  }
  if (isText) {
    start = afterBlanks(start, end)
    end = beforeBlanks(start, end)
  }
  const isRead = (isText || (slice.kind == Kind.Number && tokens.length > 0)) && (tokens.length > 0 ? readFormatted(tokens, start, end) : readIso(start, end, false))
  if (isRead) record.setTimestamp(milliseconds())
  else if (!keepsTime) {
    const code = slice.kind == Kind.Missing ? FIELD_MISSING : RECORD_FAILED
    record.fail('the field ' + field + ' ' + failureOf(slice.kind, slice.start, slice.end), code)
  }
  return true
}

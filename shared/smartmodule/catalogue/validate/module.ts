/** dps/validate: checks each record against a JSON Schema; what is not valid fails, is dropped, or goes on with a word about it. */
import { Config, FIELD_MISSING, Kind, Path, RECORD_FAILED, Record, Segment, findMember, kindAt, parseJson, skipSpace, valueStart } from 'dps'
import { leavesBytes } from 'dps/abi'
import { fromJson } from '../cel/json'
import { Value, makeConstants, startWork } from '../cel/value'
import { Schema, problem, schemaOf } from './schema'
import { fault, isUndecided, isValid, setSubject } from './check'

const enum Then { Fail, Drop, Keep }
let schema: Schema = new Schema()
let then: Then = Then.Fail
let path: Path | null = null
let report: Segment | null = null
let missing: string = ''
/** The text of the schema, which its values point into. */
let text: ArrayBuffer = new ArrayBuffer(0)
let root: Value | null = null

export function init(config: Config): void {
  leavesBytes()
  const invalid = config.textOr('on_invalid', 'fail')
  then = invalid == 'drop' ? Then.Drop : invalid == 'keep' ? Then.Keep : Then.Fail
  const field = config.textOr('field', '')
  path = field.length > 0 ? new Path(field) : null
  setSubject(field)
  missing = 'the field ' + field + ' is missing'
  const name = config.textOr('report', '')
  report = name.length > 0 ? new Segment(name) : null
  const given = config.get('schema')
  const length = given.end - given.start
  // With room behind it: JSON is read 16 bytes at a time.
  text = new ArrayBuffer((length as i32) + 32)
  const start = changetype<usize>(text)
  memory.copy(start, given.start, length)
  // Last, because the SDK knows one document at a time.
  parseJson(start, start + length)
  startWork()
  makeConstants()
  root = fromJson(start, start + length)
  schema = schemaOf(root!)
  if (problem.length > 0) config.refuse('config.schema: ' + problem)
}

/** Writes the reason into its field; of a valid record, null over what an earlier check has left there. */
function tell(record: Record, name: Segment, valid: bool, why: string): void {
  // What is no object has no place for it, and goes on all the same.
  if (record.kind != Kind.Object) return
  if (!valid) return record.setText(name, why)
  const member = findMember(name)
  if (member >= 0 && kindAt(valueStart(member)) != Kind.Null) record.setNull(name)
}

export function filterMap(record: Record): bool {
  startWork()
  // White space around a value is no part of it, nor of the text or number that it is.
  let start = skipSpace(record.start, record.end)
  let end = record.end
  while (end > start && load<u8>(end - 1) <= 32) end--
  let valid = true
  let why = ''
  let code = RECORD_FAILED
  if (path !== null) {
    const slice = record.find(path!)
    if (slice.kind == Kind.Missing) {
      valid = false
      why = missing
      code = FIELD_MISSING
    }
    start = slice.start
    end = slice.end
  }
  if (valid) {
    valid = isValid(schema, fromJson(start, end))
    why = fault
    if (isUndecided) {
      record.fail(why)
      return false
    }
  }
  if (valid || then == Then.Keep) {
    if (report !== null && then == Then.Keep) tell(record, report!, valid, why)
    return true
  }
  if (then == Then.Fail) record.fail(why, code)
  return false
}

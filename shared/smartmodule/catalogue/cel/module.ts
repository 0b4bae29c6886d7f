/** dps/cel: filters, changes and multiplies records by expressions of the Common Expression Language (cel.dev). */
import { Config, Items, Kind, Members, Record, Segment, Writer, emit, findMember, kindAt, memberCount, textOf, valueEnd, valueStart } from 'dps'
import { leavesBytes, passOn } from 'dps/abi'
import { NO_MEMBER, addEdit, clearEdits, roomForEdits, values, writeEdits } from 'dps/edits'
import { look, result } from './evaluate'
import { Expression, failBy } from './expression'
import { itemsOf, putJson } from './json'
import { holds, notACondition } from './holds'
import { allowRoots, compile, problem } from './parser'
import { K, Value, isTooMuch, stringOf, tooMuch, typeNameOf } from './value'

class Assignment {
  name: Segment
  by: Expression
  constructor(name: string, by: Expression) {
    this.name = new Segment(name)
    this.by = by
  }
}

let condition: Expression | null = null
let assignments: Assignment[] = []
/** Each makes a record; one alone that is a list makes a record of each of its items. */
let outputs: Expression[] = []
let isList: bool = false

/** What is wrong with the config, a line each, so that all expressions can be mended at once. */
let faults: string[] = []

function compiled(where: string, start: usize, end: usize): Expression | null {
  if (kindAt(start) != Kind.String) {
    faults.push('config.' + where + ' must be an expression, as text')
    return null
  }
  const text = textOf(start, end)
  const node = compile(text, true)
  if (problem.length > 0) faults.push('config.' + where + ': ' + problem)
  return new Expression(node, text, where)
}

export function init(config: Config): void {
  leavesBytes()
  faults = []
  condition = null
  assignments = []
  outputs = []
  allowRoots()
  const filter = config.get('filter')
  if (filter.kind != Kind.Missing) {
    condition = compiled('filter', filter.start, filter.end)
    if (condition !== null && problem.length == 0) {
      const why = notACondition(condition!.node)
      if (why.length > 0) faults.push('config.filter' + why)
    }
  }
  const set = config.get('set')
  if (set.kind == Kind.Object) readAssignments(set.start, set.end)
  else if (set.kind != Kind.Missing) faults.push('config.set must be an object of field: expression')
  const given = config.get('emit')
  isList = given.kind == Kind.String
  if (isList) {
    const output = compiled('emit', given.start, given.end)
    if (output !== null) outputs.push(output)
  } else if (given.kind == Kind.Array) readOutputs(given.start, given.end)
  else if (given.kind != Kind.Missing) faults.push('config.emit must be an expression, or an array of expressions')
  roomForEdits(assignments.length)
  if (faults.length > 0) config.refuse(faults.join('\n'))
  else if (condition === null && assignments.length == 0 && outputs.length == 0) config.refuse('config needs filter, set or emit')
}

function readAssignments(start: usize, end: usize): void {
  const members = new Members(start, end)
  while (members.next()) {
    const by = compiled('set.' + members.name, members.start, members.end)
    if (by !== null) assignments.push(new Assignment(members.name, by))
  }
}

function readOutputs(start: usize, end: usize): void {
  const items = new Items(start, end)
  for (let i = 0; items.next(); i++) {
    const output = compiled('emit[' + i.toString() + ']', items.start, items.end)
    if (output !== null) outputs.push(output)
  }
}

/** Writes the JSON of what an expression gave; false where it has none, and the record has failed then. */
function write(record: Record, out: Writer, by: Expression, value: Value): bool {
  if (value.kind == K.Error) {
    failBy(record, by, value)
    return false
  }
  const wrong = putJson(out, value)
  if (wrong === null) return true
  record.fail(by.shown + ': ' + (wrong.kind == K.Error ? stringOf(wrong) : 'a ' + typeNameOf(wrong) + ' is no JSON'))
  return false
}

/** The values of all assignments are of the record as it came; none sees another's change. */
function assign(record: Record): bool {
  if (record.kind != Kind.Object) {
    record.fail('set: the value is not a JSON object')
    return false
  }
  clearEdits()
  let close = record.end - 1
  while (load<u8>(close) != 125) close--
  let isFirst = memberCount == 0
  for (let i = 0; i < assignments.length; i++) {
    const name = assignments[i].name
    const member = findMember(name)
    const from = values.length
    if (member < 0) {
      if (!isFirst) values.byte(44)
      isFirst = false
      values.quoted(changetype<usize>(name.bytes), name.length)
      values.byte(58)
    }
    if (!write(record, values, assignments[i].by, result(assignments[i].by.node))) return false
    if (member < 0) addEdit(close, close, from, values.length - from, NO_MEMBER)
    else addEdit(valueStart(member), valueEnd(member), from, values.length - from, NO_MEMBER)
  }
  writeEdits(record)
  return true
}

const written = new Writer()

/** Emits the value as a record; a null makes none. */
function put(record: Record, by: Expression, value: Value): bool {
  const given = value.kind == K.Optional && value.items !== null ? value.items![0] : value
  if (given.kind == K.Null || given.kind == K.Optional) return true
  written.clear()
  if (!write(record, written, by, value)) return false
  emit(written.start, written.at)
  return true
}

export function arrayMap(record: Record): void {
  if (condition === null) look(record)
  else if (!holds(record, condition!)) return
  if (assignments.length > 0) {
    if (!assign(record)) return
    if (outputs.length > 0) {
      record.parse()
      look(record)
    }
  }
  if (outputs.length == 0) {
    if (assignments.length == 0) passOn()
    else emit(record.start, record.end)
    return
  }
  for (let i = 0; i < outputs.length; i++) {
    const value = result(outputs[i].node)
    if (!isList || value.kind != K.List) {
      if (!put(record, outputs[i], value)) return
      continue
    }
    const items = itemsOf(value)
    if (isTooMuch(0)) {
      record.fail('emit: ' + stringOf(tooMuch()))
      return
    }
    for (let k = 0; k < items.length; k++) if (!put(record, outputs[i], items[k])) return
  }
}

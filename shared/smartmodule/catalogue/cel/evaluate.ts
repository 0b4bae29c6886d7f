/** Evaluates a compiled expression over the current record. Errors are values: `&&`, `||`, `all` and `exists` may not need them. */
import { Kind, Record, findMember, memberCount, skipChecked, skipSpace, valueEnd, valueStart } from 'dps'
import { arithmetic, minus } from './arithmetic'
import { NO_ORDER, UNORDERED, compare, isSame } from './compare'
import { comprehension } from './comprehension'
import { Fn, call } from './functions'
import { entryOf, fieldOf, fromJson, fromJsonOf, itemsOf, memberOf } from './json'
import { extreme } from './math'
import { Node, Op, Root } from './node'
import { LOCALS_MAX } from './parser'
import {
  FALSE,
  K,
  NONE,
  NULL,
  TRUE,
  Value,
  bytesAt,
  fail,
  isTooMuch,
  noOverload,
  ofBool,
  ofInt,
  ofList,
  ofMap,
  ofOptional,
  ofTimestamp,
  startWork,
  stringOf,
  tooMuch,
} from './value'

export const locals: StaticArray<Value> = new StaticArray<Value>(LOCALS_MAX + 2).fill(NULL)
/** Values of the names that a test has bound, by their ids from `Root.Bound` on. */
export let bound: Value[] = []
let record: Record | null = null
/** The record's value and headers, once something has asked for them. */
let whole: Value | null = null
let headers: Value | null = null

/** Starts with another record, and forgets the one before, whose values may be collected now. */
export function look(at: Record): void {
  record = at
  for (let i = 0; i < LOCALS_MAX + 2 && locals[i] != NULL; i++) locals[i] = NULL
  whole = null
  headers = null
  startWork()
}

/** What the whole expression gives: an error where it took more than a record's share, whatever else it came to. */
export function result(node: Node): Value {
  const value = evaluate(node)
  return isTooMuch(0) ? tooMuch() : value
}

export function evaluate(node: Node): Value {
  if (isTooMuch(1)) return tooMuch()
  switch (node.op) {
    case Op.Const:
      return node.value!
    case Op.Local:
      return locals[node.id]
    case Op.Variable:
      return variable(node.id)
    case Op.Field: {
      if (isLongSearch()) return tooMuch()
      const slice = record!.find(node.path!)
      return slice.kind == Kind.Missing ? noSuchKey(node.name) : fromJsonOf(slice.kind, slice.start, slice.end)
    }
    case Op.Select:
      return isDocument(node) && node.flag ? member(node) : select(evaluate(node.args[0]), node)
    case Op.Has:
      return isDocument(node) ? hasMember(node) : has(node)
    case Op.Index:
      return isDocument(node) && node.segment !== null ? member(node) : index(evaluate(node.args[0]), evaluate(node.args[1]), node.flag)
    case Op.List:
      return listOf(node)
    case Op.Map:
      return mapOf(node)
    case Op.And:
      return both(node, FALSE)
    case Op.Or:
      return both(node, TRUE)
    case Op.Not: {
      const value = evaluate(node.args[0])
      return value.kind == K.Bool ? ofBool(value.n == 0) : value.kind == K.Error ? value : noOverload('!_', value)
    }
    case Op.Minus:
      return minus(evaluate(node.args[0]))
    case Op.Condition: {
      const condition = evaluate(node.args[0])
      if (condition.kind == K.Bool) return evaluate(node.args[condition.n != 0 ? 1 : 2])
      return condition.kind == K.Error ? condition : noOverload('_?_:_', condition)
    }
    case Op.Call:
      return callOf(node)
    case Op.Greatest:
    case Op.Least:
      return extremeOf(node)
    default:
      return node.op >= Op.All ? comprehension(node) : binary(node)
  }
}

function noSuchKey(name: string): Value {
  return fail('no such key: ' + name)
}

/** Whether the node asks something of the record's value, which is an object: its members are known, and the value need not be made. */
function isDocument(node: Node): bool {
  const target = unchecked(node.args[0])
  return target.op == Op.Variable && target.id == Root.Value && record!.kind == Kind.Object
}

/** Members of a small object, or of one with the keys of the record before, are found at once. Whether the record had its share. */
// @ts-ignore: decorator
@inline
function isLongSearch(): bool { return memberCount > 64 && isTooMuch(memberCount >> 4) }

function hasMember(node: Node): Value {
  return isLongSearch() ? tooMuch() : ofBool(findMember(node.segment!) >= 0)
}

/** The member of the record's value that the node names; an optional one with a flag. */
function member(node: Node): Value {
  if (isLongSearch()) return tooMuch()
  const at = findMember(node.segment!)
  if (at < 0) return node.flag ? NONE : noSuchKey(node.name)
  const value = fromJson(valueStart(at), valueEnd(at))
  return node.flag ? ofOptional(value) : value
}

function variable(id: i32): Value {
  if (id >= Root.Bound) return bound[id - Root.Bound]
  const from = record!
  if (id == Root.Value) {
    if (whole === null) {
      const start = skipSpace(from.start, from.end)
      whole = fromJson(start, skipChecked(start))
    }
    return whole!
  }
  if (id == Root.Key)
    return from.keyLength < 0
      ? NULL
      : bytesAt(from.isText(from.keyStart, from.keyLength) ? K.String : K.Bytes, from.keyStart, from.keyLength)
  if (id == Root.Offset) return ofInt(from.offset)
  if (id == Root.Partition) return ofInt(from.partition)
  if (id == Root.Timestamp) {
    const rest = from.timestamp % 1000
    return ofTimestamp(from.timestamp / 1000 - (rest < 0 ? 1 : 0), ((rest < 0 ? rest + 1000 : rest) * 1000000) as i32)
  }
  if (headers === null) headers = headersOf(from)
  return headers!
}

/** Each header's name with its last value: a text, or bytes that are not UTF-8. */
function headersOf(from: Record): Value {
  const keys: Value[] = []
  const items: Value[] = []
  from.openHeaders()
  // The last of several with one name counts, as everywhere in Kafka; a name that is no text can't be asked for.
  while (from.nextHeader()) {
    if (!from.isText(from.headerStart, from.headerLength) || isTooMuch(1)) continue
    const name = bytesAt(K.String, from.headerStart, from.headerLength)
    let known = -1
    for (let i = keys.length - 1; i >= 0 && known < 0; i--) if (isSame(keys[i], name)) known = i
    if (known >= 0) {
      keys.splice(known, 1)
      items.splice(known, 1)
    }
    if (isTooMuch(keys.length >> 2)) break
    keys.push(name)
    items.push(
      from.headerValueLength < 0
        ? NULL
        : bytesAt(
            from.isText(from.headerValueStart, from.headerValueLength) ? K.String : K.Bytes,
            from.headerValueStart,
            from.headerValueLength,
          ),
    )
  }
  return ofMap(keys, items)
}

function select(target: Value, node: Node): Value {
  if (target.kind == K.Optional) {
    if (target.items === null) return NONE
    return optionalField(target.items![0], node)
  }
  if (target.kind == K.Error) return target
  if (node.flag) return optionalField(target, node)
  if (target.kind != K.Map) return noOverload('_.' + node.name, target)
  const found = fieldOf(target, node.segment!)
  return found === null ? noSuchKey(node.name) : found
}

function optionalField(target: Value, node: Node): Value {
  if (target.kind != K.Map) return noOverload('_.?' + node.name, target)
  const found = fieldOf(target, node.segment!)
  return found === null ? NONE : ofOptional(found)
}

function has(node: Node): Value {
  let target = evaluate(node.args[0])
  if (target.kind == K.Optional) {
    if (target.items === null) return FALSE
    target = target.items![0]
  }
  if (target.kind == K.Error) return target
  return target.kind == K.Map ? ofBool(fieldOf(target, node.segment!) !== null) : noOverload('has', target)
}

function index(target: Value, at: Value, isOptional: bool): Value {
  if (target.kind == K.Error) return target
  if (at.kind == K.Error) return at
  if (target.kind == K.Optional) {
    if (target.items === null) return NONE
    return index(target.items![0], at, true)
  }
  let found: Value | null = null
  if (target.kind == K.List) {
    const items = itemsOf(target)
    let place: i64 = -1
    if (at.kind == K.Int) place = at.n
    else if (at.kind == K.Uint) place = at.n < 0 ? i64.MAX_VALUE : at.n
    else if (at.kind == K.Double && Math.trunc(at.d) == at.d) place = at.d as i64
    else return noOverload('_[_]', target, at)
    if (place >= 0 && place < (items.length as i64)) found = items[place as i32]
    else if (!isOptional) return fail('index out of bounds: ' + place.toString())
  } else if (target.kind == K.Map) {
    if (target.items === null && at.kind == K.String) found = memberOf(target, at)
    else {
      if (isTooMuch(itemsOf(target).length)) return tooMuch()
      found = entryOf(target, at)
    }
    if (found === null && !isOptional) return noSuchKey(at.kind == K.String ? stringOf(at) : at.n.toString())
  } else return noOverload('_[_]', target, at)
  if (found === null) return NONE
  return isOptional ? ofOptional(found) : found
}

function listOf(node: Node): Value {
  if (isTooMuch(2)) return tooMuch()
  const items: Value[] = []
  for (let i = 0; i < node.args.length; i++) {
    const value = evaluate(node.args[i])
    if (value.kind == K.Error) return value
    if (!node.optionals[i]) items.push(value)
    else if (value.kind != K.Optional) return noOverload('[?_]', value)
    else if (value.items !== null) items.push(value.items![0])
  }
  return ofList(items)
}

function mapOf(node: Node): Value {
  if (isTooMuch(3)) return tooMuch()
  const keys: Value[] = []
  const items: Value[] = []
  const map = ofMap(keys, items)
  for (let i = 0; i < node.args.length; i += 2) {
    const key = evaluate(node.args[i])
    if (key.kind == K.Error) return key
    const isKey = key.kind == K.Int || key.kind == K.Uint || key.kind == K.Bool || key.kind == K.String
    if (!isKey) return fail('unsupported key type')
    let value = evaluate(node.args[i + 1])
    if (value.kind == K.Error) return value
    if (node.optionals[i / 2]) {
      if (value.kind != K.Optional) return noOverload('{?_:_}', value)
      if (value.items === null) continue
      value = value.items![0]
    }
    if (entryOf(map, key) !== null) return fail('repeated key in a map')
    keys.push(key)
    items.push(value)
  }
  return map
}

/** The value of an argument of a node that has so many; a constant needs no further call. */
// @ts-ignore: decorator
@inline
function argument(node: Node, i: i32): Value {
  const at = unchecked(node.args[i])
  return at.op == Op.Const ? at.value! : evaluate(at)
}

/** `&&` and `||`: one side that decides is enough, whatever the other one is. */
function both(node: Node, deciding: Value): Value {
  const left = argument(node, 0)
  if (left == deciding || (left.kind == K.Bool && left.n == deciding.n)) return deciding
  const right = argument(node, 1)
  if (right == deciding || (right.kind == K.Bool && right.n == deciding.n)) return deciding
  if (left.kind == K.Bool && right.kind == K.Bool) return left
  if (left.kind == K.Error) return left
  if (right.kind == K.Error) return right
  return noOverload(node.op == Op.And ? '_&&_' : '_||_', left, right)
}

function binary(node: Node): Value {
  const a = argument(node, 0)
  if (a.kind == K.Error) return a
  const b = argument(node, 1)
  if (b.kind == K.Error) return b
  const op = node.op
  if (op <= Op.Modulo) return arithmetic(op, a, b)
  if (op == Op.Equal) return ofBool(isSame(a, b))
  if (op == Op.NotEqual) return ofBool(!isSame(a, b))
  if (op == Op.In) return isIn(a, b)
  if (a.kind == K.Double && b.kind == K.Double) return ofBool(isOrdered(op, a.d, b.d))
  const order = compare(a, b)
  if (order == NO_ORDER) return noOverload(op <= Op.LessEqual ? '_<_' : '_>_', a, b)
  if (order == UNORDERED) return FALSE
  return ofBool(op == Op.Less ? order < 0 : op == Op.LessEqual ? order <= 0 : op == Op.Greater ? order > 0 : order >= 0)
}

// @ts-ignore: decorator
@inline
function isOrdered(op: Op, a: f64, b: f64): bool { return op == Op.Less ? a < b : op == Op.LessEqual ? a <= b : op == Op.Greater ? a > b : a >= b }

function isIn(a: Value, target: Value): Value {
  if (target.kind != K.List && target.kind != K.Map) return noOverload('_in_', a, target)
  if (target.items === null && target.kind == K.Map && a.kind == K.String) return ofBool(memberOf(target, a) !== null)
  const items = itemsOf(target)
  if (isTooMuch(items.length)) return tooMuch()
  if (target.kind == K.Map) return ofBool(entryOf(target, a) !== null)
  for (let i = 0; i < items.length; i++) if (isSame(items[i], a)) return TRUE
  return FALSE
}

function callOf(node: Node): Value {
  const args = node.args
  const count = args.length
  const a = count > 0 ? argument(node, 0) : NULL
  if (a.kind == K.Error) return a
  // The other side of an optional that has a value is not looked at.
  if (a.kind == K.Optional && a.items !== null && count == 2) {
    if (node.id == Fn.OrValue) return a.items![0]
    if (node.id == Fn.Or) return a
  }
  const b = count > 1 ? argument(node, 1) : NULL
  if (b.kind == K.Error) return b
  const c = count > 2 ? argument(node, 2) : NULL
  if (c.kind == K.Error) return c
  const d = count > 3 ? argument(node, 3) : NULL
  return d.kind == K.Error ? d : call(node, count, a, b, c, d)
}

function extremeOf(node: Node): Value {
  const values: Value[] = []
  for (let i = 0; i < node.args.length; i++) {
    const value = evaluate(node.args[i])
    if (value.kind == K.Error) return value
    values.push(value)
  }
  const isList = values.length == 1 && values[0].kind == K.List
  return extreme(node.name, node.op == Op.Greatest, isList ? itemsOf(values[0]) : values)
}

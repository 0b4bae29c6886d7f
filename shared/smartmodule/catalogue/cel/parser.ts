/** Compiles an expression: CEL's grammar, its macros, and what names stand for. One expression at a time, in this file's variables. */
import { Path, Segment } from 'dps'
import { globalCall, memberCall } from './calls'
import { T, isWhole, literal, next, open, token, tokenAt, word, wrong } from './lexer'
import { Node, Op, Root } from './node'
import { FALSE, K, NULL, TRUE, Value, fail, makeConstants, ofInt, ofType, stringOf } from './value'

const DEPTH_MAX: i32 = 250
const PATH_MAX: i32 = 128
/** Variables of comprehensions within one another. */
export const LOCALS_MAX: i32 = 64

/** What is wrong with the expression, with line and column; empty for none. */
export let problem: string = ''
let source: string = ''
let depth: i32 = 0
/** The variables of the comprehensions around, from the outside in: a variable's slot is its place. */
export const scope: string[] = []
let roots: string[] = []
let rootIds: i32[] = []
let isStrict: bool = true

/** Forgets what an expression may use. */
export function allowNone(): void {
  roots = []
  rootIds = []
}

/** A name that an expression may use; `id` is what a node of it gets. */
export function allow(name: string, id: i32): void {
  roots.push(name)
  rootIds.push(id)
}

/** What every expression over a record may use. */
export function allowRoots(): void {
  allowNone()
  allow('value', Root.Value)
  allow('key', Root.Key)
  allow('headers', Root.Headers)
  allow('timestamp', Root.Timestamp)
  allow('partition', Root.Partition)
  allow('offset', Root.Offset)
}

/** In a lenient expression an unknown name fails where it is evaluated, and not here. */
export function compile(text: string, strict: bool): Node {
  makeConstants()
  source = text
  problem = ''
  depth = 0
  scope.length = 0
  isStrict = strict
  open(text)
  const node = expression()
  if (problem.length == 0 && token != T.End) refuse(token == T.Wrong ? wrong : 'the expression should end here')
  return node
}

/** Line and column of a place in an expression's text, both from 1. */
export function placeIn(text: string, at: i32): string {
  let line = 1
  let start = 0
  for (let i = 0; i < at && i < text.length; i++) {
    if (text.charCodeAt(i) != 10) continue
    line++
    start = i + 1
  }
  return line.toString() + ':' + (at - start + 1).toString()
}

export function refuseAt(at: i32, why: string): Node {
  if (problem.length == 0) problem = placeIn(source, at) + ': ' + why
  return new Node(Op.Const, at)
}

export function refuse(why: string): Node {
  return refuseAt(tokenAt, token == T.Wrong ? wrong : why)
}

export function isSign(sign: string): bool {
  return token == T.Sign && word == sign
}

export function accept(sign: string): bool {
  if (!isSign(sign)) return false
  next()
  return true
}

export function expect(sign: string): void {
  if (!accept(sign)) refuse('expected ' + sign)
}

function constant(at: i32, value: Value): Node {
  const node = new Node(Op.Const, at)
  node.value = value
  return node
}

export function unknown(at: i32, why: string): Node {
  return isStrict ? refuseAt(at, why) : constant(at, fail(why))
}

function binary(op: Op, at: i32, left: Node, right: Node): Node {
  const node = new Node(op, at)
  node.args.push(left)
  node.args.push(right)
  return node
}

export function expression(): Node {
  if (++depth > DEPTH_MAX) return refuse('the expression is nested too deeply')
  const condition = orExpression()
  depth--
  if (!isSign('?') || problem.length > 0) return condition
  const node = new Node(Op.Condition, tokenAt)
  next()
  node.args.push(condition)
  node.args.push(orExpression())
  expect(':')
  node.args.push(expression())
  return node
}

function orExpression(): Node {
  let node = andExpression()
  while (isSign('||') && problem.length == 0) {
    const at = tokenAt
    next()
    node = binary(Op.Or, at, node, andExpression())
  }
  return node
}

function andExpression(): Node {
  let node = relation()
  while (isSign('&&') && problem.length == 0) {
    const at = tokenAt
    next()
    node = binary(Op.And, at, node, relation())
  }
  return node
}

const RELATIONS: string[] = ['==', '!=', '<', '<=', '>', '>=']

function relation(): Node {
  let node = sum()
  while (problem.length == 0) {
    const found = token == T.Sign ? RELATIONS.indexOf(word) : -1
    const isIn = token == T.Name && word == 'in'
    if (found < 0 && !isIn) break
    const at = tokenAt
    next()
    node = binary(isIn ? Op.In : ((Op.Equal + found) as Op), at, node, sum())
  }
  return node
}

function sum(): Node {
  let node = product()
  while ((isSign('+') || isSign('-')) && problem.length == 0) {
    const op = word == '+' ? Op.Add : Op.Subtract
    const at = tokenAt
    next()
    node = binary(op, at, node, product())
  }
  return node
}

function product(): Node {
  let node = unary()
  while ((isSign('*') || isSign('/') || isSign('%')) && problem.length == 0) {
    const op = word == '*' ? Op.Multiply : word == '/' ? Op.Divide : Op.Modulo
    const at = tokenAt
    next()
    node = binary(op, at, node, unary())
  }
  return node
}

function unary(): Node {
  const sign = token == T.Sign ? word : ''
  if (sign != '!' && sign != '-') return member()
  const at = tokenAt
  let isOdd = false
  while (isSign(sign)) {
    isOdd = !isOdd
    next()
  }
  // -2^63 has no positive counterpart: a minus before a number belongs to it.
  if (sign == '-' && isOdd && token == T.Literal && isWhole && literal!.n == i64.MIN_VALUE) {
    next()
    return members(constant(at, ofInt(i64.MIN_VALUE)))
  }
  const inner = member()
  if (!isOdd) return inner
  const node = new Node(sign == '!' ? Op.Not : Op.Minus, at)
  node.args.push(inner)
  return node
}

function member(): Node {
  return members(primary())
}

function members(node: Node): Node {
  let count = 0
  while (problem.length == 0) {
    if (++count > 1000) return refuse('the expression is nested too deeply')
    const at = tokenAt
    if (accept('.')) {
      const isOptional = accept('?')
      if (token != T.Name && token != T.Quoted) return refuse('expected a name')
      const name = word
      const isName = token == T.Name
      next()
      node = isName && !isOptional && isSign('(') ? memberCall(node, name, at) : select(node, name, at, isOptional)
    } else if (accept('[')) {
      const index = new Node(Op.Index, at)
      index.flag = accept('?')
      index.args.push(node)
      const key = expression()
      index.args.push(key)
      const name = key.op == Op.Const ? key.value : null
      if (name !== null && name.kind == K.String) {
        index.name = stringOf(name)
        index.segment = new Segment(index.name)
      }
      expect(']')
      node = index
    } else if (isSign('{')) return refuse('messages can’t be made: use a map, {"name": value}')
    else break
  }
  return node
}

function select(node: Node, name: string, at: i32, isOptional: bool): Node {
  if (node.op == Op.Field && node.path!.segments.length >= PATH_MAX) return refuseAt(at, 'the path has more than ' + PATH_MAX.toString() + ' names')
  const segment = new Segment(name)
  // A name is never an index.
  segment.index = -1
  const isValue = (node.op == Op.Variable && node.id == Root.Value) || node.op == Op.Field
  const selected = new Node(isValue && !isOptional ? Op.Field : Op.Select, at)
  selected.name = name
  selected.segment = segment
  selected.flag = isOptional
  selected.args.push(node)
  if (selected.op == Op.Field) {
    const path = new Path('')
    path.segments = node.op == Op.Field ? node.path!.segments.concat([segment]) : [segment]
    selected.path = path
    if (node.op == Op.Field) selected.name = node.name + '.' + name
  }
  return selected
}

export const RESERVED: string[] = [
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
  'in',
]
const TYPES: string[] = ['null_type', 'bool', 'int', 'uint', 'double', 'string', 'bytes', 'list', 'map', 'type', 'optional_type']
const NAMESPACES: string[] = ['math', 'strings', 'optional', 'base64', 'cel']

function primary(): Node {
  const at = tokenAt
  if (token == T.Literal) {
    if (isWhole && literal!.n == i64.MIN_VALUE) return refuse('the number does not fit into 64 bits')
    const node = constant(at, literal!)
    next()
    return node
  }
  if (accept('(')) {
    const node = expression()
    expect(')')
    return node
  }
  if (accept('[')) return listLiteral(at)
  if (accept('{')) return mapLiteral(at)
  const isRooted = accept('.')
  if (token != T.Name) return refuse(token == T.End ? 'the expression ends too early' : 'unexpected ' + word)
  return named(at, isRooted)
}

function named(at: i32, isRooted: bool): Node {
  let name = word
  if (!isRooted) {
    if (name == 'true' || name == 'false' || name == 'null') {
      next()
      return constant(at, name == 'true' ? TRUE : name == 'false' ? FALSE : NULL)
    }
    const slot = scope.lastIndexOf(name)
    if (slot >= 0) {
      next()
      const node = new Node(Op.Local, at)
      node.id = slot
      return node
    }
  }
  if (RESERVED.includes(name)) return refuse(name + ' is a reserved word')
  next()
  const root = roots.indexOf(name)
  if (root >= 0 && !isSign('(')) {
    const node = new Node(Op.Variable, at)
    node.id = rootIds[root]
    node.name = name
    return node
  }
  if (isSign('(')) return globalCall(name, at)
  if (TYPES.includes(name)) return constant(at, ofType(name))
  // Functions of extensions, and the names of two types, have dots.
  const isNamespace = NAMESPACES.includes(name)
  while ((isNamespace || name == 'google' || name == 'google.protobuf') && isSign('.')) {
    next()
    name += '.' + word
    next()
    if (isNamespace && isSign('(')) return globalCall(name, at)
  }
  if (name == 'google.protobuf.Timestamp' || name == 'google.protobuf.Duration') return constant(at, ofType(name))
  return unknown(at, name + ' is not known here')
}

function listLiteral(at: i32): Node {
  const node = new Node(Op.List, at)
  while (!isSign(']') && problem.length == 0) {
    node.optionals.push(accept('?'))
    node.args.push(expression())
    if (!accept(',')) break
  }
  expect(']')
  return node
}

function mapLiteral(at: i32): Node {
  const node = new Node(Op.Map, at)
  while (!isSign('}') && problem.length == 0) {
    node.optionals.push(accept('?'))
    node.args.push(expression())
    expect(':')
    node.args.push(expression())
    if (!accept(',')) break
  }
  expect('}')
  return node
}

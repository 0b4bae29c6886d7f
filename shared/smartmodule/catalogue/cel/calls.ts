/** Calls and macros: functions by their names, and the variables that macros bring. */
import { Fn, functionNamed, takes } from './functions'
import { T, goTo, next, token, tokenAt, word } from './lexer'
import { Node, Op } from './node'
import { compileRegex } from './regex'
import { K, stringOf } from './value'
import { LOCALS_MAX, RESERVED, accept, expect, expression, isSign, problem, refuse, refuseAt, scope, unknown } from './parser'

function args(to: Node): void {
  expect('(')
  while (!isSign(')') && problem.length == 0) {
    to.args.push(expression())
    if (!accept(',')) break
  }
  expect(')')
}

export function globalCall(name: string, at: i32): Node {
  if (name == 'has') return hasCall(at)
  if (name == 'cel.bind') return bindCall(at)
  const isGreatest = name == 'math.greatest'
  const node = new Node(isGreatest ? Op.Greatest : name == 'math.least' ? Op.Least : Op.Call, at)
  node.name = name
  args(node)
  if (node.op != Op.Call) return node.args.length > 0 ? node : unknown(at, name + ' needs a value')
  node.id = functionNamed(name)
  if (node.id < 0) return unknown(at, 'there is no function ' + name)
  return checked(node, at)
}

/** What would fail for every record is refused at once: a wrong number of arguments, a pattern that is none. */
function checked(node: Node, at: i32): Node {
  if (!takes(node.id, node.args.length)) return unknown(at, node.name + ' has a wrong number of arguments')
  if (node.id != Fn.Matches) return node
  const pattern = node.args[1].value
  if (pattern === null || pattern.kind != K.String) return node
  const regex = compileRegex(stringOf(pattern))
  if (regex.error.length > 0) return unknown(node.args[1].at, regex.error)
  node.regex = regex
  return node
}

function hasCall(at: i32): Node {
  expect('(')
  const inner = expression()
  expect(')')
  if (inner.op != Op.Field && inner.op != Op.Select) return refuseAt(at, 'has() needs a field, as in has(value.name)')
  const node = new Node(Op.Has, at)
  node.segment = inner.segment
  node.name = inner.name
  node.args = inner.args
  return node
}

/** Reads the name of a variable and the comma behind it; empty when there is none. */
function variable(): string {
  const name = token == T.Name ? word : ''
  if (name.length == 0 || RESERVED.includes(name)) {
    refuse('expected the name of a variable')
    return ''
  }
  next()
  expect(',')
  return name
}

function bindCall(at: i32): Node {
  expect('(')
  const node = new Node(Op.Bind, at)
  const name = variable()
  node.args.push(expression())
  expect(',')
  within(node, [name], 1)
  expect(')')
  return node
}

/** Parses `count` more arguments, in which these variables are known. */
function within(node: Node, names: string[], count: i32): void {
  const known = scope.length
  if (known + names.length > LOCALS_MAX) {
    refuse('the expression is nested too deeply')
    return
  }
  node.id = known
  for (let i = 0; i < names.length; i++) scope.push(names[i])
  for (let i = 0; i < count && problem.length == 0; i++) {
    if (i > 0) expect(',')
    node.args.push(expression())
  }
  scope.length = known
}

/** Arguments up to the closing bracket, which the lexer then reads again. */
function countArguments(): i32 {
  const from = tokenAt
  let inner = 0
  let count = isSign(')') ? 0 : 1
  while (token != T.End && token != T.Wrong) {
    if (isSign('(') || isSign('[') || isSign('{')) inner++
    else if (isSign(']') || isSign('}')) inner--
    else if (isSign(')')) {
      if (inner == 0) break
      inner--
    } else if (inner == 0 && isSign(',')) count++
    next()
  }
  goTo(from)
  return count
}

const MACROS: string[] = [
  'all',
  'exists',
  'exists_one',
  'existsOne',
  'map',
  'filter',
  'transformList',
  'transformMap',
  'optMap',
  'optFlatMap',
]
const MACRO_OPS: i32[] = [
  Op.All,
  Op.Exists,
  Op.ExistsOne,
  Op.ExistsOne,
  Op.Transform,
  Op.Filter,
  Op.Transform,
  Op.TransformMap,
  Op.OptMap,
  Op.OptFlatMap,
]

export function memberCall(target: Node, name: string, at: i32): Node {
  const macro = MACROS.indexOf(name)
  if (macro >= 0) {
    next()
    const count = countArguments()
    const isTransform = macro == 6 || macro == 7
    const isTwo = isTransform || (macro < 4 && count == 3)
    const bodies = count - (isTwo ? 2 : 1)
    const node = new Node(MACRO_OPS[macro] as Op, at)
    // map and transform… may have a condition before what they make.
    if (bodies < 1 || bodies > (isTransform || macro == 4 ? 2 : 1)) return refuseAt(at, name + ' has a wrong number of arguments')
    node.flag = isTwo
    node.name = name
    node.args.push(target)
    const names = [variable()]
    if (isTwo) names.push(variable())
    if (isTwo && names[0] == names[1]) refuse('two variables need two names')
    within(node, names, bodies)
    expect(')')
    return node
  }
  const node = new Node(Op.Call, at)
  node.name = name
  node.args.push(target)
  node.id = functionNamed('.' + name)
  // Before its arguments: in those of a misspelt macro its variable would be named as unknown.
  const missing = node.id < 0 ? unknown(at, 'there is no function ' + name) : null
  args(node)
  return missing !== null ? missing : checked(node, at)
}

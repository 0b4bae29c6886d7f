/** The macros: all, exists, exists_one, filter, map and their forms with two variables, cel.bind, optMap and optFlatMap. */
import { evaluate, locals } from './evaluate'
import { itemsOf, keysOf } from './json'
import { Node, Op } from './node'
import { FALSE, K, NONE, TRUE, Value, isTooMuch, noOverload, ofBool, ofInt, ofList, ofMap, ofOptional, tooMuch } from './value'

export function comprehension(node: Node): Value {
  const target = evaluate(node.args[0])
  if (target.kind == K.Error) return target
  if (node.op == Op.Bind) {
    locals[node.id] = target
    return evaluate(node.args[1])
  }
  if (node.op == Op.OptMap || node.op == Op.OptFlatMap) return ofTheOptional(node, target)
  if (target.kind != K.List && target.kind != K.Map) return noOverload(node.name, target)
  if (node.op == Op.All || node.op == Op.Exists) return quantified(node, target)
  if (node.op == Op.ExistsOne) return existsOne(node, target)
  return collected(node, target)
}

function ofTheOptional(node: Node, target: Value): Value {
  if (target.kind != K.Optional) return noOverload(node.name, target)
  if (target.items === null) return NONE
  locals[node.id] = target.items![0]
  const result = evaluate(node.args[1])
  if (result.kind == K.Error || node.op == Op.OptFlatMap)
    return result.kind == K.Error || result.kind == K.Optional ? result : noOverload(node.name, result)
  return ofOptional(result)
}

/** Sets the variables to item `i`: of a list its item, of a map its key; with two variables index and item, or key and value. */
function take(node: Node, target: Value, i: i32): void {
  const isMap = target.kind == K.Map
  if (node.flag) {
    locals[node.id] = isMap ? keysOf(target)[i] : ofInt(i)
    locals[node.id + 1] = itemsOf(target)[i]
  } else locals[node.id] = isMap ? keysOf(target)[i] : itemsOf(target)[i]
}

function quantified(node: Node, target: Value): Value {
  const isAll = node.op == Op.All
  const count = itemsOf(target).length
  let error: Value | null = null
  for (let i = 0; i < count; i++) {
    if (isTooMuch(1)) return tooMuch()
    take(node, target, i)
    const result = evaluate(node.args[1])
    if (result.kind == K.Bool) {
      if ((result.n != 0) != isAll) return result
    } else if (error === null) error = result.kind == K.Error ? result : noOverload(node.name, result)
  }
  return error !== null ? error : isAll ? TRUE : FALSE
}

function existsOne(node: Node, target: Value): Value {
  const count = itemsOf(target).length
  let found = 0
  for (let i = 0; i < count; i++) {
    if (isTooMuch(1)) return tooMuch()
    take(node, target, i)
    const result = evaluate(node.args[1])
    if (result.kind != K.Bool) return result.kind == K.Error ? result : noOverload(node.name, result)
    if (result.n != 0) found++
  }
  return ofBool(found == 1)
}

function collected(node: Node, target: Value): Value {
  const items: Value[] = []
  const keys: Value[] = []
  const count = itemsOf(target).length
  const isFilter = node.op == Op.Filter
  const hasCondition = isFilter || node.args.length == 3
  for (let i = 0; i < count; i++) {
    if (isTooMuch(1)) return tooMuch()
    take(node, target, i)
    if (hasCondition) {
      const condition = evaluate(node.args[1])
      if (condition.kind != K.Bool) return condition.kind == K.Error ? condition : noOverload(node.name, condition)
      if (condition.n == 0) continue
    }
    const result = isFilter ? locals[node.id] : evaluate(node.args[node.args.length - 1])
    if (result.kind == K.Error) return result
    items.push(result)
    if (node.op == Op.TransformMap) keys.push(target.kind == K.Map ? keysOf(target)[i] : ofInt(i))
  }
  return node.op == Op.TransformMap ? ofMap(keys, items) : ofList(items)
}

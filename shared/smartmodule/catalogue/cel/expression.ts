/** An expression of a step's config, and where in its text it failed. */
import { Record } from 'dps'
import { evaluate, look } from './evaluate'
import { Node, Op } from './node'
import { placeIn } from './parser'
import { K, Value, isTooMuch, stringOf } from './value'

export class Expression {
  node: Node
  text: string
  /** Its path in the config, for messages. */
  shown: string
  constructor(node: Node, text: string, shown: string) {
    this.node = node
    this.text = text
    this.shown = shown
  }
}

/**
 * Fails the record for the error that an expression gave, with line and column. The place is found by evaluating once more, so that
 * records which do not fail pay nothing for it.
 */
export function failBy(record: Record, by: Expression, error: Value): void {
  const message = stringOf(error)
  // What takes too much would do so again.
  let place = ''
  if (!isTooMuch(0)) {
    look(record)
    const node = failingIn(by.node)
    if (!isTooMuch(0)) place = placeIn(by.text, node.at) + ': '
  }
  record.fail(by.shown + ': ' + place + message)
}

/**
 * The innermost failing part of an expression that fails. What a macro repeats has its variables within it alone, and counts as the macro.
 */
function failingIn(node: Node): Node {
  const args = node.args
  const count = node.op >= Op.All ? 1 : args.length
  for (let i = 0; i < count; i++) {
    const value = evaluate(args[i])
    if (value.kind == K.Error) return isTooMuch(0) ? node : failingIn(args[i])
    // Only the branch that is taken has failed.
    if (node.op == Op.Condition && i == 0 && value.n == 0) i++
    else if (node.op == Op.Condition && i == 1) break
  }
  return node
}

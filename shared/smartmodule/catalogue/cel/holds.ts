/** An expression as a condition. */
import { Record } from 'dps'
import { look, result } from './evaluate'
import { Expression, failBy } from './expression'
import { Fn } from './functions'
import { Node, Op } from './node'
import { K, typeNameOf } from './value'

/** Whether the condition holds for the record, which `look` has then seen; a record fails for which it is neither true nor false. */
export function holds(record: Record, condition: Expression): bool {
  look(record)
  const value = result(condition.node)
  if (value.kind == K.Bool) return value.n != 0
  if (value.kind == K.Error) failBy(record, condition, value)
  else record.fail(condition.shown + ' must give true or false, not ' + typeNameOf(value))
  return false
}

/** What a call gives where that is never true or false, whatever it is called with. */
function callGives(id: i32): string {
  if (id >= Fn.Parts && id < Fn.Math) return 'a number'
  switch (id) {
    case Fn.Size: case Fn.Int: case Fn.Uint: case Fn.Double: case Fn.IndexOf: case Fn.LastIndexOf:
      return 'a number'
    case Fn.String: case Fn.CharAt: case Fn.Format: case Fn.Join: case Fn.LowerAscii: case Fn.UpperAscii: case Fn.Quote: case Fn.Replace:
    case Fn.Substring: case Fn.Trim: case Fn.Reverse: case Fn.Encode:
      return 'a text'
    case Fn.Bytes: case Fn.Decode:
      return 'bytes'
    case Fn.Split:
      return 'a list'
    case Fn.Type:
      return 'a type'
    case Fn.Timestamp:
      return 'a timestamp'
    case Fn.Duration:
      return 'a duration'
    case Fn.None: case Fn.Of: case Fn.OfNonZero: case Fn.Or:
      return 'an optional'
    default:
      return ''
  }
}

/** What an expression gives where that is never true or false; empty for one that may hold. */
function neverHolds(node: Node): string {
  switch (node.op) {
    case Op.Const: {
      const value = node.value
      return value === null || value.kind == K.Bool || value.kind == K.Error ? '' : 'a constant ' + typeNameOf(value)
    }
    case Op.List: case Op.Filter: case Op.Transform:
      return 'a list'
    case Op.Map: case Op.TransformMap:
      return 'a map'
    case Op.Minus: case Op.Multiply: case Op.Divide: case Op.Modulo: case Op.Greatest: case Op.Least:
      return 'a number'
    case Op.Add:
      return 'a sum'
    case Op.Subtract:
      return 'a difference'
    case Op.OptMap: case Op.OptFlatMap:
      return 'an optional'
    case Op.Call:
      return callGives(node.id)
    case Op.Condition: {
      const yes = neverHolds(node.args[1])
      return neverHolds(node.args[2]).length > 0 ? yes : ''
    }
    default:
      return ''
  }
}

/** Why an expression can't be a condition; empty for one that can. */
export function notACondition(node: Node): string {
  const given = neverHolds(node)
  return given.length > 0 ? ' must give true or false, and always gives ' + given : ''
}

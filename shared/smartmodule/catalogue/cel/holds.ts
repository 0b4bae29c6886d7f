/** An expression as a condition. */
import { Record } from 'dps'
import { look, result } from './evaluate'
import { Node } from './node'
import { K, stringOf, typeNameOf } from './value'

/** Whether the condition holds for the record, which `look` has then seen; a record fails for which it is neither true nor false. */
export function holds(record: Record, condition: Node): bool {
  look(record)
  const value = result(condition)
  if (value.kind == K.Bool) return value.n != 0
  record.fail(value.kind == K.Error ? stringOf(value) : 'the condition must be true or false, and is a ' + typeNameOf(value))
  return false
}

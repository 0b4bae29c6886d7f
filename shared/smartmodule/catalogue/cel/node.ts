/** The tree of a compiled expression. */
import { Path, Segment } from 'dps'
import { Value } from './value'
import { Regex } from './regex-program'

export const enum Op {
  Const,
  Local,
  Variable,
  Field,
  Select,
  Has,
  Index,
  List,
  Map,
  And,
  Or,
  Not,
  Minus,
  Condition,
  Add,
  Subtract,
  Multiply,
  Divide,
  Modulo,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  Call,
  Greatest,
  Least,
  All,
  Exists,
  ExistsOne,
  Filter,
  Transform,
  TransformMap,
  Bind,
  OptMap,
  OptFlatMap,
}

/** What an expression may name, beside its own variables. */
export const enum Root {
  Value,
  Key,
  Headers,
  Timestamp,
  Partition,
  Offset,
  Bound,
}

export class Node {
  op: Op
  /** Where it starts in the expression's text. */
  at: i32
  args: Node[] = []
  value: Value | null = null
  /** Of a select, a name; of a call, what it is called. */
  name: string = ''
  segment: Segment | null = null
  /** Of a field of the record's value. */
  path: Path | null = null
  regex: Regex | null = null
  /** The function, the variable, or the first slot of a comprehension's variables. */
  id: i32 = 0
  /** `.?name`, `[?index]`; a comprehension with two variables. */
  flag: bool = false
  /** Which items of a list or entries of a map are optional. */
  optionals: bool[] = []
  constructor(op: Op, at: i32) {
    this.op = op
    this.at = at
  }
}

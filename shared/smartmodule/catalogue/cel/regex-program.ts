/** The program of a regular expression, as a machine with a set of states runs it. */
export const enum R {
  Char,
  Any,
  AnyNoLine,
  Class,
  Split,
  Jump,
  Start,
  End,
  LineStart,
  LineEnd,
  Word,
  NoWord,
  Match,
}

const STATES_MAX: i32 = 20000

export class Regex {
  ops: i32[] = []
  x: i32[] = []
  y: i32[] = []
  /** Ranges of code points, two by two, and whether the class is their complement. */
  classes: i32[][] = []
  negated: bool[] = []
  error: string = ''

  add(op: R, x: i32 = 0, y: i32 = 0): i32 {
    if (this.ops.length >= STATES_MAX) this.error = 'the regular expression is too large'
    else {
      this.ops.push(op)
      this.x.push(x)
      this.y.push(y)
    }
    return this.ops.length - 1
  }

  /** Puts an operation before the ones from `place` on; their jumps move with them. */
  insert(place: i32, op: R, x: i32, y: i32): void {
    this.add(R.Jump)
    for (let i = this.ops.length - 1; i > place; i--) {
      this.ops[i] = this.ops[i - 1]
      this.x[i] = this.x[i - 1]
      this.y[i] = this.y[i - 1]
      const moved = this.ops[i]
      if (moved == R.Split || moved == R.Jump) {
        if (this.x[i] >= place) this.x[i]++
        if (moved == R.Split && this.y[i] >= place) this.y[i]++
      }
    }
    this.ops[place] = op
    this.x[place] = x
    this.y[place] = y
  }
}

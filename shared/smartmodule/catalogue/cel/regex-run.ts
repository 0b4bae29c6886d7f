/** Runs a compiled regular expression: all states at once, code point by code point. */
import { R, Regex } from './regex-program'
import { Value, isTooMuch, spend } from './value'

let regex: Regex = new Regex()
/** Used again with the next text: a record may have many, and each would leave arrays of the pattern's size as garbage. */
let current: i32[] = []
let following: i32[] = []
/** By state, the position for which it was added last. Positions go on from text to text: marks of an earlier one are below them. */
let marks: StaticArray<i32> = new StaticArray<i32>(0)
let position: i32 = 0
const POSITION_MAX: i32 = 1 << 30
let isMatch: bool = false

/** The code points around the position; -1 outside of the text. */
let before: i32 = -1
let after: i32 = -1

function isWord(point: i32): bool {
  return (point >= 48 && point <= 57) || (point >= 65 && point <= 90) || point == 95 || (point >= 97 && point <= 122)
}

/** Adds a state and all that follow from it without a character. The stack is bounded by the number of states. */
let stack: i32[] = []
function add(to: i32[], first: i32): void {
  stack.push(first)
  while (stack.length > 0) {
    const state = stack.pop()
    if (marks[state] == position) continue
    marks[state] = position
    const op = regex.ops[state]
    if (op == R.Match) isMatch = true
    else if (op == R.Jump) stack.push(regex.x[state])
    else if (op == R.Split) {
      stack.push(regex.y[state])
      stack.push(regex.x[state])
    } else if (op >= R.Start && op <= R.NoWord) {
      const isBoundary = isWord(before) != isWord(after)
      const holds =
        op == R.Start
          ? before < 0
          : op == R.End
            ? after < 0
            : op == R.LineStart
              ? before < 0 || before == 10
              : op == R.LineEnd
                ? after < 0 || after == 10
                : op == R.Word
                  ? isBoundary
                  : !isBoundary
      if (holds) stack.push(state + 1)
    } else to.push(state)
  }
}

function takes(state: i32, point: i32): bool {
  const op = regex.ops[state]
  if (op == R.Char) return regex.x[state] == point
  if (op == R.Any) return true
  if (op == R.AnyNoLine) return point != 10
  const ranges = regex.classes[regex.x[state]]
  isTooMuch(ranges.length >> 4)
  let isIn = false
  for (let i = 0; i < ranges.length && !isIn; i += 2) isIn = point >= ranges[i] && point <= ranges[i + 1]
  return isIn != regex.negated[regex.x[state]]
}

/** The code point at `p`; sets `pointEnd`. */
let pointEnd: usize = 0
function pointAt(p: usize): i32 {
  const c: i32 = load<u8>(p)
  if (c < 0x80) {
    pointEnd = p + 1
    return c
  }
  if (c < 0xe0) {
    pointEnd = p + 2
    return ((c & 31) << 6) | ((load<u8>(p, 1) as i32) & 63)
  }
  if (c < 0xf0) {
    pointEnd = p + 3
    return ((c & 15) << 12) | (((load<u8>(p, 1) as i32) & 63) << 6) | ((load<u8>(p, 2) as i32) & 63)
  }
  pointEnd = p + 4
  return ((c & 7) << 18) | (((load<u8>(p, 1) as i32) & 63) << 12) | (((load<u8>(p, 2) as i32) & 63) << 6) | ((load<u8>(p, 3) as i32) & 63)
}

/** Whether some part of the text matches. */
export function isFound(pattern: Regex, value: Value): bool {
  regex = pattern
  if (marks.length < regex.ops.length) {
    spend(4 * regex.ops.length)
    marks = new StaticArray<i32>(regex.ops.length)
  } else if (position > POSITION_MAX) {
    marks.fill(0)
    position = 0
  }
  current.length = 0
  following.length = 0
  position++
  isMatch = false
  before = -1
  let p = value.ptr
  const end = p + value.length
  after = p < end ? pointAt(p) : -1
  add(current, 0)
  while (!isMatch && p < end) {
    if (isTooMuch(current.length + 1)) return false
    const point = pointAt(p)
    p = pointEnd
    before = point
    after = p < end ? pointAt(p) : -1
    position++
    for (let i = 0; i < current.length; i++) if (takes(current[i], point)) add(following, current[i] + 1)
    // A match may start anywhere.
    add(following, 0)
    const swap = current
    current = following
    following = swap
    following.length = 0
  }
  return isMatch
}

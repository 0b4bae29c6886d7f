/**
 * Regular expressions of RE2's syntax for `matches`, run as a set of states: the time is bounded by text × pattern, whatever the pattern.
 * Without Unicode classes (`\p{…}`); letters of `(?i)` are ASCII's.
 */
import { R, Regex } from './regex-program'

const REPEAT_MAX: i32 = 1000
const COPIES_MAX: i32 = 20000
const PATTERN_MAX: i32 = 10000

let source: string = ''
let at: i32 = 0
let depth: i32 = 0
let copies: i32 = 0
let ignoresCase: bool = false
let isMultiline: bool = false
let dotIsAll: bool = false
let regex: Regex = new Regex()

function refuse(why: string): void {
  if (regex.error.length == 0) regex.error = why
}
function code(): i32 {
  return at < source.length ? source.charCodeAt(at) : -1
}

export function compileRegex(pattern: string): Regex {
  source = pattern
  at = 0
  depth = 0
  copies = 0
  ignoresCase = isMultiline = dotIsAll = false
  regex = new Regex()
  if (pattern.length > PATTERN_MAX) refuse('the regular expression has more than ' + PATTERN_MAX.toString() + ' characters')
  else alternatives()
  if (at < source.length) refuse('unexpected ) in the regular expression')
  regex.add(R.Match)
  return regex
}

function alternatives(): void {
  if (++depth > 200) return refuse('the regular expression is nested too deeply')
  const wasIgnoring = ignoresCase
  const wasMultiline = isMultiline
  const wasAll = dotIsAll
  const from = regex.ops.length
  sequence()
  const ends: i32[] = []
  while (code() == 124 && regex.error.length == 0) {
    at++
    // What came so far goes behind a split.
    regex.insert(from, R.Split, from + 1, 0)
    ends.push(regex.add(R.Jump))
    regex.y[from] = regex.ops.length
    for (let i = 0; i < ends.length - 1; i++) ends[i]++
    sequence()
  }
  for (let i = 0; i < ends.length; i++) regex.x[ends[i]] = regex.ops.length
  ignoresCase = wasIgnoring
  isMultiline = wasMultiline
  dotIsAll = wasAll
  depth--
}

function sequence(): void {
  while (code() >= 0 && code() != 124 && code() != 41 && regex.error.length == 0) repeated()
}

function number(): i32 {
  let value = -1
  for (; code() >= 48 && code() <= 57; at++) if (value <= REPEAT_MAX) value = (value < 0 ? 0 : value) * 10 + code() - 48
  return value
}

function repeated(): void {
  const from = regex.ops.length
  const place = at
  if (!atom()) return
  let isRepeated = false
  while (regex.error.length == 0) {
    const c = code()
    let least = 0
    let most = -1
    const before = at
    if (c == 42) at++
    else if (c == 43) {
      least = 1
      at++
    } else if (c == 63) {
      most = 1
      at++
    } else if (c == 123) {
      at++
      least = number()
      most = least
      if (code() == 44) {
        at++
        most = number()
      }
      if (least < 0 || code() != 125) {
        // Not a repetition: the brace stands for itself.
        at = before
        return
      }
      at++
      if (least > REPEAT_MAX || most > REPEAT_MAX || (most >= 0 && most < least))
        return refuse('the regular expression has a repetition that is not allowed')
    } else return
    if (isRepeated) return refuse('the regular expression has nothing to repeat')
    isRepeated = true
    if (code() == 63) at++
    repeat(from, place, before, least, most)
  }
}

/** The atom from `place` to `stop` of the source is compiled as often as it is needed. */
function repeat(from: i32, place: i32, stop: i32, least: i32, most: i32): void {
  const after = at
  const count = most < 0 ? (least == 0 ? 1 : least) : most
  // Also of groups that are empty, which make no states.
  copies += count
  if (copies > COPIES_MAX) return refuse('the regular expression is too large')
  const starts: i32[] = [from]
  const end = source
  for (let i = 1; i < count && regex.error.length == 0; i++) {
    starts.push(regex.ops.length)
    source = end.substring(0, stop)
    at = place
    atom()
    source = end
  }
  at = after
  if (count == 0) {
    regex.ops = regex.ops.slice(0, from)
    regex.x = regex.x.slice(0, from)
    regex.y = regex.y.slice(0, from)
    return
  }
  if (most < 0) {
    const last = starts[starts.length - 1]
    if (least == 0) {
      regex.insert(last, R.Split, last + 1, 0)
      regex.add(R.Jump, last)
      regex.y[last] = regex.ops.length
    } else regex.add(R.Split, last, regex.ops.length + 1)
    return
  }
  // Each copy beyond the least may be left out, and all behind it.
  const splits: i32[] = []
  for (let i = least; i < count; i++) {
    const start = starts[i] + splits.length
    regex.insert(start, R.Split, start + 1, 0)
    splits.push(start)
  }
  for (let i = 0; i < splits.length; i++) regex.y[splits[i]] = regex.ops.length
}

function atom(): bool {
  const c = code()
  at++
  if (c == 40) group()
  else if (c == 91) classOf()
  else if (c == 46) regex.add(dotIsAll ? R.Any : R.AnyNoLine)
  else if (c == 94) regex.add(isMultiline ? R.LineStart : R.Start)
  else if (c == 36) regex.add(isMultiline ? R.LineEnd : R.End)
  else if (c == 42 || c == 43 || c == 63) refuse('the regular expression has nothing to repeat')
  else if (c == 92) escaped()
  else {
    at--
    const point = source.codePointAt(at)
    at += point > 0xffff ? 2 : 1
    char(point)
  }
  return regex.error.length == 0
}

function group(): void {
  const wasIgnoring = ignoresCase
  const wasMultiline = isMultiline
  const wasAll = dotIsAll
  if (code() == 63) {
    at++
    if (code() == 80 || code() == 60) {
      const close = source.indexOf('>', at)
      if (close < 0 || (code() == 60 && (source.charCodeAt(at + 1) == 61 || source.charCodeAt(at + 1) == 33)))
        return refuse('the regular expression has a group that is not allowed')
      at = close + 1
    } else {
      let on = true
      for (; code() >= 0 && code() != 58 && code() != 41; at++) {
        const c = code()
        if (c == 45) on = false
        else if (c == 105) ignoresCase = on
        else if (c == 109) isMultiline = on
        else if (c == 115) dotIsAll = on
        else if (c != 85) return refuse('the regular expression has a group that is not allowed')
      }
      // Flags alone count to the end of the group around them.
      if (code() == 41) {
        at++
        return
      }
      at++
    }
  }
  alternatives()
  ignoresCase = wasIgnoring
  isMultiline = wasMultiline
  dotIsAll = wasAll
  if (code() != 41) return refuse('the regular expression has a group that is not closed')
  at++
}

function isLetter(point: i32): bool {
  return (point | 32) >= 97 && (point | 32) <= 122 && point < 128
}

function char(point: i32): void {
  if (ignoresCase && isLetter(point)) addClass([point | 32, point | 32, point & ~32, point & ~32], false)
  else regex.add(R.Char, point)
}

function addClass(ranges: i32[], isNegated: bool): void {
  regex.classes.push(ranges)
  regex.negated.push(isNegated)
  regex.add(R.Class, regex.classes.length - 1)
}

const DIGITS: i32[] = [48, 57]
const WORDS: i32[] = [48, 57, 65, 90, 95, 95, 97, 122]
const SPACES: i32[] = [9, 10, 12, 13, 32, 32]
const LETTERS = 'aftnrv'
const LETTER_CODES: i32[] = [7, 12, 9, 10, 13, 11]

/** The ranges of \d, \w, \s; empty for other letters. */
function rangesOf(letter: i32): i32[] {
  const lower = letter | 32
  return lower == 100 ? DIGITS : lower == 119 ? WORDS : lower == 115 ? SPACES : []
}

/** The code point that an escape stands for, its letter at `at`; -1 for one that is not known. */
function escapedPoint(): i32 {
  const c = code()
  at++
  if (c < 0) return -1
  const simple = LETTERS.indexOf(String.fromCharCode(c))
  if (simple >= 0) return LETTER_CODES[simple]
  if (c == 120) {
    const isLong = code() == 123
    if (isLong) at++
    let value = 0
    let count = 0
    const most = isLong ? 6 : 2
    while (count < most) {
      const d = code()
      const isDigit = d >= 48 && d <= 57
      if (!isDigit && !((d | 32) >= 97 && (d | 32) <= 102)) break
      value = value * 16 + (isDigit ? d - 48 : (d | 32) - 87)
      at++
      count++
    }
    if (isLong) {
      if (code() != 125) return -1
      at++
    }
    return count == 0 || (!isLong && count < 2) ? -1 : value
  }
  if (c == 48 || (c > 48 && c < 56 && code() >= 48 && code() < 56)) {
    let value = c - 48
    for (let i = 0; i < 2 && code() >= 48 && code() < 56; i++) value = value * 8 + (source.charCodeAt(at++) - 48)
    return value
  }
  return (c >= 48 && c <= 57) || isLetter(c) ? -1 : c
}

function escaped(): void {
  const c = code()
  const ranges = rangesOf(c)
  if (ranges.length > 0) {
    at++
    return addClass(ranges, c < 97)
  }
  if (c == 65 || c == 122 || c == 98 || c == 66) {
    at++
    regex.add(c == 65 ? R.Start : c == 122 ? R.End : c == 98 ? R.Word : R.NoWord)
    return
  }
  if (c == 81) return quoted()
  const point = escapedPoint()
  if (point < 0) refuse('the regular expression has an escape that is not known')
  else char(point)
}

/** `\\Q…\\E`: characters that stand for themselves. */
function quoted(): void {
  let end = source.indexOf('\\E', at)
  const stop = end < 0 ? source.length : end
  at++
  while (at < stop && regex.error.length == 0) {
    const point = source.codePointAt(at)
    at += point > 0xffff ? 2 : 1
    char(point)
  }
  at = end < 0 ? stop : stop + 2
}

const NAMES: string[] = ['alpha', 'digit', 'alnum', 'upper', 'lower', 'space', 'word', 'xdigit', 'punct', 'blank', 'cntrl', 'print', 'graph', 'ascii']
const NAMED: i32[][] = [
  [65, 90, 97, 122], [48, 57], [48, 57, 65, 90, 97, 122], [65, 90], [97, 122], [9, 13, 32, 32], [48, 57, 65, 90, 95, 95, 97, 122],
  [48, 57, 65, 70, 97, 102], [33, 47, 58, 64, 91, 96, 123, 126], [9, 9, 32, 32], [0, 31, 127, 127], [32, 126], [33, 126], [0, 127],
]

/** Adds `[:name:]` or `[:^name:]`, which stands at `at`. */
function namedClass(ranges: i32[]): void {
  const close = source.indexOf(':]', at)
  const isNegated = source.charCodeAt(at + 2) == 94
  const name = close < 0 ? -1 : NAMES.indexOf(source.substring(at + (isNegated ? 3 : 2), close))
  if (name < 0) return refuse('the regular expression has a class that is not known')
  const named = NAMED[name]
  addRanges(ranges, named, isNegated)
  if (ignoresCase && !isNegated) for (let i = 0; i < named.length; i += 2) addOtherCase(ranges, named[i], named[i + 1])
  at = close + 2
}

function classOf(): void {
  const isNegated = code() == 94
  if (isNegated) at++
  const ranges: i32[] = []
  for (let isFirst = true; ; isFirst = false) {
    const c = code()
    if (c < 0) return refuse('the regular expression has a class that is not closed')
    if (c == 93 && !isFirst) break
    if (c == 91 && source.charCodeAt(at + 1) == 58) {
      namedClass(ranges)
      if (regex.error.length > 0) return
      continue
    }
    if (c == 92 && at + 1 < source.length && rangesOf(source.charCodeAt(at + 1)).length > 0) {
      const letter = source.charCodeAt(at + 1)
      addRanges(ranges, rangesOf(letter), letter < 97)
      at += 2
      continue
    }
    const low = classPoint()
    let high = low
    if (code() == 45 && at + 1 < source.length && source.charCodeAt(at + 1) != 93) {
      at++
      high = classPoint()
    }
    if (low < 0 || high < low) return refuse('the regular expression has a class that is not allowed')
    ranges.push(low)
    ranges.push(high)
    if (ignoresCase) addOtherCase(ranges, low, high)
  }
  at++
  addClass(ranges, isNegated)
}

function addOtherCase(ranges: i32[], low: i32, high: i32): void {
  for (let c = low; c <= high && c < 128; c++) {
    if (!isLetter(c)) continue
    ranges.push(c ^ 32)
    ranges.push(c ^ 32)
  }
}

function addRanges(to: i32[], ranges: i32[], isNegated: bool): void {
  let from = 0
  for (let i = 0; i < ranges.length; i += 2) {
    to.push(isNegated ? from : ranges[i])
    to.push(isNegated ? ranges[i] - 1 : ranges[i + 1])
    from = ranges[i + 1] + 1
  }
  if (!isNegated) return
  to.push(from)
  to.push(0x10ffff)
}

function classPoint(): i32 {
  if (code() == 92) {
    at++
    return escapedPoint()
  }
  if (code() < 0) return -1
  const point = source.codePointAt(at)
  at += point > 0xffff ? 2 : 1
  return point
}

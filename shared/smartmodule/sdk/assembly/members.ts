/** Walks over parts of a step's config, which its author reads in `init`: `while (members.next()) …`. */
import { closeOf, skipChecked, skipSpace } from './json'
import { textOf } from './text'

/** Where the object or array [start, end) that opens with this byte ends; 0, so that nothing is walked over, where there is none. */
function stopOf(start: usize, end: usize, opening: u32): usize {
  return start < end && load<u8>(start) == opening ? end : 0
}

/** Where the next member or item begins, or the bracket that ends them. */
function nextFrom(at: usize, stop: usize): usize {
  const p = skipSpace(at, stop)
  return load<u8>(p) == 44 ? skipSpace(p + 1, stop) : p
}

/** The members of a checked object [start, end), none of what is no object; `name`, `start` and `end` are of the one at hand. */
export class Members {
  name: string = ''
  start: usize = 0
  end: usize = 0
  private at: usize
  private stop: usize
  constructor(start: usize, end: usize) {
    this.at = start + 1
    this.stop = stopOf(start, end, 123)
  }
  next(): bool {
    if (this.stop == 0) return false
    const p = nextFrom(this.at, this.stop)
    if (load<u8>(p) != 34) return false
    const close = closeOf(p + 1) + 1
    this.name = textOf(p, close)
    this.start = skipSpace(skipSpace(close, this.stop) + 1, this.stop)
    this.end = skipChecked(this.start)
    this.at = this.end
    return true
  }
}

/** The items of a checked array [start, end), none of what is no array; `start` and `end` are of the one at hand. */
export class Items {
  start: usize = 0
  end: usize = 0
  private at: usize
  private stop: usize
  constructor(start: usize, end: usize) {
    this.at = start + 1
    this.stop = stopOf(start, end, 91)
  }
  next(): bool {
    if (this.stop == 0) return false
    const p = nextFrom(this.at, this.stop)
    if (load<u8>(p) == 93) return false
    this.start = p
    this.end = skipChecked(p)
    this.at = this.end
    return true
  }
}

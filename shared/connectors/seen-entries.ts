/**
 * What a split has seen. There may be millions of entries, so they are kept outside of the V8 heap, whose size is limited, in a hash table
 * with slots of 32 bytes: a digest of the key, a digest of the version that was seen, and the entry's time. The keys themselves are only in
 * the topic of entries.
 */
import { hash } from 'node:crypto'

/** The entries of one split. */
export type SeenEntries = {
  readonly size: number
  /** Adds or replaces an entry; `value` is made by `seenValue`. */
  set(key: string, value: string): void
  delete(key: string): void
  /** What of this key was seen: nothing, this version, or another one. */
  compare(key: string, version: string): 'unseen' | 'same' | 'other'
  /** Whether there is an entry of this key with a time before this one. */
  isBefore(key: string, time: number): boolean
  /** Whether enough entries have a time before this one: to forget them, the whole topic is read. */
  isForgettingDue(before: number): boolean
}

/** What a source sees of its split's entries. */
export type SeenView = Pick<SeenEntries, 'compare' | 'isForgettingDue'>

const SEPARATOR = ' '

/** An entry's value: the version of what was seen, such as an ETag, and the time by which the entry is forgotten, in milliseconds. */
export const seenValue = (version: string, time: number): string => `${version}${SEPARATOR}${time}`

/** Entries written by earlier versions have no time, and are never forgotten. */
function partsOf(value: string): { version: string; time: number } {
  const at = value.lastIndexOf(SEPARATOR)
  return at < 0 ? { version: value, time: Number.NaN } : { version: value.slice(0, at), time: Number(value.slice(at + 1)) }
}

/** One character for each byte: a Buffer for each digest would take longer than the digest. */
const digestOf = (text: string): string => hash('sha256', text, 'binary')

const wordOf = (digest: string, word: number): number =>
  (digest.charCodeAt(word * 4) |
    (digest.charCodeAt(word * 4 + 1) << 8) |
    (digest.charCodeAt(word * 4 + 2) << 16) |
    (digest.charCodeAt(word * 4 + 3) << 24)) >>>
  0

/** A slot has four words (32 bits) of the key's digest, two of the version's, and the time as a double. */
const SLOT_WORDS = 8
const SLOT_DOUBLES = SLOT_WORDS / 2
const VERSION = 4
const TIME = 3

const SLOTS_MIN = 64
/** Shares of the slots that are taken. Above and below these the table is made anew, with this share. */
const TAKEN_MAX = 0.8
const TAKEN_MIN = 0.2
const TAKEN_ANEW = 0.54

/** Entries are forgotten at least this many at a time, and at least this share of all. */
const FORGOTTEN_MIN = 1000
const FORGOTTEN_SHARE = 1 / 8

/** No entries yet. */
export function createSeenEntries(): SeenEntries {
  let slots = SLOTS_MIN
  let words = new Uint32Array(slots * SLOT_WORDS)
  let times = new Float64Array(words.buffer)
  let size = 0
  /** The digest of the key that was last asked for. */
  const wanted = new Uint32Array(SLOT_WORDS / 2)

  const next = (slot: number): number => (slot + 1 === slots ? 0 : slot + 1)
  const homeOf = (word: number): number => Math.floor((word / 2 ** 32) * slots)
  /** The last word of a key's digest is never 0: `find` sees to that. */
  const isTaken = (slot: number): boolean => words[slot * SLOT_WORDS + 3] !== 0

  function isWanted(slot: number): boolean {
    for (let word = 0; word < wanted.length; word++) if (words[slot * SLOT_WORDS + word] !== wanted[word]) return false
    return true
  }

  /** The slot of the key's entry, or the free one in which it would be. */
  function find(key: string): number {
    const digest = digestOf(key)
    for (let word = 0; word < wanted.length; word++) wanted[word] = wordOf(digest, word)
    wanted[3] = wanted[3]! | 1
    let slot = homeOf(wanted[0]!)
    while (isTaken(slot) && !isWanted(slot)) slot = next(slot)
    return slot
  }

  function resize(): void {
    const [before, count] = [words, slots]
    slots = Math.max(SLOTS_MIN, Math.ceil(size / TAKEN_ANEW))
    words = new Uint32Array(slots * SLOT_WORDS)
    times = new Float64Array(words.buffer)
    for (let from = 0; from < count * SLOT_WORDS; from += SLOT_WORDS) {
      if (before[from + 3] === 0) continue
      let slot = homeOf(before[from]!)
      while (isTaken(slot)) slot = next(slot)
      for (let word = 0; word < SLOT_WORDS; word++) words[slot * SLOT_WORDS + word] = before[from + word]!
    }
  }

  /** The entries behind a freed slot move up, so that none is cut off from its home. */
  function free(slot: number): void {
    let gap = slot
    const distance = (from: number, to: number): number => (to >= from ? to - from : to - from + slots)
    for (let at = next(gap); isTaken(at); at = next(at)) {
      if (distance(homeOf(words[at * SLOT_WORDS]!), at) < distance(gap, at)) continue
      words.copyWithin(gap * SLOT_WORDS, at * SLOT_WORDS, (at + 1) * SLOT_WORDS)
      gap = at
    }
    words.fill(0, gap * SLOT_WORDS, (gap + 1) * SLOT_WORDS)
  }

  return {
    get size() {
      return size
    },
    set(key, value) {
      const slot = find(key)
      const at = slot * SLOT_WORDS
      const { version, time } = partsOf(value)
      const digest = digestOf(version)
      if (!isTaken(slot)) size++
      words.set(wanted, at)
      words[at + VERSION] = wordOf(digest, 0)
      words[at + VERSION + 1] = wordOf(digest, 1)
      times[slot * SLOT_DOUBLES + TIME] = time
      if (size > slots * TAKEN_MAX) resize()
    },
    delete(key) {
      const slot = find(key)
      if (!isTaken(slot)) return
      free(slot)
      size--
      if (size < slots * TAKEN_MIN && slots > SLOTS_MIN) resize()
    },
    compare(key, version) {
      const slot = find(key)
      if (!isTaken(slot)) return 'unseen'
      const digest = digestOf(version)
      const at = slot * SLOT_WORDS + VERSION
      return words[at] === wordOf(digest, 0) && words[at + 1] === wordOf(digest, 1) ? 'same' : 'other'
    },
    isBefore(key, time) {
      const slot = find(key)
      return isTaken(slot) && times[slot * SLOT_DOUBLES + TIME]! < time
    },
    isForgettingDue(before) {
      const enough = Math.max(FORGOTTEN_MIN, size * FORGOTTEN_SHARE)
      if (size < enough) return false
      let count = 0
      for (let slot = 0; slot < slots; slot++) if (isTaken(slot) && times[slot * SLOT_DOUBLES + TIME]! < before) count++
      return count >= enough
    },
  }
}

/**
 * dps/text-classifier: labels the text of a field. Without `labels`: by sentiment (a lexicon, negations and intensifiers). With `labels`:
 * by their keywords, or by a multinomial naive Bayes classifier trained at start on their examples.
 */
import { Config, FIELD_MISSING, Kind, Path, RECORD_FAILED, Record, Segment, Slice, Writer, closeOf, kindAt, skipChecked, skipSpace, textOf, unescape } from 'dps'
import { afterPause, nextToken, token } from './words'
import { LEXICON, NEGATIONS, INTENSIFIERS } from 'dps/lexicon'

const enum Mode { Sentiment, Keywords, Bayes }

let fieldName: string = ''
let field: Path = new Path('')
let output: Segment = new Segment('')
let mode: Mode = Mode.Sentiment
let labels: string[] = []
/** Each label as a complete JSON string. */
let labelJson: ArrayBuffer[] = []
let fallback: i32 = -1

// A hash table (open addressing) from a 64-bit token hash to an entry, which holds one f32 per label (one weight for the lexicon).
let slots: StaticArray<u64> = new StaticArray<u64>(0)
let entries: StaticArray<i32> = new StaticArray<i32>(0)
let mask: u32 = 0
let entryCount: i32 = 0
let weights: Array<f32> = []
let width: i32 = 1
let priors: Array<f64> = []
let scores: StaticArray<f64> = new StaticArray<f64>(0)
/** Longest keyword, in tokens. */
let gramMax: i32 = 1

function openTable(capacity: i32, columns: i32): void {
  let size: u32 = 64
  while (size < (capacity as u32) * 2) size <<= 1
  slots = new StaticArray<u64>(size as i32)
  entries = new StaticArray<i32>(size as i32)
  mask = size - 1
  entryCount = 0
  width = columns
  weights = []
}

function find(hash: u64): i32 {
  let i = (hash as u32) & mask
  while (true) {
    const stored = unchecked(slots[i])
    if (stored == hash) return unchecked(entries[i])
    if (stored == 0) return -1
    i = (i + 1) & mask
  }
}

function findOrAdd(hash: u64): i32 {
  if ((entryCount as u32) * 2 > mask) growTable()
  let i = (hash as u32) & mask
  while (slots[i] != 0) {
    if (slots[i] == hash) return entries[i]
    i = (i + 1) & mask
  }
  slots[i] = hash
  entries[i] = entryCount
  for (let w = 0; w < width; w++) weights.push(0)
  return entryCount++
}

function growTable(): void {
  const oldSlots = slots
  const oldEntries = entries
  const size = (mask + 1) * 2
  slots = new StaticArray<u64>(size as i32)
  entries = new StaticArray<i32>(size as i32)
  mask = size - 1
  for (let i = 0; i < oldSlots.length; i++) {
    const hash = oldSlots[i]
    if (hash == 0) continue
    let j = (hash as u32) & mask
    while (slots[j] != 0) j = (j + 1) & mask
    slots[j] = hash
    entries[j] = oldEntries[i]
  }
}

function join(hash: u64, next: u64): u64 {
  const joined = (hash ^ (next >> 7)) * 0x9e3779b97f4a7c15 + next
  return joined == 0 ? 1 : joined
}

function hashOf(word: string): u64 {
  const bytes = String.UTF8.encode(word)
  nextToken(changetype<usize>(bytes), changetype<usize>(bytes) + bytes.byteLength)
  return token
}

let negations: u64[] = []
let boosts: u64[] = []

function trainLexicon(): void {
  labels = ['negative', 'neutral', 'positive']
  const words = LEXICON.split(' ')
  openTable(words.length, 1)
  for (let i = 0; i < words.length; i++) {
    const pair = words[i].split(':')
    if (pair.length == 2) weights[findOrAdd(hashOf(pair[0]))] = F32.parseFloat(pair[1])
  }
  negations = NEGATIONS.split(' ').map<u64>((word) => hashOf(word))
  boosts = INTENSIFIERS.split(' ').map<u64>((word) => hashOf(word))
}

/** Counts the tokens of an example for label `label`; returns how many there are. */
function learn(text: string, label: i32): i32 {
  const bytes = String.UTF8.encode(text)
  let p = changetype<usize>(bytes)
  const end = p + bytes.byteLength
  let tokens = 0
  while (true) {
    p = nextToken(p, end)
    if (p == 0) return tokens
    weights[findOrAdd(token) * width + label] += 1
    tokens++
  }
}

/** Learns one keyword for label `label`; false for one of more than four words. One without words, such as -, occurs nowhere. */
function addKeyword(text: string, label: i32, weight: f32): bool {
  const bytes = String.UTF8.encode(text)
  let p = changetype<usize>(bytes)
  const end = p + bytes.byteLength
  let hash: u64 = 0
  let words = 0
  while (true) {
    p = nextToken(p, end)
    if (p == 0) break
    if (words == 4) return false
    hash = words == 0 ? token : join(hash, token)
    words++
  }
  if (words == 0) return true
  if (words > gramMax) gramMax = words
  weights[findOrAdd(hash) * width + label] += weight
  return true
}

function stringsAt(config: Config, path: string): string[] | null {
  const list: string[] = []
  const slice = config.get(path)
  if (slice.kind == Kind.Missing) return list
  if (slice.kind != Kind.Array) return null
  let p = skipSpace(slice.start + 1, slice.end)
  const end = slice.end
  while (load<u8>(p) != 93) {
    const after = skipChecked(p)
    if (kindAt(p) != Kind.String) return null
    list.push(textOf(p, after))
    p = skipSpace(after, end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
  return list
}

function trainLabels(config: Config, slice: Slice): void {
  const names: string[] = []
  let p = skipSpace(slice.start + 1, slice.end)
  const end = slice.end
  while (load<u8>(p) == 34) {
    const close = closeOf(p + 1)
    names.push(textOf(p, close + 1))
    let value = skipSpace(close + 1, end)
    value = skipSpace(value + 1, end)
    p = skipSpace(skipChecked(value), end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
  if (names.length < 2) {
    config.refuse('config.labels must name at least two labels')
    return
  }
  labels = names
  openTable(1024, names.length)
  mode = Mode.Keywords
  const totals = new Array<f64>(names.length)
  const examples = new Array<f64>(names.length)
  let all: f64 = 0
  for (let i = 0; i < names.length; i++) {
    if (names[i].includes('.')) {
      config.refuse('config.labels: a label may not contain a dot: ' + names[i])
      return
    }
    const keywords = stringsAt(config, 'labels.' + names[i] + '.keywords')
    const texts = stringsAt(config, 'labels.' + names[i] + '.examples')
    if (keywords === null || texts === null || (keywords.length == 0 && texts.length == 0)) {
      config.refuse('config.labels.' + names[i] + ' must have keywords or examples, both arrays of strings')
      return
    }
    if (texts.length > 0) mode = Mode.Bayes
    examples[i] = texts.length as f64
    all += texts.length as f64
    totals[i] = 0
    for (let k = 0; k < texts.length; k++) totals[i] += learn(texts[k], i) as f64
    // In a trained classifier a keyword counts like ten occurrences in the examples.
    for (let k = 0; k < keywords.length; k++) {
      if (!addKeyword(keywords[k], i, texts.length > 0 ? 10 : 1)) {
        return config.refuse('config.labels.' + names[i] + '.keywords.' + k.toString() + ' has more than four words: ' + keywords[k])
      }
      totals[i] += 10
    }
  }
  priors = []
  if (mode == Mode.Keywords) return
  // Beside trained labels, one of keywords alone has nothing that it could win by.
  for (let i = 0; i < names.length; i++) {
    if (examples[i] == 0) return config.refuse('config.labels.' + names[i] + '.examples is missing: other labels have examples')
  }
  const vocabulary = entryCount as f64
  for (let i = 0; i < names.length; i++) {
    priors.push(Math.log((examples[i] + 1) / (all + names.length)))
    for (let e = 0; e < entryCount; e++) {
      const at = e * width + i
      weights[at] = Math.log((weights[at] + 1) / (totals[i] + vocabulary)) as f32
    }
  }
}

export function init(config: Config): void {
  fieldName = config.text('field')
  field = new Path(fieldName)
  const name = config.text('output_field')
  if (name.length == 0) config.refuse('config.output_field must not be empty')
  output = new Segment(name)
  mode = Mode.Sentiment
  fallback = -1
  gramMax = 1
  const given = config.get('labels')
  if (given.kind == Kind.Missing) trainLexicon()
  else if (given.kind != Kind.Object) config.refuse('config.labels must be an object of label: {keywords or examples}')
  else trainLabels(config, given)
  const other = config.get('default_label')
  if (other.kind == Kind.String && mode != Mode.Keywords) config.refuse('config.default_label is for labels with keywords alone')
  if (other.kind == Kind.String) {
    fallback = labels.length
    labels.push(textOf(other.start, other.end))
  } else if (mode == Mode.Keywords) {
    fallback = labels.length
    labels.push('other')
  }
  labelJson = []
  for (let i = 0; i < labels.length; i++) {
    const writer = new Writer()
    writer.text(labels[i])
    const json = new ArrayBuffer(writer.length as i32)
    memory.copy(changetype<usize>(json), writer.start, writer.length)
    labelJson.push(json)
  }
  scores = new StaticArray<f64>(labels.length + 1)
}

function sentiment(p: usize, end: usize): i32 {
  let score: f64 = 0
  // Number of following words to which a negation still applies.
  let negated = 0
  let boost: f64 = 1
  while (true) {
    p = nextToken(p, end)
    if (p == 0) break
    const hash = token
    if (afterPause) negated = 0
    if (negations.includes(hash)) {
      negated = 4
      continue
    }
    if (boosts.includes(hash)) {
      boost = 1.5
      continue
    }
    const entry = find(hash)
    if (entry >= 0) score += (unchecked(weights[entry]) as f64) * boost * (negated > 0 ? -0.75 : 1)
    boost = 1
    if (negated > 0) negated--
  }
  return score > 0.5 ? 2 : score < -0.5 ? 0 : 1
}

function byWeights(p: usize, end: usize): i32 {
  for (let i = 0; i < width; i++) scores[i] = mode == Mode.Bayes ? priors[i] : 0
  let one: u64 = 0
  let two: u64 = 0
  let three: u64 = 0
  let seen = 0
  while (true) {
    p = nextToken(p, end)
    if (p == 0) break
    count(token)
    if (gramMax > 1) {
      if (seen >= 1) count(join(one, token))
      if (seen >= 2 && gramMax > 2) count(join(join(two, one), token))
      if (seen >= 3 && gramMax > 3) count(join(join(join(three, two), one), token))
      three = two
      two = one
      one = token
      seen++
    }
  }
  let best = 0
  for (let i = 1; i < width; i++) if (scores[i] > scores[best]) best = i
  if (mode == Mode.Keywords && scores[best] == 0) return fallback
  return best
}

function count(hash: u64): void {
  const entry = find(hash)
  if (entry < 0) return
  for (let i = 0; i < width; i++) scores[i] += unchecked(weights[entry * width + i]) as f64
}

let scratch: usize = 0
let scratchCapacity: usize = 0

export function map(record: Record): void {
  const slice = record.find(field)
  if (slice.kind != Kind.String) {
    const isMissing = slice.kind == Kind.Missing
    record.fail('the field ' + fieldName + (isMissing ? ' is missing' : ' is not a text'), isMissing ? FIELD_MISSING : RECORD_FAILED)
    return
  }
  let start = slice.start + 1
  let end = slice.end - 1
  for (let p = start; p < end; p++) {
    if (load<u8>(p) != 92) continue
    if (end - start + 8 > scratchCapacity) {
      if (scratch != 0) heap.free(scratch)
      scratchCapacity = (end - start) * 2 + 64
      scratch = heap.alloc(scratchCapacity)
    }
    end = unescape(start, end, scratch)
    start = scratch
    break
  }
  const label = mode == Mode.Sentiment ? sentiment(start, end) : byWeights(start, end)
  const json = labelJson[label]
  record.setBytes(output, changetype<usize>(json), json.byteLength)
}

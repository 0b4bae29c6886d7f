/** The tour's own SmartModule: adds the number of words in `text` as `words`. */
import { Kind, Path, Record, Segment } from 'dps'

const text = new Path('text')
const words = new Segment('words')

export function map(record: Record): void {
  const slice = record.find(text)
  if (slice.kind != Kind.String) {
    record.fail('text is missing or not a string')
    return
  }
  let count = 0
  let inside = false
  for (let p = slice.start + 1; p < slice.end - 1; p++) {
    const space = load<u8>(p) <= 32
    if (!space && !inside) count++
    inside = !space
  }
  const json = String.UTF8.encode(count.toString())
  record.setBytes(words, changetype<usize>(json), json.byteLength)
}

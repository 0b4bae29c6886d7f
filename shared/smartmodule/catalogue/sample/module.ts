/** dps/sample: keeps a share of the records: by their place, or all or none of those with one value. The same ones on every run. */
import { Config, Kind, Path, Record, Writer, numberOf, textOf, unescape } from 'dps'
import { leavesBytes } from 'dps/abi'

let path: Path | null = null
/** Of 2^32 hashes, those below are kept. */
let limit: u64 = 0

export function init(config: Config): void {
  leavesBytes()
  const share = config.get('share')
  const value = share.kind == Kind.Number ? numberOf(share.start, share.end) : -1
  if (value < 0 || value > 1) config.refuse('config.share must be between 0 and 1')
  limit = (value * 4294967296.0) as u64
  const by = config.get('by')
  path = by.kind == Kind.String ? new Path(textOf(by.start, by.end)) : null
}

let hash: u64 = 0
const text = new Writer()
function mix(byte: u64): void { hash = (hash ^ byte) * 0x100000001b3 }

/** A text and its quotes: the same one may be written with escapes or without. */
function mixText(start: usize, end: usize): void {
  text.clear()
  text.room(end - start)
  const stop = unescape(start + 1, end - 1, text.at)
  mix(34)
  for (let p = text.at; p < stop; p++) mix(load<u8>(p))
  mix(34)
}

/** FNV-1a, and the finaliser of SplitMix64, because neighbouring offsets differ in a few bits alone. */
function finished(): u64 {
  let z = hash
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb
  return (z ^ (z >> 31)) >> 32
}

export function filter(record: Record): bool {
  hash = 0xcbf29ce484222325
  if (path === null) {
    for (let i = 0; i < 64; i += 8) mix((record.offset >> i) & 255)
    for (let i = 0; i < 32; i += 8) mix((record.partition >> i) & 255)
  } else {
    const slice = record.find(path!)
    if (slice.kind == Kind.String) mixText(slice.start, slice.end)
    else if (slice.kind != Kind.Missing) for (let p = slice.start; p < slice.end; p++) mix(load<u8>(p))
  }
  return finished() < limit
}

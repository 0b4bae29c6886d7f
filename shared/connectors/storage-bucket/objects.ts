/** Which objects match a pattern, and what their names say about their contents. */
import type { BucketSourceConfig } from './connector.ts'
import type { CsvOptions } from './format-csv.ts'
import type { FormatName } from './formats.ts'

/**
 * Whether a key matches: `*` is anything but a slash, `**` anything, `?` one character but a slash. There is no backtracking: the time is
 * bounded by the pattern's length times the key's.
 */
export function matchesGlob(glob: string, key: string): boolean {
  const tokens = glob.match(/\*\*|[^]/g) ?? []
  /** `reached[n]`: whether the tokens so far match exactly the first `n` characters of the key. */
  let reached = new Uint8Array(key.length + 1)
  reached[0] = 1
  for (const token of tokens) {
    const next = new Uint8Array(key.length + 1)
    const isAny = token === '**' || token === '*'
    for (let at = 0; at <= key.length; at++) {
      if (isAny && reached[at]) next[at] = 1
      if (at === 0) continue
      const character = key[at - 1]!
      if (token === '**') next[at]! |= next[at - 1]!
      else if (token === '*') next[at]! |= character === '/' ? 0 : next[at - 1]!
      else if (token === '?') next[at]! |= character === '/' ? 0 : reached[at - 1]!
      else next[at]! |= character === token ? reached[at - 1]! : 0
    }
    reached = next
  }
  return reached[key.length] === 1
}

const EXTENSIONS: Record<string, FormatName> = { ndjson: 'ndjson', jsonl: 'ndjson', json: 'json', csv: 'csv', tsv: 'csv' }

/** Format and compression of an object, by its key where the config leaves them open. */
export function describeObject(
  key: string,
  config: Pick<BucketSourceConfig, 'format' | 'compression' | 'csv'>,
): { format: FormatName; compression: 'none' | 'gzip' | 'zstd'; csv: CsvOptions } {
  const name = key.slice(key.lastIndexOf('/') + 1).toLowerCase()
  const outer = name.endsWith('.gz') ? 'gzip' : name.endsWith('.zst') ? 'zstd' : 'none'
  const inner = name.replace(/\.(gz|zst)$/, '')
  const extension = inner.includes('.') ? inner.slice(inner.lastIndexOf('.') + 1) : ''
  return {
    format: config.format === 'auto' ? (EXTENSIONS[extension] ?? 'text') : config.format,
    compression: config.compression === 'auto' ? outer : config.compression,
    csv: {
      header: true,
      quote: true,
      empty: 'text',
      encoding: 'utf-8',
      ...config.csv,
      delimiter: config.csv?.delimiter ?? (extension === 'tsv' ? '\t' : ','),
    },
  }
}

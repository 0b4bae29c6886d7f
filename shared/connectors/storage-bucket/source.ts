/**
 * Objects as records. Each split has the objects whose keys hash to it, oldest first; it remembers which it has read whole, and how far it
 * is in the one it is reading, so that a huge object is gone on with in the middle. An object that was replaced is read again.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { pipeline, Transform, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { z } from 'zod'
import { createZstdInflater } from '../../kafka/protocol/zstd-frames.ts'
import type { ConnectorContext } from '../connector.ts'
import { createBlockBuilder, type RecordBlock } from '../record-block.ts'
import type { OpenSource, SourceRead } from '../source.ts'
import type { BucketSourceConfig } from './connector.ts'
import { openFormat, type FormatName } from './formats.ts'
import { ObjectChanged, type ObjectInfo } from './object-store.ts'
import { openObjectStore } from './open-store.ts'

/** `b`: bytes of the object, inflated, that lie behind; `n`: records before them. */
const Position = z.object({ o: z.string(), e: z.string(), b: z.number(), n: z.number() })
type Position = z.infer<typeof Position>

/** A block is handed over at this size. */
const BLOCK_BYTES = 1 << 20
const NOTHING: RecordBlock = { bytes: Buffer.alloc(0), spans: new Int32Array(0), count: 0 }

const splitOf = (key: string, count: number): number => createHash('sha256').update(key).digest().readUInt32BE(0) % count

/**
 * Whether a key matches: `*` for anything but a slash, `**` for anything, `?` for one character but a slash. Place by place, so that no
 * pattern takes longer than its length times the key's.
 */
export function matchesGlob(glob: string, key: string): boolean {
  const tokens = glob.match(/\*\*|[^]/g) ?? []
  /** Of the key's first characters, by count: whether the tokens so far match exactly those. */
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

export function describeObject(
  key: string,
  config: Pick<BucketSourceConfig, 'format' | 'compression'>,
): { format: FormatName; compression: 'none' | 'gzip' | 'zstd'; isTabbed: boolean } {
  const name = key.slice(key.lastIndexOf('/') + 1).toLowerCase()
  const outer = name.endsWith('.gz') ? 'gzip' : name.endsWith('.zst') ? 'zstd' : 'none'
  const inner = name.replace(/\.(gz|zst)$/, '')
  const extension = inner.includes('.') ? inner.slice(inner.lastIndexOf('.') + 1) : ''
  return {
    format: config.format === 'auto' ? (EXTENSIONS[extension] ?? 'text') : config.format,
    compression: config.compression === 'auto' ? outer : config.compression,
    isTabbed: extension === 'tsv',
  }
}

const decompressorOf = (compression: 'none' | 'gzip' | 'zstd'): Transform[] =>
  compression === 'none' ? [] : [compression === 'gzip' ? createGunzip() : createZstdInflater()]

/** One behind the other; what goes wrong in any of them ends all, and is told by the last. */
function chained(first: Readable, rest: Transform[]): Readable {
  if (rest.length === 0) return first
  const all = [first, ...rest]
  pipeline(all as [Readable, ...Transform[]], () => {})
  return all.at(-1)!
}

/** Lets the first `bytes` fall. */
function skip(bytes: number): Transform {
  let left = bytes
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const dropped = Math.min(left, chunk.length)
      left -= dropped
      done(null, dropped === chunk.length ? undefined : chunk.subarray(dropped))
    },
  })
}

export async function openBucketSource(config: BucketSourceConfig, context: ConnectorContext): Promise<OpenSource> {
  const store = await openObjectStore(config, context)
  const { pattern, prefix } = config
  const isWanted = ({ key }: ObjectInfo): boolean => pattern === undefined || matchesGlob(pattern, key.slice(prefix.length))

  /** The part of the object behind the position, as bytes that its format can go on with. */
  async function openObject(object: ObjectInfo, from: Position, signal: AbortSignal): Promise<Readable> {
    const { compression } = describeObject(object.key, config)
    const isPlain = compression === 'none'
    const readable = await store.read(object, isPlain ? from.b : 0, signal)
    const skipping = isPlain || from.b === 0 ? [] : [skip(from.b)]
    return chained(readable, [...decompressorOf(compression), ...skipping])
  }

  async function* readObject(object: ObjectInfo, from: Position, signal: AbortSignal): AsyncGenerator<SourceRead> {
    const { format, isTabbed } = describeObject(object.key, config)
    const builder = createBlockBuilder(BLOCK_BYTES + (64 << 10))
    const reader = openFormat(
      format,
      { object: object.key, csv: { header: true, quote: true, delimiter: isTabbed ? '\t' : ',', ...config.csv } },
      builder,
    )
    // A format that can't begin in the middle begins anew and lets the first records fall.
    const start = reader.canResume ? from : { ...from, b: 0 }
    const place = reader.begin(start.b, from.n)
    const read = (): SourceRead => ({ block: builder.take(), position: JSON.stringify({ ...from, ...place() }) })
    const bytes = await openObject(object, start, signal)
    // An end without an error would leave whoever waits for the next chunk waiting.
    const abort = () => bytes.destroy(new Error('the reading was given up'))
    signal.addEventListener('abort', abort, { once: true })
    try {
      for await (const chunk of bytes) {
        await reader.add(chunk as Buffer)
        if (builder.bytes >= BLOCK_BYTES) yield read()
      }
    } finally {
      signal.removeEventListener('abort', abort)
      bytes.destroy()
    }
    await reader.end()
    // The last of it goes with the word that it was read whole.
    const { block } = read()
    yield { block, position: JSON.stringify({ o: '', e: '', b: 0, n: 0 }), seen: [{ key: object.key, value: object.etag }] }
  }

  async function* readAll(object: ObjectInfo, from: Position, signal: AbortSignal): AsyncGenerator<SourceRead> {
    try {
      yield* readObject(object, from, signal)
    } catch (error) {
      if (signal.aborted) return
      // Listed again, it is another object, or none.
      if (!(error instanceof ObjectChanged)) throw error
      context.log('warn', error.message)
      yield { block: NOTHING, position: JSON.stringify({ o: '', e: '', b: 0, n: 0 }) }
    }
  }

  /** Objects of the split that were not read yet, oldest first. */
  async function findNew(
    split: { index: number; count: number },
    seen: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<ObjectInfo[]> {
    const found: ObjectInfo[] = []
    for await (const page of store.list(config.prefix, signal))
      for (const object of page)
        if (splitOf(object.key, split.count) === split.index && isWanted(object) && seen.get(object.key) !== object.etag) found.push(object)
    return found.sort((a, b) => a.modifiedAt - b.modifiedAt || (a.key < b.key ? -1 : 1))
  }

  return {
    async *read(split, position, seen, signal) {
      let at = position === undefined ? undefined : Position.parse(JSON.parse(position))
      /** Read to their ends in this run; `seen` follows once that is committed. */
      const done = new Map<string, string>()
      while (!signal.aborted) {
        const from = performance.now()
        const found = await findNew(split, seen, signal).catch((error: unknown) => {
          if (signal.aborted) return []
          throw error
        })
        const objects = found.filter(({ key, etag }) => done.get(key) !== etag)
        const half = at && objects.find(({ key, etag }) => key === at!.o && etag === at!.e)
        if (half && at) objects.splice(0, objects.length, half, ...objects.filter((each) => each !== half))
        for (const object of objects) {
          if (signal.aborted) return
          const start = object === half && at ? at : { o: object.key, e: object.etag, b: 0, n: 0 }
          yield* readAll(object, start, signal)
          done.set(object.key, object.etag)
        }
        at = undefined
        for (const [key, etag] of done) if (seen.get(key) === etag) done.delete(key)
        if (!config.follow) return
        // Listing a large bucket costs: it gets at most a tenth of the time.
        await sleep(Math.max(config.poll_interval_ms, (performance.now() - from) / 10), undefined, { signal }).catch(() => {})
      }
    },
    async close() {
      store.close()
    },
  }
}

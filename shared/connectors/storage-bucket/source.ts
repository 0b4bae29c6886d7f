/**
 * Reads objects as records. Each split has the objects whose keys hash to it; if order matters, split 0 has them all. A split remembers
 * which objects it has read to the end, and its position in the current one, so that a restart continues in the middle of a huge object. An
 * object that was replaced is read again; one that can't be read becomes a dead letter, and the others are still read.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { pipeline, Transform, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { z } from 'zod'
import { createZstdInflater } from '../../kafka/protocol/zstd-frames.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { createBlockBuilder, type BlockBuilder } from '../record-block.ts'
import type { OpenSource, SourceRead } from '../source.ts'
import type { BucketSourceConfig } from './connector.ts'
import { ObjectMalformed } from './format-reader.ts'
import { openFormat } from './formats.ts'
import { withKeys } from './keyed-records.ts'
import { ObjectChanged, type ObjectInfo } from './object-store.ts'
import { describeObject, matchesGlob } from './objects.ts'
import { openObjectStore } from './open-store.ts'
import { isEntryOf, isRead, seenValue, staleEntries } from './seen-objects.ts'

/**
 * `o`, `e`: key and ETag of the current object; `b`: its decompressed bytes read so far; `n`: the records in them. `w`: all objects last
 * modified before this time have been read, and their entries are forgotten.
 */
const Position = z.object({ o: z.string(), e: z.string(), b: z.number(), n: z.number(), w: z.number().optional() })
type Position = z.infer<typeof Position>

/** A block is handed over at this size, or after this many objects were read to the end. */
const BLOCK_BYTES = 1 << 20
const BLOCK_OBJECTS = 1000
/** The builder's initial size: many objects are tiny. */
const BLOCK_BYTES_FIRST = 64 << 10

const splitOf = (key: string, count: number): number => createHash('sha256').update(key).digest().readUInt32BE(0) % count

const decompressorOf = (compression: 'none' | 'gzip' | 'zstd'): Transform[] =>
  compression === 'none' ? [] : [compression === 'gzip' ? createGunzip() : createZstdInflater()]

/** Pipes each stream into the next; an error in any of them ends all, and the last one reports it. */
function chained(first: Readable, rest: Transform[]): Readable {
  if (rest.length === 0) return first
  const all = [first, ...rest]
  pipeline(all as [Readable, ...Transform[]], () => {})
  return all.at(-1)!
}

/** Drops the first `bytes` bytes. */
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

/** Whether the error is a decompressor's about the bytes, not the store's about the connection. */
const isCorrupt = (error: unknown): boolean =>
  error instanceof RangeError || /^(Z_|ERR_BUFFER_TOO_LARGE|ZSTD_)/.test(String((error as { code?: unknown } | undefined)?.code ?? ''))

export async function openBucketSource(config: BucketSourceConfig, context: ConnectorContext): Promise<OpenSource> {
  const store = await openObjectStore(config, context)
  const { pattern, prefix } = config
  const isOrdered = config.key !== undefined || config.order !== undefined
  // A file may be put into a folder with any modification time; only the times that a store sets always grow.
  const forgets = !config.bucket.startsWith('file://')

  const isOwn = ({ key }: ObjectInfo, split: { index: number; count: number }): boolean =>
    (isOrdered ? split.index === 0 : splitOf(key, split.count) === split.index) &&
    (pattern === undefined || matchesGlob(pattern, key.slice(prefix.length)))

  /** The object's decompressed bytes from the position on. */
  async function openObject(object: ObjectInfo, from: Position, signal: AbortSignal): Promise<Readable> {
    const { compression } = describeObject(object.key, config)
    const isPlain = compression === 'none'
    const readable = await store.read(object, isPlain ? from.b : 0, signal)
    const skipping = isPlain || from.b === 0 ? [] : [skip(from.b)]
    return chained(readable, [...decompressorOf(compression), ...skipping])
  }

  /** Adds the object's records; whenever a block is full, yields the position after the last record added. */
  async function* readObject(object: ObjectInfo, from: Position, into: BlockBuilder, signal: AbortSignal): AsyncGenerator<Position> {
    const { format, csv } = describeObject(object.key, config)
    const reader = openFormat(format, { object: object.key, csv }, into)
    // A format that can't start in the middle starts over and skips the records already read.
    const start = reader.canResume ? from : { ...from, b: 0 }
    const place = reader.begin(start.b, from.n)
    const bytes = await openObject(object, start, signal)
    // Destroyed without an error, the stream would leave the loop below waiting for the next chunk.
    const abort = () => bytes.destroy(new Error('reading was aborted'))
    signal.addEventListener('abort', abort, { once: true })
    try {
      for await (const chunk of bytes) {
        await reader.add(chunk as Buffer)
        if (into.bytes >= BLOCK_BYTES) yield { ...from, ...place() }
      }
    } finally {
      signal.removeEventListener('abort', abort)
      bytes.destroy()
    }
    await reader.end()
  }

  /** Like `readObject`, but an unreadable rest becomes one refused record. Returns false if aborted, or if the object has changed. */
  async function* readAll(object: ObjectInfo, from: Position, into: BlockBuilder, signal: AbortSignal): AsyncGenerator<Position, boolean> {
    try {
      yield* readObject(object, from, into, signal)
      return true
    } catch (error) {
      if (signal.aborted) return false
      if (error instanceof ObjectChanged) {
        // The next listing shows the new object, or none.
        context.log('warn', error.message)
        return false
      }
      if (!(error instanceof ObjectMalformed) && !isCorrupt(error)) throw error
      const message = error instanceof ObjectMalformed ? error.message : `the object ${object.key} is corrupt: ${(error as Error).message}`
      if (config.on_object_error === 'fail') throw new ConfigRefused(message)
      context.log('warn', message)
      into.refuse('object_unreadable', `${message}; the rest is not read unless the object is replaced`, Buffer.from(object.key))
      return true
    }
  }

  /** The split's objects that were not read yet, in reading order; and the newest modification time of all its objects. */
  async function findNew(
    split: { index: number; count: number },
    seen: ReadonlyMap<string, string>,
    readBefore: number,
    signal: AbortSignal,
  ): Promise<{ found: ObjectInfo[]; newest: number }> {
    const found: ObjectInfo[] = []
    let newest = 0
    for await (const page of store.list(config.prefix, signal))
      for (const object of page) {
        if (!isOwn(object, split)) continue
        newest = Math.max(newest, object.modifiedAt)
        if (!isRead(seen.get(object.key), object, readBefore)) found.push(object)
      }
    const byName = (a: ObjectInfo, b: ObjectInfo) => (a.key < b.key ? -1 : 1)
    found.sort(config.order === 'name' ? byName : (a, b) => a.modifiedAt - b.modifiedAt || byName(a, b))
    return { found, newest }
  }

  return {
    async *read(split, position, seen, signal) {
      if (isOrdered && split.index !== 0) return
      const builder = withKeys(createBlockBuilder(BLOCK_BYTES_FIRST), config.key)
      let at = position === undefined ? undefined : Position.parse(JSON.parse(position))
      let readBefore = at?.w ?? 0
      /** Objects read to the end in this run; each is dropped once `seen` has it, after the commit. */
      const done = new Map<string, string>()
      let finished: NonNullable<SourceRead['seen']> = []
      const nowhere = (): Position => ({ o: '', e: '', b: 0, n: 0, w: readBefore })
      const take = (place: Position): SourceRead => {
        const read = { block: builder.take(), position: JSON.stringify({ ...place, w: readBefore }), seen: finished }
        finished = []
        return read
      }
      while (!signal.aborted) {
        const from = performance.now()
        const { found, newest } = await findNew(split, seen, readBefore, signal).catch((error: unknown) => {
          if (signal.aborted) return { found: [], newest: 0 }
          throw error
        })
        const objects = found.filter(({ key, etag }) => done.get(key) !== etag)
        const half = at && objects.find(({ key, etag }) => key === at!.o && etag === at!.e)
        if (half && at) objects.splice(0, objects.length, half, ...objects.filter((each) => each !== half))
        let isWhole = true
        for (const object of objects) {
          if (signal.aborted) return
          const start = object === half && at ? at : { o: object.key, e: object.etag, b: 0, n: 0 }
          const reading = readAll(object, start, builder, signal)
          let step = await reading.next()
          for (; !step.done; step = await reading.next()) yield take(step.value)
          if (signal.aborted) return
          if (!step.value) {
            isWhole = false
            yield take(nowhere())
            continue
          }
          done.set(object.key, object.etag)
          finished.push({ key: object.key, value: seenValue(object) })
          if (builder.bytes >= BLOCK_BYTES || finished.length >= BLOCK_OBJECTS) yield take(nowhere())
        }
        if (finished.length > 0 || builder.count > 0) yield take(nowhere())
        at = undefined
        if (forgets && isWhole) {
          const stale = staleEntries(seen, newest)
          readBefore = Math.max(readBefore, stale.before)
          finished = stale.keys.map((key) => ({ key, value: null }))
          if (finished.length > 0) yield take(nowhere())
        }
        for (const [key, etag] of done) if (isEntryOf(seen.get(key), etag)) done.delete(key)
        if (!config.follow) return
        // Listing a large bucket is expensive: the longer a pass took, the longer the pause.
        await sleep(Math.max(config.poll_interval_ms, (performance.now() - from) / 10), undefined, { signal }).catch(() => {})
      }
    },
    async close() {
      store.close()
    },
  }
}

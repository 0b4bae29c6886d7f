/** Reads one object as records, from any position in it: an object that can't be read becomes a refused record. */
import { pipeline, Transform, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { z } from 'zod'
import { createZstdInflater } from '../../kafka/protocol/zstd-frames.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import type { BlockBuilder } from '../record-block.ts'
import type { BucketSourceConfig } from './connector.ts'
import { ObjectMalformed } from './format-reader.ts'
import { openFormat } from './formats.ts'
import { ObjectChanged, ObjectWithheld, type ObjectInfo, type ObjectStore } from './object-store.ts'
import { describeObject } from './objects.ts'

/**
 * `o`, `e`: key and ETag of the current object; `b`: its decompressed bytes read so far; `n`: the records in them; `a`: see
 * `FormatPosition`. `w`: all objects last modified before this time have been read, and their entries are forgotten.
 */
export const Position = z.object({
  o: z.string(),
  e: z.string(),
  b: z.number(),
  n: z.number(),
  a: z.enum(['array', 'closed', 'documents']).optional(),
  w: z.number().optional(),
})
/** A validated position. */
export type Position = z.infer<typeof Position>

/** A block is handed over at this size. */
export const BLOCK_BYTES = 1 << 20

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

/**
 * What became of an object: `read` to its end, or as far as it can be; `later`: aborted, or the object has changed; or why it could not be
 * read while no other object could be either, which is perhaps no fault of the object.
 */
export type ObjectOutcome = 'read' | 'later' | ObjectWithheld
/** Reads objects; whenever a block is full, the position behind it is yielded. */
export type ReadObject = (
  object: ObjectInfo,
  from: Position,
  into: BlockBuilder,
  signal: AbortSignal,
) => AsyncGenerator<Position, ObjectOutcome>

/** How the store's objects are read with this config. */
export function createObjectReader(
  store: ObjectStore,
  config: BucketSourceConfig,
  context: Pick<ConnectorContext, 'log' | 'mask'>,
): ReadObject {
  /** The last object that the store gave out. */
  let lastReadable: ObjectInfo | undefined
  /** Whether others can be read now: a key that may read none, also for a while, must not make dead letters of all. */
  const mayReadOthers = async (signal: AbortSignal): Promise<boolean> => {
    if (!lastReadable) return false
    const read = store.read(lastReadable, 0, signal).then((body) => body.destroy())
    return read.then(
      () => true,
      () => false,
    )
  }

  /** The object's decompressed bytes from the position on. */
  async function openObject(object: ObjectInfo, from: Position, signal: AbortSignal): Promise<Readable> {
    const { compression } = describeObject(object.key, config)
    const isPlain = compression === 'none'
    const readable = await store.read(object, isPlain ? from.b : 0, signal)
    // Nothing is asked of the store for an empty object.
    if (object.size > 0) lastReadable = object
    const skipping = isPlain || from.b === 0 ? [] : [skip(from.b)]
    return chained(readable, [...decompressorOf(compression), ...skipping])
  }

  /** Adds the object's records; whenever a block is full, yields the position after the last record added. */
  async function* readObject(object: ObjectInfo, from: Position, into: BlockBuilder, signal: AbortSignal): AsyncGenerator<Position> {
    const { format, csv } = describeObject(object.key, config)
    const reader = openFormat(format, { object: object.key, csv }, into)
    // A format that can't start in the middle starts over and skips the records already read.
    const start = reader.canResume ? from : { ...from, b: 0 }
    const position = reader.begin(start)
    const bytes = await openObject(object, start, signal)
    // Destroyed without an error, the stream would leave the loop below waiting for the next chunk.
    const abort = () => bytes.destroy(new Error('reading was aborted'))
    signal.addEventListener('abort', abort, { once: true })
    try {
      for await (const chunk of bytes) {
        await reader.add(chunk as Buffer)
        if (into.bytes >= BLOCK_BYTES) yield { ...from, ...position() }
      }
    } finally {
      signal.removeEventListener('abort', abort)
      bytes.destroy()
    }
    await reader.end()
  }

  /** Like `readObject`, but an unreadable rest becomes one refused record. */
  async function* readAll(
    object: ObjectInfo,
    from: Position,
    into: BlockBuilder,
    signal: AbortSignal,
  ): AsyncGenerator<Position, ObjectOutcome> {
    try {
      yield* readObject(object, from, into, signal)
      return 'read'
    } catch (error) {
      if (signal.aborted) return 'later'
      if (error instanceof ObjectChanged) {
        // The next listing shows the new object, or none.
        context.log('warn', error.message)
        return 'later'
      }
      const isWithheld = error instanceof ObjectWithheld
      if (isWithheld && error.isForbidden && !(await mayReadOthers(signal))) return signal.aborted ? 'later' : error
      if (!isWithheld && !(error instanceof ObjectMalformed) && !isCorrupt(error)) throw error
      const said =
        isWithheld || error instanceof ObjectMalformed ? error.message : `the object ${object.key} is corrupt: ${(error as Error).message}`
      // The store may echo its keys, and a dead letter shows only the beginning.
      const message = context.mask(said)
      if (config.on_object_error === 'fail') throw new ConfigRefused(message)
      context.log('warn', message)
      into.refuse('object_unreadable', `${message}; the rest is not read unless the object is replaced`, Buffer.from(object.key))
      return 'read'
    }
  }

  return readAll
}

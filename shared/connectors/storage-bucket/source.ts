/**
 * Reads objects as records. Each split has the objects whose keys hash to it; if order matters, split 0 has them all. A split remembers
 * which objects it has read to the end, and its position in the current one, so that a restart continues in the middle of a huge object. An
 * object that was replaced is read again; one that can't be read becomes a dead letter, and the others are still read.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectorContext } from '../connector.ts'
import { createBlockBuilder } from '../record-block.ts'
import { seenValue } from '../seen-entries.ts'
import type { OpenSource, SourceRead } from '../source.ts'
import type { BucketSourceConfig } from './connector.ts'
import { createFirstInOrder } from './first-in-order.ts'
import { withKeys } from './keyed-records.ts'
import type { ObjectInfo } from './object-store.ts'
import { matchesGlob } from './objects.ts'
import { openObjectStore } from './open-store.ts'
import { BLOCK_BYTES, createObjectReader, Position } from './read-object.ts'
import { forgettable, isRead } from './seen-objects.ts'

/** A block is also handed over after this many objects were read to the end. */
const BLOCK_OBJECTS = 1000
/** The builder's initial size: many objects are tiny. */
const BLOCK_BYTES_FIRST = 64 << 10

/**
 * Objects that one listing finds at most, about 300 bytes of heap each. A bucket with more that were not read yet is listed again once
 * these are read.
 */
const FOUND_MAX = 200_000

const splitOf = (key: string, count: number): number => createHash('sha256').update(key).digest().readUInt32BE(0) % count

/** `test/unit/bucket-order.test.ts` shows the order in which objects are read. */
const byName = (a: ObjectInfo, b: ObjectInfo) => (a.key < b.key ? -1 : 1)
const byTime = (a: ObjectInfo, b: ObjectInfo) => a.modifiedAt - b.modifiedAt || byName(a, b)

/** Opens the source: each split has its share of the objects. `foundMax`: objects of one listing that are kept. */
export async function openBucketSource(config: BucketSourceConfig, context: ConnectorContext, foundMax = FOUND_MAX): Promise<OpenSource> {
  const store = await openObjectStore(config, context)
  const { pattern, prefix } = config
  const readAll = createObjectReader(store, config, context)
  const isOrdered = config.key !== undefined || config.order !== undefined
  // A file may be put into a folder with any modification time; only the times that a store sets always grow.
  const forgets = !config.bucket.startsWith('file://')

  const isOwn = ({ key }: ObjectInfo, split: { index: number; count: number }): boolean =>
    (isOrdered ? split.index === 0 : splitOf(key, split.count) === split.index) &&
    (pattern === undefined || matchesGlob(pattern, key.slice(prefix.length)))

  /**
   * The split's objects that are to be read, in reading order, the one that was begun before all others; whether these are all; and the
   * newest modification time of all its objects.
   */
  async function findNew(
    split: { index: number; count: number },
    isNew: (object: ObjectInfo) => boolean,
    at: Position | undefined,
    signal: AbortSignal,
  ): Promise<{ begun: ObjectInfo | undefined; others: ObjectInfo[]; isAll: boolean; newest: number }> {
    const first = createFirstInOrder(foundMax, config.order === 'name' ? byName : byTime)
    let begun: ObjectInfo | undefined
    let newest = 0
    for await (const page of store.list(config.prefix, signal))
      for (const object of page) {
        if (!isOwn(object, split)) continue
        newest = Math.max(newest, object.modifiedAt)
        if (!isNew(object)) continue
        if (object.key === at?.o && object.etag === at.e) begun = object
        else first.add(object)
      }
    const { items, isAll } = first.take()
    return { begun, others: items, isAll, newest }
  }

  return {
    async *read(split, position, seen, signal) {
      if (isOrdered && split.index !== 0) return
      const builder = withKeys(createBlockBuilder(BLOCK_BYTES_FIRST), config.key)
      let at = position === undefined ? undefined : Position.parse(JSON.parse(position))
      let readBefore = at?.w ?? 0
      /** Objects read to the end in this run; each is dropped once `seen` or its time shows that, after the commit. */
      const done = new Map<string, ObjectInfo>()
      let finished: NonNullable<SourceRead['seen']> = []
      const nowhere = (): Position => ({ o: '', e: '', b: 0, n: 0, w: readBefore })
      const take = (at: Position): SourceRead => {
        const read = { block: builder.take(), position: JSON.stringify({ ...at, w: readBefore }), seen: finished }
        finished = []
        return read
      }
      while (!signal.aborted) {
        const from = performance.now()
        const isNew = (object: ObjectInfo) => done.get(object.key)?.etag !== object.etag && !isRead(seen, object, readBefore)
        const { begun, others, isAll, newest } = await findNew(split, isNew, at, signal).catch((error: unknown) => {
          if (signal.aborted) return { begun: undefined, others: [], isAll: true, newest: 0 }
          throw error
        })
        const objects = begun ? [begun, ...others] : others
        let isWhole = isAll
        let withheld: Error | undefined
        const doneBefore = done.size
        for (const object of objects) {
          if (signal.aborted) return
          const start = object === begun && at ? at : { o: object.key, e: object.etag, b: 0, n: 0 }
          const reading = readAll(object, start, builder, signal)
          let step = await reading.next()
          for (; !step.done; step = await reading.next()) yield take(step.value)
          if (signal.aborted) return
          if (step.value !== 'read') {
            // Its position must not be lost: what is before it is committed.
            if (step.value !== 'later' && object === begun) throw step.value
            isWhole = false
            if (step.value !== 'later') withheld = step.value
            yield take(nowhere())
            continue
          }
          done.set(object.key, object)
          finished.push({ key: object.key, value: seenValue(object.etag, object.modifiedAt) })
          if (builder.bytes >= BLOCK_BYTES || finished.length >= BLOCK_OBJECTS) yield take(nowhere())
        }
        if (finished.length > 0 || builder.count > 0) yield take(nowhere())
        at = undefined
        const hasRead = done.size > doneBefore
        if (withheld) {
          // None could be read. Otherwise the next pass knows that it is the object's own fault.
          if (!hasRead) throw withheld
          continue
        }
        const before = forgets && isWhole ? forgettable(seen, newest) : undefined
        if (before !== undefined) {
          readBefore = Math.max(readBefore, before)
          yield { ...take(nowhere()), forgetBefore: before }
        }
        for (const object of done.values()) if (isRead(seen, object, readBefore)) done.delete(object.key)
        if (!isAll && hasRead) continue
        if (isAll && !config.follow) return
        // Listing a large bucket is expensive: the longer a pass took, the longer the pause.
        await sleep(Math.max(config.poll_interval_ms, (performance.now() - from) / 10), undefined, { signal }).catch(() => {})
      }
    },
    async close() {
      store.close()
    },
  }
}

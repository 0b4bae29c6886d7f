/** What sources remember: entries of read objects are dropped without reading the objects again, and a position may have any length. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLong, POSITION_BYTES_MAX, positionIn, POSITION_IN_TOPIC, withPosition } from '../../services/processor/intake/split-position.ts'
import { seenBatches } from '../../services/processor/intake/seen.ts'
import { BATCH_HEADER_BYTES, decodeRecords } from '../../shared/kafka/protocol/record-batch.ts'
import { createSeenEntries, seenValue } from '../../shared/connectors/seen-entries.ts'
import type { ObjectInfo } from '../../shared/connectors/storage-bucket/object-store.ts'
import { forgettable, isRead } from '../../shared/connectors/storage-bucket/seen-objects.ts'

const DAY_MS = 86_400_000

describe('objects that were read', () => {
  const object = (index: number, modifiedAt: number) => ({ key: `o-${index}`, etag: `"e${index}"`, size: 1, modifiedAt })
  const entriesOf = (objects: readonly ObjectInfo[]) => {
    const entries = createSeenEntries()
    for (const { key, etag, modifiedAt } of objects) entries.set(key, seenValue(etag, modifiedAt))
    return entries
  }

  it('stay read when their entries are forgotten, and are read again when they are replaced', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 40 * DAY_MS }), { minLength: 1500, maxLength: 3000 }), (times) => {
        const objects = times.map((time, index) => object(index, time))
        const seen = entriesOf(objects)
        const newest = Math.max(...times)
        const before = forgettable(seen, newest) ?? 0
        for (const { key } of objects) if (seen.isBefore(key, before)) seen.delete(key)
        for (const each of objects) expect(isRead(seen, each, before)).toBe(true)
        // A replaced object has a new time, and so has a new object.
        for (const each of objects.slice(0, 20)) {
          expect(isRead(seen, { ...each, etag: '"other"', modifiedAt: newest + 1 }, before)).toBe(false)
          expect(isRead(seen, object(-1, newest), before)).toBe(false)
        }
      }),
      { numRuns: 20 },
    )
  })

  it('are forgotten once a day older than the newest, many at a time', () => {
    const objectsOf = (count: number) => Array.from({ length: count }, (_, index) => object(index, index * 60_000))
    const minutes = DAY_MS / 60_000
    expect(forgettable(entriesOf(objectsOf(5000)), 5000 * 60_000)).toBe((5000 - minutes) * 60_000)
    expect(forgettable(entriesOf(objectsOf(minutes + 1000)), (minutes + 999) * 60_000)).toBeUndefined()
    expect(forgettable(entriesOf(objectsOf(minutes + 1000)), (minutes + 1000) * 60_000)).toBe(1000 * 60_000)
    expect(forgettable(entriesOf([object(0, 0)]), 100 * DAY_MS)).toBeUndefined()
  })

  it('are forgotten only once they are an eighth of all, because that takes a read of the whole topic', () => {
    const [old, young] = [Array.from({ length: 2000 }, (_, index) => object(index, 1)), (count: number) => object(2000 + count, DAY_MS + 2)]
    expect(forgettable(entriesOf([...old, ...Array.from({ length: 14_000 }, (_, n) => young(n))]), DAY_MS + 2)).toBe(2)
    expect(forgettable(entriesOf([...old, ...Array.from({ length: 14_001 }, (_, n) => young(n))]), DAY_MS + 2)).toBeUndefined()
  })

  it('are recognised by entries of the old form, which have no time and are not forgotten', () => {
    const entries = createSeenEntries()
    for (let index = 0; index < 2000; index++) entries.set(`o-${index}`, `"e${index}"`)
    expect(isRead(entries, object(1, 5), 0)).toBe(true)
    expect(isRead(entries, { ...object(1, 5), etag: '"e2"' }, 0)).toBe(false)
    expect(forgettable(entries, 100 * DAY_MS)).toBeUndefined()
  })
})

describe('entries of one commit', () => {
  it('are written in batches that a topic accepts by default, in their order', () => {
    const key = (index: number) => `${'folder/'.repeat(10)}${index}.ndjson`
    const block = { bytes: Buffer.alloc(0), spans: new Int32Array(0), count: 0 }
    const reads = [0, 1].map((split) => {
      const seen = Array.from({ length: 15_000 }, (_, index) => ({ key: key(index), value: index % 2 === 0 ? null : '"etag" 1' }))
      return { split, read: { block, position: 'p'.repeat(900_000), seen } }
    })
    const batches = seenBatches(reads, 0)
    for (const { length } of batches) expect(length).toBeLessThan(1_000_000)
    const records = batches.flatMap(({ bytes, length, records: count }) => [
      ...decodeRecords(Buffer.from(bytes, BATCH_HEADER_BYTES, length - BATCH_HEADER_BYTES), count),
    ])
    const wanted = reads.flatMap(({ split, read }) => read.seen.map((entry) => `${split}/${entry.key}`))
    expect(records.map((record) => String(record.key))).toEqual([...wanted, 'position/0', 'position/1'])
    expect(records.slice(0, 2).map(({ value }) => value && String(value))).toEqual([null, '"etag" 1'])
  })
})

describe('a position', () => {
  it('is read back unchanged, from the metadata or, when it is long, from the topic', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 9000 }), (position) => {
        const read = { block: { bytes: Buffer.alloc(0), spans: new Int32Array(0), count: 0 }, position }
        const [batch] = seenBatches([{ split: 3, read }], 0)
        if (!isLong(position)) {
          expect(batch).toBeUndefined()
          expect(Buffer.byteLength(withPosition(position))).toBeLessThanOrEqual(4096)
          expect(positionIn(withPosition(position), undefined)).toBe(position)
          return
        }
        const [record] = decodeRecords(Buffer.from(batch!.bytes, BATCH_HEADER_BYTES, batch!.length - BATCH_HEADER_BYTES), batch!.records)
        expect(String(record!.key)).toBe('position/3')
        expect(positionIn(POSITION_IN_TOPIC, String(record!.value))).toBe(position)
      }),
    )
  })

  it('fails the pipeline with a sentence when it is longer than a topic keeps', () => {
    const block = { bytes: Buffer.alloc(0), spans: new Int32Array(0), count: 0 }
    const write = (position: string) => seenBatches([{ split: 0, read: { block, position } }], 0)
    expect(write('p'.repeat(POSITION_BYTES_MAX))).toHaveLength(1)
    expect(() => write('p'.repeat(POSITION_BYTES_MAX + 1))).toThrow('of 900001 bytes, and one of at most 900000 can be kept')
  })

  it('is an error when it is missing, and not a start from the beginning', () => {
    expect(() => positionIn(POSITION_IN_TOPIC, undefined)).toThrow('missing')
  })
})

/** What sources remember: entries of read objects are dropped without reading the objects again, and a position may have any length. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLong, positionIn, POSITION_IN_TOPIC, withPosition } from '../../services/processor/intake/split-position.ts'
import { seenBatches } from '../../services/processor/intake/seen.ts'
import { BATCH_HEADER_BYTES, decodeRecords } from '../../shared/kafka/protocol/record-batch.ts'
import { isRead, seenValue, staleEntries } from '../../shared/connectors/storage-bucket/seen-objects.ts'

const DAY_MS = 86_400_000

describe('objects that were read', () => {
  const object = (index: number, modifiedAt: number) => ({ key: `o-${index}`, etag: `"e${index}"`, size: 1, modifiedAt })

  it('stay read when their entries are dropped, and are read again when they are replaced', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 40 * DAY_MS }), { minLength: 1500, maxLength: 3000 }), (times) => {
        const objects = times.map((time, index) => object(index, time))
        const seen = new Map(objects.map((each) => [each.key, seenValue(each)]))
        const newest = Math.max(...times)
        const { keys, before } = staleEntries(seen, newest)
        for (const key of keys) seen.delete(key)
        for (const each of objects) expect(isRead(seen.get(each.key), each, before)).toBe(true)
        // A replaced object has a new time, and so has a new object.
        for (const each of objects.slice(0, 20)) {
          expect(isRead(seen.get(each.key), { ...each, etag: '"other"', modifiedAt: newest + 1 }, before)).toBe(false)
          expect(isRead(undefined, object(-1, newest), before)).toBe(false)
        }
      }),
      { numRuns: 20 },
    )
  })

  it('lose their entries once a day older than the newest, many at a time', () => {
    const seen = new Map(Array.from({ length: 5000 }, (_, index) => [`o-${index}`, seenValue(object(index, index * 60_000))]))
    const { keys } = staleEntries(seen, 5000 * 60_000)
    expect(keys.length).toBe(5000 - DAY_MS / 60_000)
    expect(staleEntries(new Map([['a', seenValue(object(0, 0))]]), 100 * DAY_MS).keys).toEqual([])
  })

  it('are recognised by entries of the old form, which have no time', () => {
    expect(isRead('"e1"', object(1, 5), 0)).toBe(true)
    expect(isRead('"e2"', object(1, 5), 0)).toBe(false)
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

  it('is an error when it is missing, and not a start from the beginning', () => {
    expect(() => positionIn(POSITION_IN_TOPIC, undefined)).toThrow('missing')
  })
})

/** The record batch codec against kafkajs's own encoder and decoder, in both directions. */
import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BATCH_HEADER_BYTES,
  decodeRecords,
  encodeBatch,
  readBatchHeader,
  stampProducer,
  type KafkaRecord,
} from '../../shared/kafka/protocol/record-batch.ts'
import { readVarint, readVarlong, varintSize, varlongSize, writeVarint, writeVarlong } from '../../shared/kafka/protocol/varint.ts'
import { hasValidCrc } from '../harness/valid-crc.ts'

type TheirRecord = {
  timestamp: string
  offset: string
  key: Buffer | null
  value: Buffer | null
  headers: Record<string, Buffer | Buffer[]>
}
const require = createRequire(import.meta.url)
const decodeTheirs = require('kafkajs/src/protocol/recordBatch/v0/decoder') as (
  decoder: unknown,
) => Promise<{ records: TheirRecord[]; lastOffsetDelta: number }>
const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => unknown
const { RecordBatch } = require('kafkajs/src/protocol/recordBatch/v0') as { RecordBatch(options: object): Promise<{ buffer: Buffer }> }
const Record = require('kafkajs/src/protocol/recordBatch/record/v0') as (options: object) => unknown

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const nullable = fc.option(bytes, { nil: null })
/** Names are unique and never a prototype's, because kafkajs keeps headers in an object. */
const headerList = fc.uniqueArray(
  fc.tuple(
    fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }).map((name) => `h${name}`),
    bytes,
  ),
  { maxLength: 4, selector: ([name]) => name },
)
const record = fc.record({ key: nullable, value: nullable, headers: headerList, timestampDelta: fc.bigInt({ min: 0n, max: 10n ** 12n }) })
const records = fc
  .array(record, { minLength: 1, maxLength: 30 })
  .map((list) => list.map((each, offsetDelta): KafkaRecord => ({ ...each, offsetDelta })))

describe('record batches', () => {
  it('are read by kafkajs byte for byte when we write them', async () => {
    await fc.assert(
      fc.asyncProperty(records, async (list) => {
        const batch = encodeBatch(list, 1_700_000_000_000n, 0)
        stampProducer(batch, 7n, 3, 11)
        expect(hasValidCrc(batch)).toBe(true)
        const theirs = await decodeTheirs(new Decoder(batch))
        expect(theirs.records.map(({ key, value }) => [key, value])).toEqual(list.map(({ key, value }) => [key, value]))
        expect(theirs.records.map(({ offset }) => Number(offset))).toEqual(list.map(({ offsetDelta }) => offsetDelta))
        expect(theirs.records.map(({ timestamp }) => BigInt(timestamp))).toEqual(
          list.map(({ timestampDelta }) => 1_700_000_000_000n + timestampDelta),
        )
        expect(theirs.records.map(({ headers }) => Object.entries(headers))).toEqual(
          list.map(({ headers }) => headers.map(([name, value]) => [name, value])),
        )
      }),
    )
  })

  it('are read by us byte for byte when kafkajs writes them', async () => {
    await fc.assert(
      fc.asyncProperty(records, async (list) => {
        const theirs = list.map(({ key, value, headers, offsetDelta, timestampDelta }) =>
          Record({ key, value, offsetDelta, timestampDelta: Number(timestampDelta), headers: Object.fromEntries(headers) }),
        )
        const { buffer } = await RecordBatch({
          firstTimestamp: 1000,
          maxTimestamp: 2000,
          lastOffsetDelta: list.length - 1,
          records: theirs,
        })
        const header = readBatchHeader(buffer, 0)
        expect(header).toMatchObject({ size: buffer.length, magic: 2, recordCount: list.length, baseTimestamp: 1000n })
        expect(hasValidCrc(buffer)).toBe(true)
        expect(decodeRecords(buffer.subarray(BATCH_HEADER_BYTES), list.length)).toEqual(list)
      }),
    )
  })

  it('count as no batch, and never as an error, when they are truncated anywhere', () => {
    fc.assert(
      fc.property(records, fc.double({ min: 0, max: 0.999, noNaN: true }), (list, part) => {
        const batch = encodeBatch(list, 0n, 0)
        expect(readBatchHeader(batch.subarray(0, Math.floor(batch.length * part)), 0)).toBeUndefined()
      }),
    )
  })
})

describe('varints', () => {
  it('are read back as they were written, for 32 bits', () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        const target = Buffer.alloc(8)
        expect(writeVarint(target, value, 0)).toBe(varintSize(value))
        expect(readVarint(target, { at: 0 })).toBe(value)
      }),
    )
  })

  it('are read back as they were written, for 64 bits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const target = Buffer.alloc(12)
        expect(writeVarlong(target, value, 0)).toBe(varlongSize(value))
        expect(readVarlong(target, { at: 0 })).toBe(value)
      }),
    )
  })
})

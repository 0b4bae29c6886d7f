/** Formats of objects: the records are the same however the bytes are cut into chunks, and wherever reading resumes. */
import { posix } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { REFUSED, SPAN, createBlockBuilder, type RecordBlock } from '../../shared/connectors/record-block.ts'
import { RECORD_BYTES_MAX } from '../../shared/connectors/source.ts'
import { openFormat, type FormatName } from '../../shared/connectors/storage-bucket/formats.ts'
import { describeObject, matchesGlob } from '../../shared/connectors/storage-bucket/objects.ts'
import { batchesOf } from '../../shared/connectors/block-batches.ts'
import {
  BATCH_HEADER_BYTES,
  decodeRecords,
  encodeHeaders,
  readBatchHeader,
  stampProducer,
} from '../../shared/kafka/protocol/record-batch.ts'
import { partitionOfKey } from '../../shared/kafka/protocol/murmur2.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { timeOf } from '../harness/times-of.ts'
import { hasValidCrc } from '../harness/valid-crc.ts'
import { hasEscapedName } from '../harness/escaped-names.ts'

const valuesOf = ({ bytes, spans, count }: RecordBlock): string[] =>
  Array.from({ length: count }, (_, i) => bytes.toString('utf8', spans[i * SPAN + 2], spans[i * SPAN + 3]))

const CSV = { delimiter: ',', header: true, quote: true, empty: 'text' as const, encoding: 'utf-8' as const }

/** Reads the object in chunks; stops after `stopAfter` chunks, and resumes at the position reached. */
async function read(format: FormatName, object: Buffer, cuts: number[], stopAfter: number): Promise<string[]> {
  const bounds = [...new Set([0, ...cuts.map((cut) => cut % (object.length + 1)), object.length])].sort((a, b) => a - b)
  const chunks = bounds.slice(1).map((end, index) => object.subarray(bounds[index], end))
  const first = createBlockBuilder(16)
  const reader = openFormat(format, { object: 'o', csv: CSV }, first)
  const place = reader.begin({ b: 0, n: 0 })
  for (const chunk of chunks.slice(0, stopAfter)) await reader.add(chunk)
  const at = place()
  const values = valuesOf(first.take())
  const second = createBlockBuilder(16)
  const again = openFormat(format, { object: 'o', csv: CSV }, second)
  const from = again.canResume ? at.b : 0
  again.begin({ ...at, b: from })
  const rest = object.subarray(from)
  for (let i = 0; i < rest.length; i += 7) await again.add(rest.subarray(i, i + 7))
  await again.end()
  return [...values, ...valuesOf(second.take())]
}

const chopped = fc.tuple(fc.array(fc.nat(), { maxLength: 8 }), fc.nat(6))

describe('records of an object', () => {
  it('are its lines in ndjson, wherever reading resumes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.json({ maxDepth: 1 }), { maxLength: 10 }),
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        chopped,
        async (documents, apart, isEnded, [cuts, stopAfter]) => {
          const text = documents.join(apart) + (isEnded ? apart : '')
          expect(await read('ndjson', Buffer.from(text), cuts, stopAfter)).toEqual(documents)
        },
      ),
    )
  })

  it('are its lines with their numbers in text, wherever reading resumes', async () => {
    const line = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\t', 'é', '😀', '\u0001', ' '), minLength: 1 })
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), chopped, async (lines, [cuts, stopAfter]) => {
        const found = (await read('text', Buffer.from(lines.join('\n')), cuts, stopAfter)).map((value) => JSON.parse(value))
        expect(found).toEqual(lines.map((text, index) => ({ text, object: 'o', line: index + 1 })))
      }),
    )
  })

  it('are its elements in a JSON array, wherever reading resumes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 8 }),
        fc.constantFrom(undefined, 1, '\t'),
        chopped,
        async (values, space, [cuts, stopAfter]) => {
          fc.pre(!hasEscapedName(JSON.stringify(values)))
          const found = await read('json', Buffer.from(JSON.stringify(values, null, space)), cuts, stopAfter)
          expect(found.map((value) => JSON.parse(value))).toEqual(JSON.parse(JSON.stringify(values)))
        },
      ),
    )
  })

  it('are its documents one after another, wherever reading resumes', async () => {
    const key = fc.string().filter((name) => !hasEscapedName(JSON.stringify({ [name]: 0 })))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.object({ maxDepth: 1, key }), { maxLength: 8 }), chopped, async (values, [cuts, stopAfter]) => {
        const found = await read('json', Buffer.from(values.map((value) => JSON.stringify(value)).join('\n')), cuts, stopAfter)
        expect(found.map((value) => JSON.parse(value))).toEqual(JSON.parse(JSON.stringify(values)))
      }),
    )
  })

  it.each([
    ['[{"id":1},{"id":2},', 'is not closed'],
    ['[{"id":1},{"id":2}', 'is not closed'],
    ['[{"id":1},{"id":', 'is not closed'],
    ['[1, 2', 'is not closed'],
    ['[', 'is not closed'],
    ['[{"id":1}][{"id":2}]', 'something follows'],
    ['[] x', 'something follows'],
    ['{"id":1}]', 'closes an array'],
  ])('are not all of %s, which is said, wherever reading resumes', async (text, reason) => {
    for (let cut = 1; cut <= text.length; cut++) await expect(read('json', Buffer.from(text), [cut], 1)).rejects.toThrow(reason)
    expect(await read('json', Buffer.from('\ufeff[1,\n2] \n'), [], 0)).toEqual(['1', '2'])
  })

  it('are its rows in csv, wherever reading resumes', async () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', 'é', ' '), maxLength: 6 })
    const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, cell), { maxLength: 6 }), chopped, async (rows, [cuts, stopAfter]) => {
        const text = [['x', 'y'], ...rows].map((row) => row.map(quote).join(',')).join('\r\n')
        const found = (await read('csv', Buffer.from(text), cuts, stopAfter)).map((value) => JSON.parse(value))
        expect(found).toEqual(rows.map(([x, y]) => ({ x, y })))
      }),
      { numRuns: 50 },
    )
  })
})

describe('a line that is longer than a record may be', () => {
  it.each(['ndjson', 'text'] as const)('is refused in %s, and the lines around it are records', async (format) => {
    const long = `"${'y'.repeat(RECORD_BYTES_MAX + 9)}"`
    const object = Buffer.from(['1', long, '2', long, long, '3', ''].join('\n'))
    const wanted = format === 'ndjson' ? ['1', '2', '3'] : [1, 3, 6].map((line, at) => `{"text":"${at + 1}","object":"o","line":${line}}`)
    for (const chunk of [64 << 10, 1 << 20, object.length]) {
      const block = createBlockBuilder()
      const reader = openFormat(format, { object: 'o', csv: CSV }, block)
      const place = reader.begin({ b: 0, n: 0 })
      for (let from = 0; from < object.length; from += chunk) await reader.add(object.subarray(from, from + chunk))
      await reader.end()
      expect(place()).toMatchObject({ b: object.length, n: 6 })
      const { bytes, spans, count } = block.take()
      const all = Array.from({ length: count }, (_, i) => i)
      const isRefused = (i: number) => spans[i * SPAN + 1] === REFUSED
      expect(all.filter(isRefused).length).toBe(3)
      const kept = all.filter((i) => !isRefused(i)).map((i) => bytes.toString('utf8', spans[i * SPAN + 2], spans[i * SPAN + 3]))
      expect(kept).toEqual(wanted)
    }
  })
})

describe('an object', () => {
  it('may begin with a byte order mark, which no record has, and blank lines are no documents', async () => {
    const mark = '\uFEFF'
    expect(await read('ndjson', Buffer.from(`${mark}{"a":1}\n  \n\t\r\n{"a":2}\n`), [1, 2], 1)).toEqual(['{"a":1}', '{"a":2}'])
    expect(await read('text', Buffer.from(`${mark}a\n  \n${mark}b`), [2], 1)).toEqual(
      [1, 2, 3].map((line) => `{"text":"${['a', '  ', `${mark}b`][line - 1]}","object":"o","line":${line}}`),
    )
  })

  it('has its cells named by the config where it has no header', async () => {
    const block = createBlockBuilder(16)
    const reader = openFormat('csv', { object: 'o', csv: { ...CSV, header: false, columns: ['id', 'name'] } }, block)
    reader.begin({ b: 0, n: 0 })
    await reader.add(Buffer.from('1,a\n2,b,more\n'))
    await reader.end()
    expect(valuesOf(block.take()).map((value) => JSON.parse(value))).toEqual([
      { id: '1', name: 'a' },
      { id: '2', name: 'b', column3: 'more' },
    ])
  })

  it('has its format and compression detected by its extension', () => {
    const auto = { format: 'auto', compression: 'auto' } as const
    expect(describeObject('a/b.ndjson.gz', auto)).toMatchObject({ format: 'ndjson', compression: 'gzip' })
    expect(describeObject('a.b/c', auto)).toMatchObject({ format: 'text', compression: 'none' })
    expect(describeObject('X.CSV.ZST', auto)).toMatchObject({ format: 'csv', compression: 'zstd' })
    const semicolons = { header: true, quote: true, empty: 'text', delimiter: ';', encoding: 'utf-8' } as const
    expect(describeObject('a.tsv', { ...auto, csv: { ...semicolons, delimiter: undefined } }).csv.delimiter).toBe('\t')
    expect(describeObject('a.tsv', { ...auto, csv: semicolons }).csv.delimiter).toBe(';')
    expect(describeObject('a.csv', { ...auto, csv: { ...semicolons, delimiter: undefined } }).csv.delimiter).toBe(',')
    expect(describeObject('log.gz', auto)).toMatchObject({ format: 'text', compression: 'gzip' })
    expect(describeObject('a.json', { format: 'text', compression: 'none' })).toMatchObject({ format: 'text', compression: 'none' })
  })

  it('matches a pattern as in a shell, in bounded time', () => {
    expect(matchesGlob('*.txt', 'a.txt')).toBe(true)
    expect(matchesGlob('*.txt', 'b/a.txt')).toBe(false)
    expect(matchesGlob('**.txt', 'b/a.txt')).toBe(true)
    expect(matchesGlob('a?(1).txt', 'ab(1).txt')).toBe(true)
    expect(matchesGlob('a.txt', 'aXtxt')).toBe(false)
    expect(timeOf(() => expect(matchesGlob(`${'**a'.repeat(100)}b`, 'a'.repeat(1000))).toBe(false))).toBeLessThan(limitMs(500))
  })

  it('matches a pattern as path.matchesGlob does, for the signs that both know', () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 })
    const glob = fc
      .string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 6 })
      .filter((text) => text !== '' && !text.includes('**'))
    fc.assert(fc.property(glob, key, (pattern, name) => name === '' || matchesGlob(pattern, name) === posix.matchesGlob(name, pattern)))
  })
})

describe('a block of records', () => {
  it('becomes batches that hold the same records, partitioned by their keys', () => {
    const part = fc.option(fc.uint8Array({ maxLength: 30 }), { nil: null })
    const header = fc.tuple(
      fc.string({ maxLength: 5 }),
      fc.option(
        fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes)),
        { nil: null },
      ),
    )
    const headers = fc.array(header, { maxLength: 3 })
    fc.assert(
      fc.property(fc.array(fc.tuple(part, part, headers), { maxLength: 40 }), fc.integer({ min: 1, max: 5 }), (records, partitions) => {
        const builder = createBlockBuilder(16)
        for (const [key, value, own] of records) builder.add(key, value, own.length > 0 ? encodeHeaders(own) : null)
        const found: unknown[][] = Array.from({ length: partitions }, () => [])
        for (const { partition, bytes, length, records: count } of batchesOf(builder.take(), {
          partitions,
          keyless: 0,
          nowMs: 1_700_000_000_000,
          attributes: 0,
          prefix: Buffer.alloc(5),
        })) {
          const batch = Buffer.from(bytes, 0, length)
          // The checksum comes with the producer's stamp, as on the way to the broker.
          stampProducer(batch, -1n, -1, -1)
          expect(hasValidCrc(batch)).toBe(true)
          const header = readBatchHeader(batch, 0)!
          expect(header.recordCount).toBe(count)
          for (const { key, value, headers: found_ } of decodeRecords(batch.subarray(BATCH_HEADER_BYTES), count))
            found[partition]!.push([
              key && key.toString('hex'),
              value && value.subarray(5).toString('hex'),
              found_.map(([name, bytes]) => [name, bytes && bytes.toString('hex')]),
            ])
        }
        const wanted: unknown[][] = Array.from({ length: partitions }, () => [])
        for (const [key, value, own] of records)
          wanted[key ? partitionOfKey(key, 0, key.length, partitions) : 0]!.push([
            key && Buffer.from(key).toString('hex'),
            value && Buffer.from(value).toString('hex'),
            own.map(([name, bytes]) => [name, bytes && bytes.toString('hex')]),
          ])
        expect(found).toEqual(wanted)
      }),
    )
  })
})

/** Pages of values that become much longer as JSON, and values that are not UTF-8. */
import { expect, it } from 'vitest'
import { UNPACED } from '../../services/control-plane/concurrency/pacing.ts'
import { pageBytes } from '../../services/control-plane/stream-data/page-bytes.ts'
import { blockOf, createRecordEncoder } from '../../shared/connectors/encode/whole-records.ts'
import { createRowBuffer, endRow, keepRows, takeRows } from '../../shared/connectors/encode/row-buffer.ts'
import { textOfValue } from '../../shared/codecs/codecs.ts'

const MIB = 1 << 20

it('a page ends once its JSON is large, however short the values are', async () => {
  const records = Array.from({ length: 20 }, (_, offset) => ({ partition: 0, offset, timestamp: 0, value: Buffer.alloc(100) }))
  const json = Buffer.from(`"${'x'.repeat(6 * MIB)}"`)
  const told: number[] = []
  const page = await pageBytes(
    records,
    () => json,
    (shown) => {
      told.push(shown)
      return { total: 20, page: 1, limit: 20 }
    },
    UNPACED,
  )
  expect(told).toEqual([3])
  expect((JSON.parse(page.toString()) as { data: unknown[] }).data).toHaveLength(3)
})

it('bytes that are not UTF-8 are refused instead of replaced', () => {
  expect(textOfValue(Buffer.from('é€😀'))).toBe('é€😀')
  expect(() => textOfValue(Buffer.from('{"n":"caf\xe9"}', 'latin1'))).toThrow('not UTF-8')
  const buffer = createRowBuffer()
  const record = Buffer.from('caf\xe9\0', 'latin1')
  createRecordEncoder()(record, 0, 4, buffer, -1, -1, 4, 5, 7, 0)
  endRow(buffer, 7, 0)
  keepRows(buffer)
  const { faults } = blockOf([takeRows(buffer)], (text) => Buffer.from(text))
  expect(faults).toEqual([{ offset: 7n, code: 'does_not_fit_schema', message: 'the value is not UTF-8' }])
})

/** Records in the answer of a web service: how they are found, and how many there may be. */
import { describe, expect, it } from 'vitest'
import { ConfigRefused } from '../../shared/connectors/connector.ts'
import { polledRecords, RECORDS_MAX, VALUES_MAX } from '../../shared/connectors/http/polled-records.ts'

const JSON_TYPE = 'application/json'
const LINES_TYPE = 'application/x-ndjson'

describe('the records of an answer', () => {
  it('are its lines, or the items at the pointer, with all digits', () => {
    expect(polledRecords('{"a":1}\n\n \n{"a":2}', LINES_TYPE, '')).toEqual({ records: ['{"a":1}', '{"a":2}'], document: undefined })
    const paged = polledRecords('{"page":{"items":[{"n":9007199254740993},1.50]},"next":"x"}', JSON_TYPE, '/page/items')
    expect(paged.records).toEqual(['{"n":9007199254740993}', '1.50'])
    expect(paged.document).toMatchObject({ next: 'x' })
    expect(polledRecords('{"n":1}', JSON_TYPE, '').records).toEqual(['{"n":1}'])
    expect(polledRecords('{"n":1}', JSON_TYPE, '/items').records).toEqual([])
  })

  it('are refused before they are taken apart where there are too many', () => {
    for (const [text, type] of [
      ['a\n'.repeat(RECORDS_MAX + 1), LINES_TYPE],
      [`[${'1,'.repeat(RECORDS_MAX)}1]`, JSON_TYPE],
      // Not even JSON: it was not parsed.
      ['{},'.repeat(VALUES_MAX + 1), JSON_TYPE],
    ] as const)
      expect(() => polledRecords(text, type, '')).toThrow(ConfigRefused)
    expect(polledRecords('a\n'.repeat(RECORDS_MAX), LINES_TYPE, '').records).toHaveLength(RECORDS_MAX)
  })
})

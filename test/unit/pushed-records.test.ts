/** Records of pushed bodies, found and keyed without making values of them. */
import { expect, it } from 'vitest'
import { challengeIn, pushedRecords } from '../../services/control-plane/ingest/pushed-records.ts'
import { UNPACED } from '../../services/control-plane/concurrency/pacing.ts'
import { bytesOf } from '../../services/control-plane/http/raw-records.ts'
import { keyIn, keyReader } from '../../services/control-plane/stream-data/record-keys.ts'

const read = (text: string, media = 'application/json') =>
  pushedRecords({ is: (type: string) => (type === media ? type : false) } as never, Buffer.from(text), UNPACED)
const found = async (text: string, media?: string) => {
  const records = await read(text, media)
  return Array.from({ length: records.spans.length / 2 }, (_, at) => bytesOf(records, at).toString())
}
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

it('a document is a record, each element of an array, or each line', async () => {
  expect(await found(' {"a":[1,2]}')).toEqual([' {"a":[1,2]}'])
  expect(await found(' [ {"a":1} ,[2,3], "x" ]')).toEqual(['{"a":1}', '[2,3]', '"x"'])
  expect(await found('{"a":1}\r\n\n [2]', 'application/x-ndjson')).toEqual(['{"a":1}', '[2]'])
})

it.each([
  ['[1,]', 'application/json', 'not valid JSON'],
  [' []', 'application/json', 'at least one record'],
  ['', 'application/x-ndjson', 'at least one record'],
  ['1\n{', 'application/x-ndjson', '/1: is not valid JSON'],
  [nested(33), 'application/json', 'nests deeper than 32'],
  [`{"a":${nested(31)}}`, 'application/json', 'nests deeper than 32'],
  [`[${'1,'.repeat(100_000)}1]`, 'application/json', 'at most 100000 records'],
  ['1', 'text/plain', 'Content-Type'],
])('refuses %.20s as %s', (text, media, message) => expect(read(text, media)).rejects.toThrow(message))

it('nests as deep as is allowed', async () => {
  expect(await found(nested(32))).toHaveLength(1)
  expect(await found(`{"a":${nested(30)}}`)).toHaveLength(1)
})

it('keys are those of the parsed records', async () => {
  const values = ['"x"', '"\\u00e9\\n"', '12.50', '12345678901234567890', 'true', 'null', '{ "b" : [1, 2.0] }', '[]']
  const text = `[${values.map((value) => `{"id":0,"other":{"id":1},"id":${value}}`).join(',')},{"a":1},[1],"id",{"\\u0069d":7}]`
  const records = await read(text)
  const parsed = { ...records, values: JSON.parse(text) as unknown[] }
  const keyOf = keyReader(records, 'id')
  for (const at of parsed.values.keys()) expect(keyOf(at)).toBe(keyIn(parsed, at, 'id'))
  expect(keyReader(records, null)(0)).toBeNull()
})

it('a challenge of Slack is found in a single record', async () => {
  const challenge = '{"type":"url_verification","challenge":"c"}'
  expect(challengeIn(await read(challenge))).toBe('c')
  expect(challengeIn(await read(`[${challenge},1]`))).toBeUndefined()
  expect(challengeIn(await read('null'))).toBeUndefined()
})

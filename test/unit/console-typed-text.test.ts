/** What the console says of what people type: places of a request in words, and what is no JSON. */
import { describe, expect, it } from 'vitest'
import { inWords, jsonAt, Mistyped } from '../../services/console/src/typed-text.ts'

describe('a place of a request', () => {
  it.each([
    ['/records/0/id', 'record 1, id'],
    ['/processors/1/config/filter', 'step 2, filter'],
    ['/processors/0/config', 'step 1, config'],
    ['/manifest/pipelines/a~1b/steps/2/with/set', 'pipelines, a/b, step 3, with, set'],
    ['/manifest/smartmodules/m/tests/0/out/0', 'smartmodules, m, test 1, out, 0'],
    ['/sink/config/table', 'sink, table'],
    ['/query/timestamp', 'timestamp'],
    ['/records', 'records'],
    ['', ''],
  ])('is said in words: %s', (path, words) => {
    expect(inWords(path)).toBe(words)
  })

  it.each([
    ['/records/2/meta/serial', '/records', 'record 3, meta, serial'],
    ['/records', '/records', ''],
    ['/processors/0/config/filter', '/processors/0', 'filter'],
    ['/sink/config/url', '/sink/config', 'url'],
    ['/schema/7', '/schema', '7'],
  ])('is said in words below a member: %s', (path, at, words) => {
    expect(inWords(path, at)).toBe(words)
  })
})

describe('a text', () => {
  it('is JSON with all its digits, or says where it is none', () => {
    expect(String(jsonAt('/a', '[0.1000000000000000055]'))).toBe('0.1000000000000000055')
    const faultOf = (text: string) => {
      try {
        return jsonAt('/a', text)
      } catch (error) {
        return error instanceof Mistyped ? [error.at, error.message] : error
      }
    }
    expect(faultOf(' ')).toEqual(['/a', 'is empty'])
    expect(faultOf('id: string')).toEqual(['/a', 'is not JSON, as {"name": "value"}'])
    expect(faultOf('{"a": 1,\n "b" 2}')).toEqual(['/a', 'is not JSON: see line 2 column 6'])
  })
})

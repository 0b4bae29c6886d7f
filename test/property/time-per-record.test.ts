/** Built-ins take a time that grows with a record, whatever its shape: anybody who may write to a stream chooses that. */
import { expect, it } from 'vitest'
import { configFaults } from '../../services/control-plane/workshop/schema-faults.ts'
import { BUILT_INS } from '../../shared/smartmodule/catalogue/catalogue.ts'
import { openTestChain } from '../harness/chains.ts'
import { collidingNames } from '../harness/colliding-names.ts'
import { slowness } from '../harness/machine-speed.ts'
import { timesOf } from '../harness/times-of.ts'

const COUNT = 10_000
const times = (text: string, count = COUNT): string => text.repeat(count)
const numbered = (textOf: (n: number) => string, count = COUNT): string => Array.from({ length: count }, (_, n) => textOf(n)).join('')
const object = (members: string): string => `{${members}"z":1}`
const text = (content: string): string => `{"a":"${content}","b":"y"}`

const SHAPES: Record<string, string> = {
  'one name': object(`${times('"a":"x",')}"b":"y",`),
  'two names in turn': object(times('"a":"x","b":"y",')),
  'one name, then another': object(times('"b":"x",') + times('"a":"y",')),
  'one name with an escape': object(`${times(String.raw`"\u0061":"x",`)}"b":"y",`),
  'many names': object(`"a":"x","b":"y",${numbered((n) => `"n${n}":${n},`)}`),
  'names with the same hash': object(
    collidingNames(14)
      .map((name) => `"${name}":1,`)
      .join(''),
  ),
  'long names': object(numbered((n) => `"${times('k', 1000)}${n}":1,`, COUNT / 100)),
  'two names in turn, one level down': `{"a":{${times('"b":"x","c":"y",')}"z":1},"z":1}`,
  'an array': `{"a":[${times('"x",')}1],"b":"y"}`,
  'an array of objects': `{"a":[${times('{"b":1},')}1],"b":"y"}`,
  'many levels': `{"a":${times('{"a":', 60)}1${times('}', 60)},"b":"y"}`,
  'a long text': text(times('x', 8 * COUNT)),
  'half addresses': text(times('a@b.', 2 * COUNT)),
  'digits in groups': text(times('4 1-1', 2 * COUNT)),
  digits: text(times('41', 4 * COUNT)),
  'half account numbers': text(times('DE00 ', 2 * COUNT)),
  escapes: text(times(String.raw`\u0041`, 2 * COUNT)),
  'escaped quotes': text(times(String.raw`\"`, 4 * COUNT)),
  'separators of all kinds': text(times('x;,=y ', 2 * COUNT)),
  words: text(numbered((n) => `w${n} `, 2 * COUNT)),
  'JSON in a text': `{"a":${JSON.stringify(`[${times('1,', 2 * COUNT)}1]`)},"b":"y"}`,
  'levels in a text': `{"a":${JSON.stringify(times('[', 500) + times(']', 500))},"b":"y"}`,
  'long numbers': `{"a":${times('1', 8 * COUNT)},"b":1e999999}`,
  'long numbers as texts': `{"a":"${times('1', 8 * COUNT)}","b":"0.${times('0')}1"}`,
  spaces: `{"a" :${times(' ', 8 * COUNT)}"x" , "b":"y"}`,
}

const SCHEMA = {
  properties: { a: { uniqueItems: true, items: { enum: ['x', 1] }, type: 'string', pattern: '^(x|y)+$' } },
  patternProperties: { '^n[0-9]+$': { minimum: 0 } },
  propertyNames: { maxLength: 5000 },
  additionalProperties: { type: 'number' },
}
const KEY = 'a key of sixteen characters'
const CONFIGS: [name: string, config: Record<string, unknown>][] = [
  ['filter', { field: 'a', operator: 'contains', value: 'xxxxxxxxxxxxxxxxxxxxy' }],
  ['filter', { field: 'a.b', operator: 'in', value: ['q', 'r', 1] }],
  ['filter', { field: 'a', operator: 'gt', value: 12_345_678 }],
  ['cel', { filter: 'value.a == "x" || value == value' }],
  ['cel', { filter: 'value.a.matches("(a|aa)+$")' }],
  ['cel', { filter: 'value.a.exists(x, x == "q")' }],
  ['cel', { set: { a: 'value.b', c: 'value.a' } }],
  ['cel', { set: { t: 'value.a.split(" ")' } }],
  ['cel', { set: { t: 'value.a.replace("x", "yy").lowerAscii()' } }],
  ['cel', { emit: '[value.a, value.b]' }],
  ['map-fields', { uppercase: ['a'], drop: ['b'] }],
  ['map-fields', { rename: { 'a.b': 'a.q', b: 'r' } }],
  ['map-fields', { set: { 'a.q': 1 } }],
  ['cast', { fields: { a: { type: 'decimal' } } }],
  ['cast', { fields: { a: { type: 'timestamp', on_failure: 'null' }, b: { type: 'boolean', on_failure: 'null' } } }],
  ['redact', { fields: { a: 'drop', b: 'drop' } }],
  ['redact', { fields: { a: 'mask', b: 'mask', 'a.c': 'null', 'a.b': 'mask' } }],
  ['redact', { detect: ['email', 'card', 'iban'], found: 'hash', fields: { b: 'hash' }, key: KEY }],
  ['explode', { field: 'a' }],
  ['flatten', {}],
  ['parse', { field: 'a', format: 'csv', columns: ['x', 'y'], into: 'p' }],
  ['parse', { field: 'a', format: 'key_value' }],
  ['parse', { field: 'a', format: 'json' }],
  ['timestamp', { field: 'a' }],
  ['route-by', { fields: ['a', 'b'] }],
  ['sample', { share: 0.5, by: 'a' }],
  ['validate', { schema: SCHEMA }],
  ['lookup', { field: 'a', into: 'c', table: { x: 1 } }],
  ['text-classifier', { field: 'a', output_field: 'm' }],
  ['text-classifier', { field: 'a', output_field: 'm', labels: { x: { keywords: ['w1', 'x y z'] }, y: { keywords: ['b'] } } }],
]

/** On a quick machine all take less than a quarter of it; a time that grows with the square of these records takes many times as long. */
const LIMIT_MS = 400

it.each(CONFIGS)('dps/%s %j is done with a record of any shape in a moment', async (name, config) => {
  expect(configFaults(BUILT_INS.find((each) => each.name === `dps/${name}`)!.parameters, config)).toEqual([])
  const chain = await openTestChain([{ name: `dps/${name}`, config }])
  const limit = LIMIT_MS * slowness()
  for (const [shape, document] of Object.entries(SHAPES)) {
    const { all } = await timesOf(async () => {
      const { failures } = await chain.run([document])
      // A record may be refused, but by the SmartModule, which goes on.
      for (const { code, message } of failures)
        expect([shape, code, message]).not.toEqual([shape, expect.stringMatching(/^module_t/), message])
    })
    expect([shape, all < limit ? 'in time' : `${all} ms`]).toEqual([shape, 'in time'])
  }
  chain.close()
})

/** JSON Schemas as other clients register them: what is valid in their draft is read as its draft means it. */
import { expect, it } from 'vitest'
import { openJsonSchema } from '../../services/control-plane/registry/json-schema.ts'

type Reference = [name: string, schema: object]
const validatorOf = (schema: object, named: Reference[] = []) => {
  const references = named.map(([name, referred]) => ({ name, subject: name, version: 1, text: JSON.stringify(referred) }))
  return openJsonSchema({ text: JSON.stringify(schema), references }, 'first')
}

const ADDRESS = { type: 'string' }
const a = { a: { $ref: 'address.json' } }

it.each<[what: string, schema: object, references: Reference[], right: unknown, wrong: unknown]>([
  [
    'a pointer to the type of another field',
    { properties: { l: { type: 'array', items: { type: 'integer' } }, m: { $ref: '#/properties/l/items' } } },
    [],
    { m: 1 },
    { m: 'a' },
  ],
  ['a reference beside its own id', { $id: 'https://x.com/order.json', properties: a }, [['address.json', ADDRESS]], { a: '' }, { a: 1 }],
  [
    'a reference that has that id itself',
    { $id: 'https://x.com/order.json', properties: a },
    [['address.json', { $id: 'https://x.com/address.json', ...ADDRESS }]],
    { a: '' },
    { a: 1 },
  ],
  [
    'a reference of another draft',
    { $schema: 'https://json-schema.org/draft/2020-12/schema', properties: a },
    [['address.json', { $schema: 'http://json-schema.org/draft-07/schema#', ...ADDRESS }]],
    { a: '' },
    { a: 1 },
  ],
  ['draft 7 by https', { $schema: 'https://json-schema.org/draft-07/schema#', properties: { a: ADDRESS } }, [], { a: '' }, { a: 1 }],
  [
    'the id of draft 4',
    { $schema: 'http://json-schema.org/draft-04/schema#', id: 'http://x/y', properties: { id: { type: 'integer' } } },
    [],
    { id: 1 },
    { id: '' },
  ],
  ['a pattern that no Unicode pattern is', { properties: { a: { pattern: '^\\d{3}\\-\\d{2}$' } } }, [], { a: '123-12' }, { a: '12312' }],
  [
    'another pattern that is a Unicode one',
    { properties: { a: { pattern: '^\\p{L}+$' }, b: { pattern: 'x\\-y' } } },
    [],
    { a: 'Jürgen', b: 'x-y' },
    { a: 'p{L}' },
  ],
  [
    'a reference that is called like the schema itself',
    { $id: 'https://x.com/order.json', properties: { a: ADDRESS } },
    [['order.json', ADDRESS]],
    { a: '' },
    { a: 1 },
  ],
])('%s', (_what, schema, references, right, wrong) => {
  const validate = validatorOf(schema, references)
  expect([validate(right), validate(wrong)]).toEqual([true, false])
})

it('a pattern that is wrong in each way is refused', () => {
  expect(() => validatorOf({ properties: { a: { pattern: '(' } } })).toThrow('Invalid regular expression')
})

/** What a sink is told of the types behind a chain, and what accounts' configs may cost the control plane's main thread meanwhile. */
import { expect, it } from 'vitest'
import { fieldsAfter } from '../../services/control-plane/definitions/fields-behind.ts'
import type { BUILT_IN_NAMES } from '../../shared/smartmodule/catalogue/catalogue.ts'
import { celTypeOf } from '../../services/control-plane/workshop/cel-types.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'

const typesOf = (expressions: string[], fields: Record<string, string>) =>
  Promise.resolve(expressions.map((each) => celTypeOf(each, fields)))

const within = async (milliseconds: number, work: () => unknown): Promise<void> => {
  expect(await bestOf(work)).toBeLessThan(limitMs(milliseconds))
}

it('follows the types through a chain', async () => {
  const steps = [
    { name: 'dps/cel', config: { set: { doubled: 'value.id * 2', name: 'value.name + "x"' } } },
    { name: 'dps/cel', config: { set: { again: 'value.doubled' } } },
    { name: 'dps/redact', config: { fields: { name: 'drop' } } },
  ]
  expect(await fieldsAfter({ id: 'integer', name: 'string' }, steps, typesOf)).toEqual({
    id: 'integer',
    doubled: 'integer',
    again: 'integer',
  })
  expect(await fieldsAfter({ id: 'integer' }, [{ name: 'dps/cel', config: { emit: '[value]' } }], typesOf)).toBeUndefined()
  expect(await fieldsAfter({ id: 'integer' }, [{ name: 'constructor', config: {} }], typesOf)).toBeUndefined()
})

/** One config of each built-in, and what it leaves of `id: integer, name: string?, tags: array<string>`; undefined: not known. */
const BEHIND: Record<(typeof BUILT_IN_NAMES)[number], [config: Record<string, unknown>, types: Record<string, string> | undefined]> = {
  filter: [{ field: 'id', operator: 'gt', value: 1 }, {}],
  sample: [{ share: 0.5 }, {}],
  timestamp: [{ field: 'name' }, {}],
  'route-by': [{ fields: ['id'] }, {}],
  validate: [{ schema: true }, {}],
  flatten: [{}, {}],
  lookup: [{ field: 'id', into: 'country', table: {} }, { country: 'any' }],
  parse: [{ field: 'name', format: 'json' }, { name: 'any' }],
  explode: [{ field: 'tags' }, { tags: 'any' }],
  cast: [{ fields: { name: 'integer' } }, { name: 'integer?' }],
  redact: [{ fields: { name: 'mask' } }, { name: 'string?' }],
  'text-classifier': [{ field: 'name', output_field: 'mood' }, { mood: 'string' }],
  'map-fields': [{ set: { n: 1 } }, { n: 'integer' }],
  cel: [{ emit: '[value]' }, undefined],
}
it.each(Object.entries(BEHIND))('knows what dps/%s leaves', async (name, [config, types]) => {
  const fields = { id: 'integer', name: 'string?', tags: 'array<string>' }
  expect(await fieldsAfter(fields, [{ name: `dps/${name}`, config }], typesOf)).toEqual(types && { ...fields, ...types })
})

it('knows what dps/redact leaves: null stays null, and a text in which something was found has lost its form', async () => {
  const fields = { id: 'integer', of: 'any', price: 'decimal', at: 'datetime?', name: 'string', nums: 'array<integer>', ids: 'array<uuid>' }
  const after = (config: Record<string, unknown>) => fieldsAfter(fields, [{ name: 'dps/redact', config }], typesOf)
  expect(await after({ fields: { id: 'null', of: 'mask', price: 'hash', at: 'mask', name: 'drop', 'nums.0': 'mask' } })).toEqual({
    id: 'integer?',
    of: 'string?',
    price: 'string',
    at: 'string?',
    nums: 'any',
    ids: 'array<uuid>',
  })
  expect(await after({ detect: ['card'], fields: { nothing: 'mask' } })).toEqual({ ...fields, price: 'any', at: 'any', ids: 'any' })
  const renamed = { name: 'dps/map-fields', config: { rename: { name: 'id' } } }
  const masked = { name: 'dps/redact', config: { fields: { name: 'mask' } } }
  expect(await fieldsAfter({ id: 'integer', name: 'string?' }, [masked, renamed], typesOf)).toEqual({ id: 'any' })
})

it('knows what dps/validate, dps/map-fields and dps/flatten leave', async () => {
  const after = (name: string, config: Record<string, unknown>, fields: Record<string, string>) =>
    fieldsAfter(fields, [{ name: `dps/${name}`, config }], typesOf)
  const fields = { id: 'integer', name: 'string?', at: 'datetime' }
  expect(await after('validate', { schema: true }, fields)).toEqual(fields)
  expect(await after('validate', { schema: true, report: 'why' }, fields)).toEqual(fields)
  expect(await after('validate', { schema: true, on_invalid: 'keep', report: 'why' }, fields)).toEqual({ ...fields, why: 'string?' })
  const config = { rename: { id: 'key' }, drop: ['name'], set: { n: 1, x: 0.5, on: true, a: 'b', list: [1], of: null, 'more.b': 1 } }
  expect(await after('map-fields', { ...config, lowercase: ['at'] }, fields)).toEqual({
    at: 'string',
    key: 'integer',
    n: 'integer',
    x: 'number',
    on: 'boolean',
    a: 'string',
    list: 'any',
    of: 'any',
    more: 'object',
  })
  // Where the old one may be missing, the member that has its new name stays.
  expect(await after('map-fields', { rename: { name: 'id' } }, fields)).toEqual({ id: 'any', at: 'datetime' })
  expect(await after('flatten', {}, { id: 'integer', tags: 'array<object>' })).toEqual({ id: 'integer', tags: 'array<object>' })
  expect(await after('flatten', {}, { id: 'integer', more: 'object?' })).toBeUndefined()
})

it('reads no more expressions of a step than a workshop reads in time; the others may give any value', async () => {
  const set = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, `1${' + 1'.repeat(1000)}`]))
  let characters = 0
  const counted = (expressions: string[]) => {
    characters += expressions.join('').length
    return Promise.resolve(expressions.map(() => 'integer'))
  }
  const fields = await fieldsAfter({ f99: 'string' }, [{ name: 'dps/cel', config: { set } }], counted)
  expect(characters).toBeGreaterThan(100_000)
  expect(characters).toBeLessThan(200_000)
  expect(fields).toMatchObject({ f0: 'integer', f99: 'any' })
})

it('is not slow for white space in an expression', () => within(2000, () => expect(celTypeOf(`1${' '.repeat(60_000)}+`, {})).toBe('any')))

it('is not slow for casts of many paths in many arrays', () =>
  within(2000, async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `field${index}`)
    const asked = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`other${index}.x`, 'string']))
    const before = Object.fromEntries(names.map((name) => [name, 'array<string>']))
    const after = await fieldsAfter(before, [{ name: 'dps/cast', config: { fields: { ...asked, 'field7.a': 'integer' } } }], typesOf)
    expect(after).toMatchObject({ field6: 'array<string>', field7: 'any' })
  }))

it('looks at each of many fields that are renamed to one, and gives up beyond what a sink can use', async () => {
  const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`f${index}`, 'integer']))
  const rename = Object.fromEntries(Object.keys(fields).map((name) => [name, 'x']))
  const step = { name: 'dps/map-fields', config: { rename } }
  await within(100, async () => expect(await fieldsAfter(fields, [step], typesOf)).toEqual({ x: 'any' }))
  const lookup = { name: 'dps/lookup', config: { into: 'one_more' } }
  expect(await fieldsAfter(fields, [lookup], typesOf)).toBeUndefined()
})

/** Configs that would be taken and mean nothing are refused when a pipeline is created, naming the member. */
import { describe, expect, it } from 'vitest'
import { openTestChain } from '../harness/chains.ts'

const start = (name: string, config: Record<string, unknown>) =>
  openTestChain([{ name: `dps/${name}`, config }]).then(
    () => 'started',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
const NO_OBJECTS = ' must be a text, a number, true, false or null: objects and arrays are not compared'

describe('a config that means nothing', () => {
  it.each<[name: string, config: Record<string, unknown>, message: string]>([
    ['filter', { field: 'a', operator: 'eq', value: { b: 1 } }, `config.value${NO_OBJECTS}`],
    ['filter', { field: 'a', operator: 'ne', value: [1] }, `config.value${NO_OBJECTS}`],
    ['filter', { field: 'a', operator: 'contains', value: {} }, `config.value${NO_OBJECTS}`],
    ['filter', { field: 'a', operator: 'in', value: [1, [2]] }, `config.value.1${NO_OBJECTS}`],
    ['filter', { field: 'a', operator: 'exists', value: 'no' }, 'config.value must be true or false for exists'],
    ['filter', { expression: 'true', value: 1 }, 'config.expression stands alone: leave field, operator and value out'],
    ['map-fields', { rename: { a: 'x', b: 'x' } }, 'config.rename.b must be another name: a becomes x too'],
    ['map-fields', { rename: { 'a.b': 'a.x', 'a.c': 'a.x' } }, 'config.rename.a.c must be another name: a.b becomes a.x too'],
    ['cast', { fields: { a: { type: 'date', format: 'DD.MM' } } }, 'config.fields.a.format has no year: YYYY'],
    ['timestamp', { field: 'a', format: 'HH:mm' }, 'config.format has no year: YYYY'],
    ['lookup', { field: 'a', into: 'b', table: { x: 1 }, default: 0, on_missing: 'fail' }, 'config.default is for on_missing null alone'],
    ['parse', { field: 'a', format: 'json', columns: ['x'] }, 'config.columns is for the format csv alone'],
    ['parse', { field: 'a', format: 'json', separator: ';' }, 'config.separator is for the formats csv and key_value'],
    [
      'text-classifier',
      { field: 'a', output_field: 'b', labels: { x: { examples: ['u'] }, y: { keywords: ['v'] } } },
      'config.labels.y.examples is missing: other labels have examples',
    ],
    [
      'text-classifier',
      { field: 'a', output_field: 'b', labels: { x: { examples: ['u'] }, y: { examples: ['v'] } }, default_label: 'z' },
      'config.default_label is for labels with keywords alone',
    ],
    [
      'text-classifier',
      { field: 'a', output_field: 'b', labels: { x: { keywords: ['u', 'one two three four five'] }, y: { keywords: ['v'] } } },
      'config.labels.x.keywords.1 has more than four words: one two three four five',
    ],
    ['validate', { schema: { uniqueItems: 'yes' } }, 'config.schema: /uniqueItems must be true or false'],
    ['validate', { schema: { type: [] } }, 'config.schema: /type must not be empty'],
    ['validate', { schema: { items: { anyOf: [] } } }, 'config.schema: /items/anyOf must not be empty'],
    ['validate', { schema: { required: ['a', 1] } }, 'config.schema: /required must be a list of strings'],
    ['validate', { schema: { dependentRequired: { a: [1] } } }, 'config.schema: /dependentRequired must be a list of strings'],
  ])('of dps/%s is refused: %j', async (name, config, message) => {
    expect(await start(name, config)).toBe(message)
  })

  it.each<[name: string, config: Record<string, unknown>]>([
    ['filter', { field: 'a', operator: 'exists' }],
    ['filter', { field: 'a', operator: 'exists', value: false }],
    ['filter', { field: 'a', operator: 'in', value: [1, null, true, 'x'] }],
    ['cast', { fields: { a: { type: 'date', format: 'YYYY' } } }],
    ['timestamp', { field: 'a', format: 'unix_ms' }],
    ['lookup', { field: 'a', into: 'b', table: { x: 1 }, default: 0, on_missing: 'null' }],
    ['lookup', { field: 'a', into: 'b', table: { x: 1 }, on_missing: 'fail' }],
    ['parse', { field: 'a', format: 'key_value', separator: ';' }],
    ['text-classifier', { field: 'a', output_field: 'b', labels: { x: { keywords: ['one two, three-four'] }, y: { keywords: ['-'] } } }],
    ['validate', { schema: { required: [], enum: [], dependentRequired: { a: [] }, uniqueItems: false } }],
    ['text-classifier', { field: 'a', output_field: 'b', labels: { x: { examples: ['u'], keywords: ['k'] }, y: { examples: ['v'] } } }],
  ])('is told from one that has an effect: dps/%s %j', async (name, config) => {
    expect(await start(name, config)).toBe('started')
  })
})

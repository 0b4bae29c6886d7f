/** What a sink is told of the types behind dps/cel. */
import { expect, it } from 'vitest'
import { celTypeOf } from '../../services/control-plane/workshop/cel-types.ts'

const FIELDS = { id: 'integer', price: 'decimal?', name: 'string', at: 'datetime', tags: 'array<string>', raw: 'any' }
const TYPES: Record<string, string> = {
  'value.id': 'integer',
  'value.price': 'decimal?',
  'value.id + 1': 'integer',
  '-value.id * 2': 'integer',
  'value.id * 1.5': 'number',
  'value.price * value.id': 'any',
  'double(value.price) * value.id': 'number',
  'value.name + "x"': 'string',
  'value.name.upperAscii()': 'string',
  'value.price > 5': 'boolean',
  'value.tags.exists(t, t == "a")': 'boolean',
  'has(value.nope)': 'boolean',
  'value.id > 1 ? value.name : "none"': 'string',
  'value.id > 1 ? value.name : null': 'string?',
  'value.id > 1 ? value.id : 1.5': 'number',
  'value.id > 1 ? value.id : "x"': 'any',
  'size(value.name)': 'integer',
  'timestamp(value.at)': 'datetime',
  timestamp: 'datetime',
  'timestamp.getFullYear()': 'integer',
  'math.ceil(value.price)': 'number',
  'value.tags.map(t, t)': 'any',
  'value.raw': 'any',
  'value.nope': 'any',
  'value.raw.deep': 'any',
  'value.constructor': 'any',
  '{"a": 1}': 'any',
  'value.id +': 'any',
}

it.each(Object.entries(TYPES))('%s is %s', (expression, type) => expect(celTypeOf(expression, FIELDS)).toBe(type))

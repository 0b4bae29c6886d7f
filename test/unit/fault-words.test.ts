/** What requests are told of a value that a schema refuses. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { validated } from '../../services/control-plane/middleware/validate.ts'

const said = (schema: z.ZodType, value: unknown) => {
  const answer = validated(schema, value)
  return 'details' in answer ? answer.details.map(({ path, message }) => `${path} ${message}`.trim()) : []
}

describe('a fault', () => {
  it.each<[z.ZodType, unknown, string]>([
    [z.string(), 1, 'must be a string, not a number'],
    [z.record(z.string(), z.string()), [], 'must be an object, not an array'],
    [z.object({}), null, 'must be an object, not null'],
    [z.number().int(), 1.5, 'must be a whole number, not a number'],
    [z.boolean(), 'true', 'must be true or false, not a string'],
    [z.literal(1), 2, 'must be 1'],
    [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
    [z.string().min(1), '', 'must not be empty'],
    [z.string().min(2), 'a', 'must have at least 2 characters'],
    [z.string().max(1), 'ab', 'must have at most 1 character'],
    [z.array(z.string()).max(2), ['a', 'b', 'c'], 'must have at most 2 items'],
    [z.array(z.string()).length(2), ['a'], 'must have exactly 2 items'],
    [z.number().max(5), 6, 'must be at most 5'],
    [z.number().gt(5), 5, 'must be more than 5'],
    [z.iso.datetime(), 'today', 'must be a time as 2026-11-25T10:00:00Z (ISO 8601)'],
    [z.string().regex(/^a$/), 'b', 'must match /^a$/'],
    [z.object({ a: z.string() }), {}, '/a is required'],
    [z.strictObject({}), { b: 1 }, '/b is not a known member'],
    [z.union([z.strictObject({ a: z.string() }), z.strictObject({ b: z.number() })]), { a: 1 }, '/a must be a string, not a number'],
  ])('is said in plain words: %#', (schema, value, words) => {
    expect(said(schema, value)).toEqual([words])
  })

  it('has the schema’s own words where it has some', () => {
    expect(said(z.string({ error: 'must be a name' }), 1)).toEqual(['must be a name'])
    expect(said(z.string().regex(/^a$/, 'must be an a'), 'b')).toEqual(['must be an a'])
  })
})

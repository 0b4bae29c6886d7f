/**
 * dps/validate beside ajv, over random schemas and documents: both accept the same ones. ajv's 2020-12 mode, which tracks what is
 * evaluated, is wrong for some schemas with `prefixItems`, so what draft 7 lacks is compared with the specification.
 */
import Ajv from 'ajv'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openTestChain } from '../harness/chains.ts'

const leaf = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    0,
    1,
    -1,
    2.5,
    10,
    1e15,
    '',
    'a',
    'ab',
    'äöü',
    '2026-11-23',
    'x@y.de',
    'ü@x.de',
    'x@ü.de',
    9007199254740991,
  ),
  fc.integer({ min: -20, max: 20 }),
)
const { value: document } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'ab'), tie('value'), { maxKeys: 4 }),
  ),
}))

const name = fc.constantFrom('a', 'b', 'c', 'ab')
const count = fc.integer({ min: 0, max: 3 })
const type = fc.constantFrom('null', 'boolean', 'integer', 'number', 'string', 'array', 'object')
const { schema } = fc.letrec<{ schema: unknown; words: object }>((tie) => ({
  schema: fc.oneof({ maxDepth: 3 }, { weight: 1, arbitrary: fc.boolean() }, { weight: 9, arbitrary: tie('words') }),
  words: fc.record(
    {
      type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
      enum: fc.uniqueArray(document, { minLength: 1, maxLength: 4, selector: (each) => JSON.stringify(each) }),
      const: document,
      minimum: fc.integer({ min: -5, max: 5 }),
      exclusiveMaximum: fc.constantFrom(0, 2.5, 10),
      multipleOf: fc.constantFrom(1, 2, 0.5),
      minLength: count,
      maxLength: count,
      pattern: fc.constantFrom('^a', 'b$', '[0-9]+', 'ä'),
      format: fc.constantFrom('date', 'email', 'uuid'),
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
      items: tie('schema'),
      contains: tie('schema'),
      required: fc.uniqueArray(name, { maxLength: 2 }),
      properties: fc.dictionary(name, tie('schema'), { maxKeys: 3 }),
      patternProperties: fc.dictionary(fc.constantFrom('^a', 'b'), tie('schema'), { maxKeys: 2 }),
      additionalProperties: tie('schema'),
      propertyNames: tie('schema'),
      allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
      anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
      oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
      not: tie('schema'),
      if: tie('schema'),
      yes: tie('schema'),
      no: tie('schema'),
    },
    { requiredKeys: [] },
  ),
}))

/** A few words of a schema, so that many schemas let something through. */
const few = schema.chain((whole) =>
  typeof whole === 'object' && whole !== null
    ? fc.shuffledSubarray(Object.entries(whole), { minLength: 1, maxLength: 3 }).map((words): unknown => Object.fromEntries(words))
    : fc.constant(whole),
)

const reversed = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(reversed)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).reverse())
      : value

describe('dps/validate', () => {
  it('finds valid what ajv finds valid', async () => {
    let [valid, invalid] = [0, 0]
    await fc.assert(
      fc.asyncProperty(few, fc.array(document, { minLength: 5, maxLength: 20 }), async (given, documents) => {
        const ajv = addFormats.default(new Ajv.Ajv({ strict: false, logger: false }))
        // As JSON has them: fast-check's objects may lack a prototype, and no object literal may have a member `then`.
        const text = JSON.stringify({ given, documents }).replaceAll('"yes":', '"then":').replaceAll('"no":', '"else":')
        const plain = JSON.parse(text) as { given: object; documents: unknown[] }
        const expected = ajv.compile(plain.given)
        const chain = await openTestChain([{ name: 'dps/validate', config: { schema: plain.given } }])
        const { failures } = await chain.run(plain.documents.map((each) => JSON.stringify(each)))
        const wrong = new Set(failures.map(({ delta }) => delta))
        for (const [at, each] of plain.documents.entries()) {
          if (expected(each)) valid++
          else invalid++
          expect([JSON.stringify(each), !wrong.has(at)]).toEqual([JSON.stringify(each), expected(each)])
        }
      }),
      // The same ones each time: ajv has faults of its own, at which another seed may arrive. SEED looks elsewhere.
      { numRuns: 300, seed: Number(process.env.SEED ?? 14), endOnFailure: true },
    )
    // Both are there in numbers, or the comparison says little.
    expect(Math.min(valid, invalid)).toBeGreaterThan(200)
  })

  it('checks items by their places, and members beside others, as the specification says', async () => {
    const validOf = async (given: object, documents: unknown[]) => {
      const chain = await openTestChain([{ name: 'dps/validate', config: { schema: given } }])
      const { failures } = await chain.run(documents.map((each) => JSON.stringify(each)))
      return documents.map((_, at) => !failures.some(({ delta }) => delta === at))
    }
    const tuple = { prefixItems: [{ type: 'integer' }, { type: 'string' }], items: false }
    expect(await validOf(tuple, [[], [1], [1, 'a'], ['a'], [1, 2], [1, 'a', 3]])).toEqual([true, true, true, false, false, false])
    const rest = { prefixItems: [{ type: 'integer' }], items: { type: 'string' } }
    expect(await validOf(rest, [[1, 'a', 'b'], [1, 'a', 2], ['a']])).toEqual([true, false, false])
    const some = { prefixItems: [false], contains: { type: 'boolean' } }
    expect(await validOf(some, [[], [true]])).toEqual([false, false])
    const beside = { dependentRequired: { a: ['b', 'c'] }, dependentSchemas: { d: { maxProperties: 1 } } }
    expect(await validOf(beside, [{}, { a: 1 }, { a: 1, b: 1, c: 1 }, { d: 1 }, { d: 1, e: 1 }])).toEqual([true, false, true, true, false])
    const counted = { contains: { type: 'boolean' }, minContains: 2, maxContains: 3 }
    expect(await validOf(counted, [[true], [true, 1, false], [true, true, true, true]])).toEqual([false, true, false])
  })

  it('refuses schemas that it does not know how to check, naming the word', async () => {
    const start = (given: unknown) =>
      openTestChain([{ name: 'dps/validate', config: { schema: given } }]).then(
        () => 'started',
        (error: Error) => error.message,
      )
    expect(await start({ unevaluatedProperties: false })).toBe('config.schema: /unevaluatedProperties is not supported')
    expect(await start({ $ref: 'https://example.com/other.json' })).toContain('config.schema: /$ref must be a pointer within the schema')
    expect(await start({ properties: { a: { $ref: '#/$defs/b' } } })).toContain('names nothing in the schema: #/$defs/b')
    expect(await start({ pattern: '(' })).toMatch(/^config\.schema: \/pattern: .*regular expression/)
    expect(await start({ type: 'text' })).toContain('config.schema: /type must be of null')
    expect(await start({ $defs: { tree: { items: { $ref: '#/$defs/tree' } } }, $ref: '#/$defs/tree' })).toBe('started')
  })

  it('names the place of what is wrong in a schema', async () => {
    const start = (schema: unknown) =>
      openTestChain([{ name: 'dps/validate', config: { schema } }]).then(
        () => 'started',
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      )
    expect(await start({ properties: { 'a/b': { items: { pattern: '(' } } } })).toMatch(
      /^config\.schema: \/properties\/a~1b\/items\/pattern: .*regular expression/,
    )
    expect(await start({ patternProperties: { a: true, '(': true } })).toMatch(/^config\.schema: \/patternProperties\/\(: /)
    expect(await start({ anyOf: [true, { minimum: 'x' }] })).toBe('config.schema: /anyOf/1/minimum must be a number')
    expect(await start({ $defs: { a: { not: 5 } }, properties: { b: { $ref: '#/$defs/a' } } })).toBe(
      'config.schema: /$defs/a/not must be an object, true or false',
    )
  })

  it('lets a record go on with keep, whatever it is, and says nothing of a valid one', async () => {
    const config = { schema: { type: 'object', required: ['id'] }, on_invalid: 'keep', report: 'problem' }
    const chain = await openTestChain([{ name: 'dps/validate', config }])
    const { values, failures } = await chain.run([
      '[1]',
      '5',
      '{"id":1,"problem":"an old one"}',
      '{"id":1}',
      '{"problem":"old"}',
      '{"problem":null,"id":2}',
    ])
    expect(failures).toEqual([])
    expect(values).toEqual([
      '[1]',
      '5',
      '{"id":1,"problem":null}',
      '{"id":1}',
      '{"problem":"the value must have the member id"}',
      '{"problem":null,"id":2}',
    ])
  })

  it('names the field that it checks', async () => {
    const chain = await openTestChain([
      { name: 'dps/validate', config: { field: 'a.b', schema: { required: ['id'], properties: { n: { minimum: 1 } } } } },
    ])
    const { failures } = await chain.run(['{"a":{"b":{}}}', '{"a":{}}', '{"a":{"b":{"id":1,"n":0}}}'])
    expect(failures.map(({ message }) => message)).toEqual([
      'the field a.b must have the member id',
      'the field a.b is missing',
      'the field a.b: /n must be at least 1',
    ])
  })

  it('keeps names and texts of the schema that are escaped there, whatever it has seen', async () => {
    const chain = await openTestChain([
      { name: 'dps/validate', config: { schema: { required: ['say "hi"'], properties: { 'a\tb': { const: 'c\nd' } } } } },
    ])
    for (let batch = 0; batch < 5; batch++) {
      const records = Array.from({ length: 1_000 }, (_, n) =>
        JSON.stringify({ [`n"${batch * 1_000 + n}`]: 2, 'say "hi"': 1, 'a\tb': 'c\nd' }),
      )
      const { failures } = await chain.run(records)
      expect(failures.map(({ message }) => message)).toEqual([])
    }
    const { failures } = await chain.run(['{"say \\"hi\\"":1,"a\\tb":"c\\nd "}', '{}'])
    expect(failures.map(({ message }) => message)).toEqual([
      '/a\tb must be the value that the schema names',
      'the value must have the member say "hi"',
    ])
  })

  it('reads a value without the white space around it', async () => {
    const schema = { type: ['object', 'string'], maxLength: 3, required: ['a'] }
    const chain = await openTestChain([{ name: 'dps/validate', config: { schema } }])
    const { failures } = await chain.run(['\n{"a":1}', ' {"a":1} \n', '"abc"\n', '\t"abc" ', ' "abcd" ', '\n[1]'])
    expect(failures.map(({ delta, message }) => [delta, message])).toEqual([
      [4, 'the value must have at most 3 characters'],
      [5, 'the value must be string or object'],
    ])
    const numbers = await openTestChain([{ name: 'dps/validate', config: { schema: { const: 15 } } }])
    expect((await numbers.run(['15\n', ' 15', '15'])).failures).toEqual([])
  })

  it('looks for a pattern in many texts within a bounded memory', async () => {
    const schema = { items: { pattern: '^[A-Za-z0-9_-]{1,255}$' } }
    const chain = await openTestChain([{ name: 'dps/validate', config: { schema } }])
    const ids = Array.from({ length: 35_000 }, (_, n) => (n % 1296).toString(36))
    for (let batch = 0; batch < 3; batch++) {
      expect((await chain.run([JSON.stringify(ids), JSON.stringify(['a b'])])).failures.map(({ message }) => message)).toEqual([
        '/0 must match ^[A-Za-z0-9_-]{1,255}$',
      ])
    }
    expect(chain.memoryBytes(0)).toBeLessThan(16 << 20)
  })

  it('fails what it can not check, whatever becomes of what is not valid', async () => {
    const tree = { $defs: { tree: { anyOf: [{ items: { $ref: '#/$defs/tree' } }] } }, $ref: '#/$defs/tree' }
    const endless = { $defs: { loop: { not: { $ref: '#/$defs/loop' } } }, $ref: '#/$defs/loop' }
    const pairs = { $defs: { a: { anyOf: [{ items: { const: 1 } }] } }, allOf: Array.from({ length: 400 }, () => ({ $ref: '#/$defs/a' })) }
    const deep = '['.repeat(128) + ']'.repeat(128)
    for (const on_invalid of ['fail', 'drop', 'keep']) {
      const messagesOf = async (schema: object, value: string) => {
        const chain = await openTestChain([{ name: 'dps/validate', config: { schema, on_invalid } }])
        const { failures, values } = await chain.run([value])
        expect(values).toEqual(failures.length > 0 ? [] : [value])
        return failures.map(({ message }) => message)
      }
      expect(await messagesOf(tree, deep)).toEqual([])
      expect(await messagesOf(endless, '1')).toEqual([
        'it takes more than 1,024 parts of the schema within each other to validate the record',
      ])
      expect(await messagesOf(pairs, JSON.stringify(Array.from({ length: 1_000 }, () => 1)))).toEqual([
        'it takes more than 400,000 steps or 32 MiB to validate the record',
      ])
    }
  })

  it('finds the same item twice in lists of thousands', async () => {
    const chain = await openTestChain([{ name: 'dps/validate', config: { schema: { uniqueItems: true } } }])
    const lists: [unknown[], string][] = [
      [Array.from({ length: 10_000 }, (_, n) => `id-${n}`), '"id-0"'],
      [Array.from({ length: 10_000 }, (_, n) => n), '0.0'],
      [Array.from({ length: 10_000 }, (_, n) => n / 8 + 0.0625), '0.0625e0'],
      [Array.from({ length: 3_000 }, (_, n) => ({ id: n, tags: [n, null] })), '{"tags":[0,null],"id":0e1}'],
      [Array.from({ length: 3_000 }, (_, n) => [n, { a: `${n}` }]), '[0,{"\\u0061":"0"}]'],
      [[1, '1', true, null, [], {}, 0, '0', false, '', [0], { 0: 0 }, ...Array.from({ length: 40 }, (_, n) => `${n + 2}`)], 'null'],
    ]
    for (const [list, again] of lists) {
      const text = JSON.stringify(list)
      const { failures } = await chain.run([text, `${text.slice(0, -1)},${again}]`])
      expect(failures.map(({ delta, message }) => [delta, message])).toEqual([[1, 'the value must not have the same item twice']])
    }
  })

  it('finds the same item twice wherever ajv does', async () => {
    const chain = await openTestChain([{ name: 'dps/validate', config: { schema: { uniqueItems: true } } }])
    const isUnique = new Ajv.Ajv({ strict: false }).compile({ uniqueItems: true })
    const lists = fc.uniqueArray(document, { minLength: 17, maxLength: 40, selector: (each) => JSON.stringify(each) })
    let [unique, others] = [0, 0]
    await fc.assert(
      fc.asyncProperty(lists, fc.nat(16), fc.boolean(), async (list, again, isAgain) => {
        // A copy of one of them, with its members in another order.
        const text = JSON.stringify(isAgain ? [...list, reversed(list[again])] : list)
        const expected = isUnique(JSON.parse(text))
        if (expected) unique++
        else others++
        expect([text, (await chain.run([text])).failures.length]).toEqual([text, expected ? 0 : 1])
      }),
      { numRuns: 200 },
    )
    expect(Math.min(unique, others)).toBeGreaterThan(20)
  })

  it('takes a number for a multiple by all of its digits', async () => {
    const wrongOf = async (schema: object, numbers: string[]) => {
      const chain = await openTestChain([{ name: 'dps/validate', config: { schema } }])
      const { failures } = await chain.run(numbers)
      return failures.map(({ delta, message }) => `${numbers[delta]} ${message}`)
    }
    expect(await wrongOf({ multipleOf: 1 }, ['1234567890123456.5', '1.0000000000000002', '1e300', '-7.0', '0'])).toEqual([
      '1234567890123456.5 the value must be a multiple of 1',
      '1.0000000000000002 the value must be a multiple of 1',
    ])
    expect(await wrongOf({ multipleOf: 2 }, ['2000000000000001.0', '2000000000000002.0', '-4', '3'])).toEqual([
      '2000000000000001.0 the value must be a multiple of 2',
      '3 the value must be a multiple of 2',
    ])
    expect(await wrongOf({ multipleOf: 0.25 }, ['1234567890123456.25', '1234567890123456.125', '0.5', '3'])).toEqual([])
    expect(await wrongOf({ multipleOf: 0.5 }, ['1234567890123456.25'])).toHaveLength(1)
    expect(await wrongOf({ multipleOf: 0.01 }, ['19.99', '0.07', '1.005', '12345678.91', '-3'])).toEqual([
      '1.005 the value must be a multiple of 0.01',
    ])
    expect(await wrongOf({ maximum: 2 ** 64 }, ['1e20'])).toEqual(['1e20 the value must be at most 18446744073709552000'])
    expect(await wrongOf({ minimum: 1e21, exclusiveMaximum: 1.5 }, ['1'])).toEqual(['1 the value must be at least 1e+21'])
  })

  it('bounds what one record may take, whatever the schema', async () => {
    // Each level looks at the next one three times.
    const $defs = Object.fromEntries(
      Array.from({ length: 12 }, (_, level) => {
        const next = level === 11 ? { type: 'null' } : { $ref: `#/$defs/d${level + 1}` }
        return [`d${level}`, { anyOf: [{ allOf: [next, false] }, { allOf: [next, false] }, next] }]
      }),
    )
    const chain = await openTestChain([{ name: 'dps/validate', config: { schema: { $defs, items: { $ref: '#/$defs/d0' } } } }])
    const { failures } = await chain.run([JSON.stringify(Array.from({ length: 1000 }, (_, n) => n))])
    expect(failures.map(({ message }) => message)).toEqual(['it takes more than 400,000 steps or 32 MiB to validate the record'])
  })
})

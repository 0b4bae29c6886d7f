/** dps/cel and the expressions of dps/filter over records; values compared with @bufbuild/cel over JSON.parse. */
import { celEnv, isCelError, isCelMap, parse, plan, type CelInput } from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openTestChain } from '../harness/chains.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { timesOf } from '../harness/times-of.ts'

const open = (config: Record<string, unknown>) => openTestChain([{ name: 'dps/cel', config }])
const openRefused = async (config: Record<string, unknown>): Promise<string> =>
  open(config).then(
    () => 'accepted',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )

/** The value of one expression for one record: its JSON, or why there is none. */
async function valueOf(expression: string, value: string): Promise<string> {
  const { values, failures } = await (await open({ emit: [`{"v": ${expression}}`] })).run([value])
  return failures[0]?.message ?? values[0]!
}

describe('a double', () => {
  it('is written with the digits that JavaScript writes', async () => {
    const chain = await open({ set: { times: 'value.x * 1.19', third: 'value.x / 3.0', text: 'string(value.x + 0.2)' } })
    const numbers = Array.from({ length: 3000 }, (_, n) => (n * 7 + 3) / 10 ** (n % 9))
    const { values } = await chain.run(numbers.map((x) => `{"x":${Number.isInteger(x) ? `${x}.0` : x}}`))
    const members = values.map((value) => value!.slice(value!.indexOf(',') + 1))
    expect(members).toEqual(numbers.map((x) => `"times":${x * 1.19},"third":${x / 3},"text":"${x + 0.2}"}`))
    expect(await valueOf('0.1 + 0.2', '{}')).toBe('{"v":0.30000000000000004}')
  })
})

describe('a filter', () => {
  it('keeps what its expression is true for, byte for byte', async () => {
    const chain = await open({ filter: 'value.amount > 50.0 && value.city.startsWith("W")' })
    const kept = '{ "amount": 50.01,\t"city": "Wien", "big": 9007199254740993123 }'
    const { values, failures } = await chain.run([kept, '{"amount":50,"city":"Wien"}', '{"amount":60,"city":"Graz"}'])
    expect(values).toEqual([kept])
    expect(failures).toEqual([])
  })

  it('is the same in dps/filter', async () => {
    const chain = await openTestChain([{ name: 'dps/filter', config: { expression: 'value.tags.exists(t, t == "new")' } }])
    expect((await chain.run(['{"tags":["old","new"]}', '{"tags":[]}'])).values).toEqual(['{"tags":["old","new"]}'])
    await expect(openTestChain([{ name: 'dps/filter', config: { expression: 'true', field: 'a' } }])).rejects.toThrow('stands alone')
  })

  it('has a double for every whole number that 64 bits do not hold', async () => {
    const chain = await open({ set: { next: 'value.u + 1', isInt: 'type(value.u) == int' } })
    const numbers = [
      '9223372036854775807',
      '9223372036854775808',
      '18446744073709551615',
      '18446744073709551616',
      '-9223372036854775808',
      '-9223372036854775809',
    ]
    const { values, failures } = await chain.run(numbers.map((u) => `{"u":${u}}`))
    expect(failures.map(({ message }) => message)).toEqual(['set.next: 1:9: integer overflow'])
    expect(values.map((value) => (JSON.parse(value!) as { isInt: boolean }).isInt)).toEqual([false, false, false, true, false])
    // What is only moved keeps its digits.
    expect(values[0]).toContain('"u":9223372036854775808,')
  })

  it('fails the record whose field is missing, and not the others', async () => {
    const { values, failures } = await (await open({ filter: 'value.a > 1' })).run(['{"a":2}', '{"b":2}', '{"a":"x"}', '[1]', '{"a":3}'])
    expect(values).toEqual(['{"a":2}', '{"a":3}'])
    expect(failures.map(({ delta, message }) => [delta, message])).toEqual([
      [1, 'filter: 1:6: no such key: a'],
      [2, 'filter: 1:9: no such overload: _>_(string, int)'],
      [3, 'filter: 1:6: no such key: a'],
    ])
    expect((await (await open({ filter: 'value.a' })).run(['{"a":2}'])).failures[0]!.message).toBe(
      'filter must give true or false, not int',
    )
  })

  it('sees key, headers, timestamp, partition and offset', async () => {
    const shown = await open({
      emit: ['{"k": key, "h": headers, "t": timestamp, "p": partition, "o": offset, "y": timestamp.getFullYear()}'],
    })
    const { values } = await shown.run(['{}', '{}'])
    expect(values).toEqual([
      '{"k":"k0","h":{"h":"\\u0000"},"t":"1970-01-01T00:00:01Z","p":0,"o":0,"y":1970}',
      '{"k":"k1","h":{"h":"\\u0001"},"t":"1970-01-01T00:00:01.001Z","p":0,"o":1,"y":1970}',
    ])
  })
})

describe('a record', () => {
  it('fails with the text that is no number in quotes, also where there is none', async () => {
    expect(await valueOf('int(value.a)', '{"a":""}')).toContain('"" is no int')
    expect(await valueOf('double(value.a)', '{"a":"two"}')).toContain('"two" is no double')
  })

  it('may have spaces around its document', async () => {
    const { values } = await (await open({ emit: ['[has(value.a), value.?a.orValue(7), "a" in value]'] })).run([' {"a":1}', '\n{"b":1}\n '])
    expect(values).toEqual(['[true,1,true]', '[false,7,false]'])
    expect((await (await open({ emit: ['[type(value) == int, value]'] })).run(['5\n', '"abc" '])).values).toEqual([
      '[true,5]',
      '[false,"abc"]',
    ])
  })

  it('has numbers of any length, rounded as everywhere else', async () => {
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.tuple(fc.bigInt(1n, 10n ** 60n), fc.integer({ min: -340, max: 300 })).map(([digits, exponent]) => `${digits}e${exponent}`),
      fc.tuple(fc.bigInt(0n, 10n ** 30n), fc.bigInt(0n, 10n ** 40n)).map(([whole, fraction]) => `${whole}.${fraction}`),
    )
    const chain = await open({ emit: ['[double(value) + 0.0]'] })
    await fc.assert(
      fc.asyncProperty(number, async (text) => {
        const { values, failures } = await chain.run([text])
        const expected = Number(text)
        if (Number.isFinite(expected)) expect(JSON.parse(values[0]!)).toEqual([expected === 0 ? 0 : expected])
        else expect(failures.length).toBe(1)
      }),
      { numRuns: 2000 },
    )
  })

  it('gives each expression no more than it asks for', async () => {
    expect(await valueOf('value.?a.orValue(value.b)', '{"a":1}')).toBe('{"v":1}')
    expect(await valueOf('optional.of(1).or(optional.of(1 / 0)).value()', '{}')).toBe('{"v":1}')
    expect(await valueOf('timestamp(99999999999999)', '{}')).toContain('out of range')
    expect(await valueOf('{1: "a", "1": "b"}', '{}')).toContain('the same name')
  })
})

describe('a number in an expression', () => {
  it('that no double holds is refused with its place', async () => {
    for (const expression of ['1e400', '[1.0, -1e400]', '1.7976931348623159e308'])
      expect(await openRefused({ set: { a: expression } })).toMatch(/1:\d+: the number does not fit into a double/)
    expect(await valueOf('[1.7976931348623157e308, 1e-400]', '{}')).toBe('{"v":[1.7976931348623157e+308,0]}')
  })
})

describe('set', () => {
  it('replaces and adds fields in one go, and leaves everything else as it is', async () => {
    const chain = await open({ set: { total: 'value.price * value.n', price: 'value.total', 'a "new" one': 'size(value.name)' } })
    const { values, failures } = await chain.run(['{ "price": 2.50, "n": 2, "total": 1.00 , "name": "Ärger" }', '{"n":1}'])
    expect(values).toEqual(['{ "price": 1.00, "n": 2, "total": 5 , "name": "Ärger" ,"a \\"new\\" one":5}'])
    expect(failures.map(({ message }) => message)).toEqual(['set.total: 1:6: no such key: price'])
    expect((await (await open({ set: { a: '1', b: '"x"' } })).run(['{}', ' { } ', '[]'])).values).toEqual([
      '{"a":1,"b":"x"}',
      ' { "a":1,"b":"x"} ',
    ])
  })

  it('keeps the digits of numbers that it moves', async () => {
    const { values } = await (
      await open({ set: { b: 'value.a', c: '{"x": value.a, "y": [value.a]}' } })
    ).run(['{"a":1.10}', '{"a":123456789012345678901234567890}', '{"a":{"deep": [1.0, "\\u00e4"]}}'])
    expect(values).toEqual([
      '{"a":1.10,"b":1.10,"c":{"x":1.10,"y":[1.10]}}',
      '{"a":123456789012345678901234567890,"b":123456789012345678901234567890,"c":{"x":123456789012345678901234567890,"y":[123456789012345678901234567890]}}',
      '{"a":{"deep": [1.0, "\\u00e4"]},"b":{"deep": [1.0, "\\u00e4"]},"c":{"x":{"deep": [1.0, "\\u00e4"]},"y":[{"deep": [1.0, "\\u00e4"]}]}}',
    ])
  })

  it('computes 64-bit integers exactly, and refuses to overflow', async () => {
    expect(await valueOf('value.a + 1', '{"a":9007199254740993}')).toBe('{"v":9007199254740994}')
    expect(await valueOf('value.a + 1', '{"a":9223372036854775807}')).toBe('emit[0]: 1:15: integer overflow')
    expect(await valueOf('value.a * 1.5', '{"a":3}')).toBe('{"v":4.5}')
    expect(await valueOf('1.0 / 0.0', '{}')).toBe('emit[0]: Infinity is no JSON number')
  })

  it('writes every type as JSON', async () => {
    expect(
      await valueOf('[timestamp("2026-01-02T03:04:05.6Z"), duration("90m"), b"ab", 1u, optional.none(), {1: true}, type(1)]', '{}'),
    ).toBe('{"v":["2026-01-02T03:04:05.600Z","5400s","YWI=",1,null,{"1":true},"int"]}'.replace('.600Z', '.6Z'))
  })
})

describe('emit', () => {
  it('makes a record of each item of a list, or of each expression', async () => {
    const items = await open({ emit: 'value.items.map(i, {"order": value.id, "sku": i})' })
    expect((await items.run(['{"id":1,"items":["a","b"]}', '{"id":2,"items":[]}'])).values).toEqual([
      '{"order":1,"sku":"a"}',
      '{"order":1,"sku":"b"}',
    ])
    const each = await open({ filter: 'value.n > 0', set: { n: 'value.n * 2' }, emit: ['value', 'value.n > 4 ? {"big": value.n} : null'] })
    expect((await each.run(['{"n":0}', '{"n":1}', '{"n":3}'])).values).toEqual(['{"n":2}', '{"n":6}', '{"big":6}'])
  })

  it('makes none of a null, also where it is in an optional', async () => {
    const texts = ['{"a":null}', '{}', '{"a":1}']
    for (const emit of [['value.?a'], '[value.?a, optional.of(null)]', ['value.?a', 'optional.none()', 'null']])
      expect((await (await open({ emit })).run(texts)).values).toEqual(['1'])
  })
})

describe('a config', () => {
  it('is refused where its condition can never be true or false', async () => {
    const refused = {
      'value.a + 1': 'a sum',
      '-value.a': 'a number',
      'timestamp(value.a) - duration("1h")': 'a difference',
      'math.greatest(value.a, 1)': 'a number',
      'size(value.a)': 'a number',
      'value.time.getHours()': 'a number',
      '"true"': 'a constant string',
      '[value.a > 1]': 'a list',
      'value.a.filter(x, x > 1)': 'a list',
      '{"a": true}': 'a map',
      'string(value.a)': 'a text',
      'value.a ? value.b.trim() : 1': 'a text',
      'optional.of(true)': 'an optional',
    }
    for (const [filter, what] of Object.entries(refused))
      expect(await openRefused({ filter })).toContain(`config.filter must give true or false, and always gives ${what}`)
    for (const filter of [
      'value',
      'true',
      'value.a',
      'value.a ? true : 1',
      'bool(value.a)',
      'optional.of(true).orValue(false)',
      'math.isNaN(1.0)',
    ])
      await open({ filter })
  })

  it('is refused with the line and column of what is wrong', async () => {
    expect(await openRefused({ filter: 'value.a >\n  valu.b' })).toContain('config.filter: 2:3: valu is not known here')
    expect(await openRefused({ set: { a: 'value.b ++ 1' } })).toContain('config.set.a: 1:10: unexpected +')
    expect(await openRefused({ emit: ['1', 'value.size('] })).toContain('config.emit[1]: 1:12: the expression ends too early')
    expect(await openRefused({ filter: 'value.name.like("x")' })).toContain('there is no function like')
    expect(await openRefused({ filter: 'value.tags.exist(t, t == "x")' })).toContain('1:11: there is no function exist')
    expect(await openRefused({ filter: '"open' })).toContain('the text is not closed')
    expect(await openRefused({ filter: '9223372036854775808 > 1' })).toContain('does not fit into 64 bits')
    expect(await openRefused({ filter: 'value.a.startsWith()' })).toContain('wrong number of arguments')
    expect(await openRefused({ filter: 'math.abs(1, 2) > 1' })).toContain('wrong number of arguments')
    expect(await openRefused({})).toContain('config needs filter, set or emit')
    expect(await openRefused({ filter: 'value.a.all(x, x > 0) && x' })).toContain('x is not known here')
    expect(await openRefused({ filter: '('.repeat(300) })).toContain('nested too deeply')
    expect(await openRefused({ filter: `value${'.a'.repeat(2000)}` })).toContain('1:262: the path has more than 128 names')
  })
})

describe('work for one record', () => {
  it('ends, whatever the expression and the record', async () => {
    const numbers = JSON.stringify({ a: Array.from({ length: 2000 }, (_, n) => n) })
    expect(await valueOf('value.a.map(x, value.a.map(y, value.a.map(z, x * y * z)))', numbers)).toContain('steps for one record')
    const text = JSON.stringify({ a: 'a'.repeat(100_000) })
    expect(await valueOf('value.a.matches("(a*)*(a*)*(a*)*b")', text)).toContain('steps for one record')
    expect(await valueOf('value.a.matches("(x+x+)+y")', text)).toBe('{"v":false}')
    expect(await valueOf('value.a.replace("a", value.a)', text)).toContain('steps for one record')
  })

  it('is bounded in what it copies and compares, too', async () => {
    const long = 'a'.repeat(200_000)
    const list = Array.from({ length: 5000 }, (_, n) => n + 1)
    const document = (more: object) =>
      JSON.stringify({ s: long, n: `${'a'.repeat(50_000)}b${'a'.repeat(50_000)}`, l: list, t: 'b\n'.repeat(5000), ...more })
    for (const expression of [
      'value.s.contains(value.n)',
      'value.s.lastIndexOf(value.n)',
      'value.l.map(x, size(value.s))',
      'value.l.map(x, value.s.lowerAscii())',
      'value.l.exists(x, x == value.t)',
      'value.l.map(x, "%f".format([4e-310 * double(x)]))',
      'value.s.matches("[" + value.n + "c-cd-de-e]+$")',
    ]) {
      const { all } = await timesOf(async () =>
        expect(await valueOf(expression, document({}))).toMatch(/for one record|more than 10000 characters/),
      )
      expect(all).toBeLessThan(limitMs(3000))
    }
    expect(await valueOf('size(strings.quote(value.s))', document({}))).toBe('{"v":200002}')
    expect(await valueOf('size("%x".format([value.s]))', document({}))).toBe('{"v":400000}')
    expect(await valueOf('value.l.all(x, x > 0)', JSON.stringify({ l: Array.from({ length: 300_000 }, () => 1) }))).toContain('steps')
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n]))
    expect(await valueOf('size(value.o) + (value.o == value.o ? 1 : 0) + value.o["k19999"]', JSON.stringify({ o: many }))).toBe(
      '{"v":40000}',
    )
  })

  it('never loses items of a list that is too long', async () => {
    const { values, failures } = await (
      await open({ emit: 'value.items' })
    ).run([JSON.stringify({ items: Array.from({ length: 450_000 }, () => 1) })])
    expect([values.length, failures[0]!.message]).toEqual([0, 'emit: the expression takes more than 32 MiB of memory for one record'])
  })

  it('reads regular expressions as RE2 does', async () => {
    const matches = async (pattern: string, given: string) =>
      valueOf(`value.s.matches(${JSON.stringify(pattern)})`, JSON.stringify({ s: given }))
    const cases: [string, string, boolean][] = [
      ['^[a-c]{2,3}$', 'abc', true],
      ['^[a-c]{2,3}$', 'abca', false],
      ['^(foo|bar|ba)z?$', 'baz', true],
      ['^(?:a|b|c)*d$', 'abcabcd', true],
      ['(?i)straße', 'STRAße', true],
      ['^\\d+(\\.\\d{1,2})?$', '12.34', true],
      ['^\\d+(\\.\\d{1,2})?$', '12.345', false],
      ['^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$', 'ada@example.org', true],
      ['\\bcat\\b', 'a cat.', true],
      ['\\bcat\\b', 'concat', false],
      ['^.$', '🐱', true],
      ['^a??b$', 'b', true],
      ['^(a|ab)(c|bcd)(d*)$', 'abcd', true],
      ['^x{0}y$', 'y', true],
      ['[[:alpha:]]+[^[:digit:]]', 'ab', true],
      ['^(a?){20}a{20}$', 'a'.repeat(20), true],
      ['a||b', '', true],
      ['^(?i:a)b$', 'aB', false],
      ['^(?i:a)b$', 'Ab', true],
      ['(?s:a).b', 'a\nb', false],
      ['^[[:^digit:]]$', '5', false],
      ['(?i)^[[:upper:]]$', 'a', true],
      ['^\\Qa.b\\E$', 'a.b', true],
      ['^\\Qa.b\\E$', 'axb', false],
      ['^\\101$', 'A', true],
      ['^[[:print:]]+$', 'a b', true],
    ]
    for (const [pattern, given, expected] of cases)
      expect([pattern, given, await matches(pattern, given)]).toEqual([pattern, given, `{"v":${expected}}`])
    expect(await matches('a{2', 'a{2')).toBe('{"v":true}')
    const refused = (pattern: string) => openRefused({ filter: `value.s.matches(${JSON.stringify(pattern)})` })
    expect(await refused('(?=a)')).toContain('1:17: the regular expression has a group that is not allowed')
    expect(await refused('(')).toContain('not closed')
    expect(await refused('((){1000}){1000}')).toContain('too large')
    expect(await refused('a{123456}')).toContain('repetition that is not allowed')
    expect(await valueOf('value.s.matches(value.p)', '{"s":"a","p":"("}')).toContain('not closed')
  })
})

describe('values', () => {
  const EXPRESSIONS = [
    'value.a == value.b',
    'value.n + 1.5',
    'value.s + "x"',
    'size(value.s)',
    'value.s.lowerAscii()',
    'value.s.contains("a")',
    'value.l.map(x, x)',
    'value.l.filter(x, x != null)',
    'value.l.exists(x, x == value.n)',
    'value.l.size() > 2 ? value.n : value.s',
    'has(value.o.k)',
    'value.o.map(k, k).size()',
    'value.n in value.l',
    '"k" in value.o',
    'value.l == [value.n]',
    'value.o == {"k": value.n}',
    'type(value.s) == string',
    'value.n > 0.5 || value.o.missing',
    'value.n < 0.25 && value.s < "m"',
    'value.s.split("a").join("-")',
    'value.s.substring(0, size(value.s) / 2)',
    'value.s.indexOf("b")',
    'value.s.replace("a", "é")',
    '[value.a, value.b, value.s]',
  ]
  it('are those of another implementation', async () => {
    const environment = celEnv({ funcs: strings })
    const plans = EXPRESSIONS.map((each) => plan(environment, parse(each)))
    const chains = await Promise.all(EXPRESSIONS.map((each) => open({ emit: [`{"v": ${each}}`] })))
    const any = fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' })
    const half = fc.integer({ min: -1000, max: 1000 }).map((n) => n / 2 + 0.25)
    const document = fc.record({
      a: any,
      b: any,
      n: half,
      // Without characters beyond 16 bits, at which the other implementation cuts texts in halves.
      s: fc.string({ unit: fc.constantFrom('a', 'b', 'é', '"', '\\', '\u0000'), maxLength: 12 }),
      l: fc.array(fc.oneof(any, half), { maxLength: 4 }),
      o: fc.dictionary(fc.constantFrom('k', 'l', 'ü'), half),
    })
    const plain = (value: unknown): unknown => {
      const given = JSON.stringify(value, (_, each: unknown) => {
        if (typeof each === 'bigint') return Number(each)
        if (isCelMap(each)) return Object.fromEntries(each.entries())
        return each !== null && typeof each === 'object' && Symbol.iterator in each && !Array.isArray(each)
          ? [...(each as Iterable<unknown>)]
          : each
      })
      return given === undefined ? undefined : JSON.parse(given)
    }
    await fc.assert(
      fc.asyncProperty(document, async (value) => {
        for (const [index, chain] of chains.entries()) {
          const { values, failures } = await chain.run([JSON.stringify(value)])
          const other = plans[index]!({ value: JSON.parse(JSON.stringify(value)) as CelInput })
          const isError = isCelError(other)
          expect([EXPRESSIONS[index], failures.length === 1, values.map((each) => JSON.parse(each!).v)]).toEqual([
            EXPRESSIONS[index],
            isError,
            isError ? [] : [plain(other)],
          ])
        }
      }),
      { numRuns: 150 },
    )
  })
})

/** dps/redact: what is to be hidden never comes out, what is not stays as it is, and pseudonyms are HMACs. */
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openTestChain } from '../harness/chains.ts'

const KEY = 'a key of sixteen characters'
const open = (config: Record<string, unknown>) => openTestChain([{ name: 'dps/redact', config }])
const one = async (config: Record<string, unknown>, document: string) => (await (await open(config)).run([document])).values[0]
const pseudonym = (text: string, key = KEY) => createHmac('sha256', key).update(text).digest('hex')

describe('a field', () => {
  it('is masked, hashed, made null or dropped, wherever it stands', async () => {
    const config = { key: KEY, fields: { a: 'mask', b: 'hash', 'c.d': 'null', 'c.e.0': 'hash', f: 'drop', g: 'hash', missing: 'mask' } }
    const document = JSON.stringify({ f: 1, a: { deep: [1] }, b: 'x"ü', c: { d: 'secret', e: [12.5, 'k'] }, g: null, h: 'stays' })
    expect(JSON.parse((await one(config, document))!)).toEqual({
      a: '***',
      b: pseudonym('x"ü'),
      c: { d: null, e: [pseudonym('12.5'), 'k'] },
      g: null,
      h: 'stays',
    })
  })

  it('is hidden in every place that has its name, also where a name is repeated', async () => {
    const config = { fields: { a: 'mask', 'c.d': 'mask', f: 'drop' } }
    const document = '{"a":"s1","\\u0061":"s2","a":null,"c.d":"s3","c":{"d":"s4","d":"s5"},"c":{"d":["s6"]},"f":"s7","f":"s8"}'
    const shown = await one(config, document)
    expect(shown).toBe('{"a":"***","\\u0061":"***","a":null,"c.d":"***","c":{"d":"***","d":"***"},"c":{"d":"***"}}')
  })

  it('is hidden in each of hundreds of places, whatever their order and that of the config', async () => {
    const chain = await open({ fields: { c: 'mask', a: 'mask', b: 'drop', 'd.a': 'null' } })
    const shownAs: Record<string, string> = { a: '"a":"***"', b: '', c: '"c":"***"', d: '"d":{"a":null,"b":2}', e: '"e":5' }
    const written: Record<string, string> = { a: '"a":1', b: '"b":2', c: '"c":3', d: '"d":{"a":4,"b":2}', e: '"e":5' }
    const names = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 400, size: 'max' })
    await fc.assert(
      fc.asyncProperty(fc.array(names, { minLength: 1, maxLength: 3 }), async (records) => {
        const { values } = await chain.run(records.map((each) => `{${each.map((name) => written[name]).join(',')}}`))
        const left = records.map((each) => each.map((name) => shownAs[name]).filter((shown) => shown !== ''))
        expect(values).toEqual(left.map((each) => `{${each.join(',')}}`))
      }),
      { numRuns: 200 },
    )
    chain.close()
  })

  it('in more places than a record may have changes is the failure of that record', async () => {
    const chain = await open({ key: KEY, fields: { a: 'mask', b: 'hash' } })
    const of = (name: string, count: number) => `{${`"${name}":0,`.repeat(count)}"c":1}`
    const { values, failures, lost } = await chain.run([of('a', 400_000), of('b', 130_000), '{"a":1}', of('a', 50_000)])
    expect(failures.map(({ delta, message }) => [delta, message])).toEqual(
      [0, 1].map((delta) => [delta, expect.stringContaining('250,000')]),
    )
    expect([values[0], values.length, lost]).toEqual(['{"a":"***"}', 2, [0]])
    chain.close()
  })

  it('has the HMAC-SHA-256 of its text as its pseudonym, under any key', async () => {
    const key = fc.string({ minLength: 16, maxLength: 150 }).filter((each) => Buffer.byteLength(each) >= 16)
    await fc.assert(
      fc.asyncProperty(
        key,
        fc.array(fc.string({ unit: 'grapheme', maxLength: 300 }), { minLength: 1, maxLength: 5 }),
        async (own, texts) => {
          const { values } = await (await open({ key: own, fields: { v: 'hash' } })).run(texts.map((v) => JSON.stringify({ v })))
          expect(values.map((value) => (JSON.parse(value!) as { v: string }).v)).toEqual(
            texts.map((text) => pseudonym(text.toWellFormed(), own)),
          )
        },
      ),
      { numRuns: 100 },
    )
  })
})

const luhn = (digits: string): string => {
  const sum = [...digits]
    .toReversed()
    .reduce(
      (all, digit, index) => all + (index % 2 === 0 ? (Number(digit) * 2 > 9 ? Number(digit) * 2 - 9 : Number(digit) * 2) : Number(digit)),
      0,
    )
  return digits + String((10 - (sum % 10)) % 10)
}
const ibanOf = (country: string, rest: string): string => {
  const number = [...`${rest}${country}00`].map((c) => String(Number.parseInt(c, 36))).join('')
  return `${country}${String(98n - (BigInt(number) % 97n)).padStart(2, '0')}${rest}`
}
const grouped = (text: string, size: number, by: string) => text.match(new RegExp(`.{1,${size}}`, 'g'))!.join(by)
const digits = (length: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length }).map((all) => all.join(''))
const card = fc
  .integer({ min: 12, max: 18 })
  .chain(digits)
  .map(luhn)
  .chain((plain) => fc.constantFrom(plain, grouped(plain, 4, ' '), grouped(plain, 4, '-')))
const iban = fc
  .tuple(fc.constantFrom('DE', 'GB', 'FR', 'nl'), fc.string({ unit: fc.constantFrom(...'0123456789ABCXYZ'), minLength: 11, maxLength: 30 }))
  .map(([country, rest]) => ibanOf(country, rest))
  .chain((plain) => fc.constantFrom(plain, grouped(plain, 4, ' ')))
const email = fc
  .tuple(fc.stringMatching(/^[a-z0-9][a-z0-9._+-]{0,10}$/), fc.stringMatching(/^[a-z0-9]{1,8}(\.[a-z0-9]{1,5})?\.[a-z]{2,6}$/))
  .map(([local, host]) => `${local}@${host}`)
const KINDS = { card, iban, email }

describe('what looks like one', () => {
  it.each(Object.keys(KINDS) as (keyof typeof KINDS)[])('%s is found in any text, at any depth, in keys too', async (kind) => {
    const [masking, hashing] = [await open({ detect: [kind] }), await open({ detect: [kind], found: 'hash', key: KEY })]
    const around = fc.tuple(fc.constantFrom('', 'to: ', 'ü"\\n(', '\u0000,'), fc.constantFrom('', '. And', ')"', ' ü'))
    await fc.assert(
      fc.asyncProperty(KINDS[kind], around, async (secret, [before, after]) => {
        const text = `${before}${secret}${after}`
        const document = { a: [{ b: text }], [text]: 1, n: 12345 }
        const shown = (hidden: string) => ({ a: [{ b: `${before}${hidden}${after}` }], [`${before}${hidden}${after}`]: 1, n: 12345 })
        expect(JSON.parse((await masking.run([JSON.stringify(document)])).values[0]!)).toEqual(shown('***'))
        expect(JSON.parse((await hashing.run([JSON.stringify(document)])).values[0]!)).toEqual(shown(pseudonym(secret)))
      }),
      { numRuns: 150 },
    )
  })

  it.each([
    ['a number that fails Luhn’s rule', '4111 1111 1111 1112'],
    ['too few digits', '411111111111'],
    ['digits within a word', 'x4111111111111111'],
    ['an IBAN with another check', 'DE00370400440532013000'],
    ['an address without a domain', 'root@localhost'],
    ['an at sign', 'a @ b.de, @b.de, a@.de, a@b.d'],
    ['a version', '1.2.3-4.5.6@7'],
  ])('one and is %s stays', async (_what, text) => {
    const document = JSON.stringify({ text, n: 4111111111111111 })
    expect(await one({ detect: ['card', 'iban', 'email'] }, document)).toBe(document)
  })

  it.each([
    ['a card and digits behind it', '4111 1111 1111 1111 123 and 4111111111111111 12/27', '*** 123 and *** 12/27'],
    ['two cards', '4111111111111111 4111111111111111', '*** ***'],
    ['an address and a word behind it', 'john@doe.com-thanks, john@doe.com.2, j@a.xn--p1ai.', '***-thanks, ***.2, ***.'],
    ['an address behind a card', '4111111111111111-john@doe.com', '******'],
  ])('one is hidden that is %s', async (_what, text, hidden) => {
    expect(JSON.parse((await one({ detect: ['card', 'email'] }, JSON.stringify({ text })))!)).toEqual({ text: hidden })
  })

  it('one is hidden in a large text too', async () => {
    const chain = await openTestChain([{ name: 'dps/redact', config: { detect: ['email'] } }], {}, 8 << 20)
    const text = `${'x '.repeat(2_500_000)}john@doe.com`
    const { values, failures } = await chain.run([JSON.stringify({ text })])
    expect(failures).toEqual([])
    // Compared here: a difference of megabytes is no message.
    expect(values[0] === JSON.stringify({ text: text.replace('john@doe.com', '***') })).toBe(true)
  })

  it('one is not there in most records, which stay byte for byte', async () => {
    const chain = await open({ detect: ['card', 'iban', 'email'] })
    const harmless = fc.jsonValue({ stringUnit: fc.constantFrom(...'abc xyzüß"\\\n') as never })
    await fc.assert(
      fc.asyncProperty(fc.array(harmless, { minLength: 1, maxLength: 10 }), async (all) => {
        const documents = all.map((each) => JSON.stringify(each, null, 1))
        expect((await chain.run(documents)).values).toEqual(documents)
      }),
      { numRuns: 100 },
    )
  })
})

describe('a config', () => {
  it.each<[config: Record<string, unknown>, message: RegExp]>([
    [{}, /needs fields or detect/],
    [{ fields: { a: 'hide' } }, /config\.fields\.a must be one of mask/],
    [{ fields: { 'a.b': 'drop' } }, /only top-level fields can be dropped/],
    [{ fields: { a: 'hash' } }, /config\.key must be a text of at least 16/],
    [{ fields: { a: 'hash' }, key: 'short' }, /config\.key must be/],
    [{ detect: ['phone'] }, /config\.detect\.0 must be one of/],
    [{ detect: ['email'], found: 'drop' }, /config\.found must be/],
    [{ detect: ['email'], found: 'hash' }, /config\.key must be/],
  ])('%j is refused', async (config, message) => {
    await expect(open(config)).rejects.toThrow(message)
  })
})

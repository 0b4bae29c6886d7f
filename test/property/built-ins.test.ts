/** The built-in SmartModules compared with plain JavaScript over JSON.parse: only the JSON value counts, not how it is spelled. */
import fc from 'fast-check'
import { rawJSON } from '../../shared/model/exact-json.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { openTestChain, type TestChain } from '../harness/chains.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'

/** Any JSON document, also written with escapes and spaces that JSON.stringify would not choose. */
const escapeAll = (text: string): string =>
  text.replaceAll(/[^\u0000-\u007f]/g, (char) =>
    [...Array(char.length).keys()].map((index) => `\\u${char.charCodeAt(index).toString(16).padStart(4, '0')}`).join(''),
  )
const written = (value: unknown): fc.Arbitrary<string> =>
  fc.constantFrom(
    JSON.stringify(value),
    JSON.stringify(value, null, 2),
    escapeAll(JSON.stringify(value)),
    JSON.stringify(value).replaceAll('/', '\\/'),
  )
const text = fc.string({ unit: 'grapheme', maxLength: 40 })
const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })

describe('JSON reading', () => {
  let keepAll: TestChain
  beforeAll(async () => {
    keepAll = await openTestChain([{ name: 'dps/filter', config: { field: 'nope', operator: 'exists', value: false } }])
  })

  it('accepts exactly what JSON.parse accepts, and passes it unchanged', async () => {
    const damaged = json
      .map((value) => JSON.stringify(value))
      .chain((good) =>
        fc.tuple(fc.constant(good), fc.nat(good.length), fc.constantFrom('"', '\\', '{', '}', ',', '0', 'e', ' ', '\u0001', 'x', '')),
      )
      .map(([good, at, add]) => (good.slice(0, at) + add + good.slice(at + 1)).toWellFormed())
    await fc.assert(
      fc.asyncProperty(fc.oneof(json.chain(written), damaged), async (document) => {
        let isJson = true
        try {
          JSON.parse(document)
        } catch {
          isJson = false
        }
        const { values, failures } = await keepAll.run([document])
        expect(values).toEqual(isJson ? [document] : [])
        expect(failures.map(({ code }) => code)).toEqual(isJson ? [] : ['invalid_json'])
      }),
      { numRuns: 500 },
    )
  })

  it('refuses bytes that are not UTF-8', async () => {
    const { values, failures } = await keepAll.run([
      Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]),
      Buffer.from('{"a":"ü"}'),
    ])
    expect(values).toEqual(['{"a":"ü"}'])
    expect(failures).toMatchObject([{ delta: 0, code: 'invalid_json' }])
  })
})

describe('dps/filter', () => {
  const scalar = fc.oneof(
    fc.integer({ min: -1000, max: 1000 }),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }),
    text,
    fc.boolean(),
    fc.constant(null),
  )
  const order = (a: unknown, b: unknown): number | undefined => {
    if (typeof a === 'number' && typeof b === 'number') return a - b
    if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
    return undefined
  }
  const OPERATORS: Record<string, (field: unknown, value: unknown) => boolean> = {
    eq: (field, value) => field !== undefined && field === value,
    ne: (field, value) => field !== value,
    gt: (field, value) => (order(field, value) ?? 0) > 0,
    gte: (field, value) => (order(field, value) ?? -1) >= 0,
    lt: (field, value) => (order(field, value) ?? 0) < 0,
    lte: (field, value) => (order(field, value) ?? 1) <= 0,
    contains: (field, value) => typeof field === 'string' && typeof value === 'string' && Buffer.from(field).includes(Buffer.from(value)),
    starts_with: (field, value) => typeof field === 'string' && typeof value === 'string' && field.startsWith(value),
    ends_with: (field, value) => typeof field === 'string' && typeof value === 'string' && field.endsWith(value),
  }

  it.each(Object.keys(OPERATORS))('compares by %s as JavaScript does over parsed JSON', async (operator) => {
    const needsText = operator.endsWith('_with')
    const needsOrder = /^(gt|lt)/.test(operator)
    const operand = needsText ? text : needsOrder ? fc.oneof(fc.integer({ min: -50, max: 50 }), text) : scalar
    await fc.assert(
      fc.asyncProperty(
        operand,
        fc.array(fc.oneof(scalar, operand as fc.Arbitrary<unknown>), { minLength: 1, maxLength: 10 }),
        async (value, fields) => {
          const chain = await openTestChain([{ name: 'dps/filter', config: { field: 'a.b', operator, value } }])
          const documents = await Promise.all(
            [...fields.map((field) => ({ a: { b: field } })), { a: {} }].map(async (each) => fc.sample(written(each), 1)[0]!),
          )
          const { values } = await chain.run(documents)
          expect(values).toEqual(
            documents.filter((document) =>
              OPERATORS[operator]!((JSON.parse(document) as { a: { b?: unknown } }).a.b, JSON.parse(JSON.stringify(value))),
            ),
          )
        },
      ),
      { numRuns: 30 },
    )
  })

  it('compares numbers by all of their digits, however they are written', async () => {
    // As an integer and a power of ten, which BigInt compares without rounding.
    const number = fc
      .tuple(
        fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
        fc.integer({ min: -25, max: 25 }),
        fc.constantFrom('plain', 'point', 'exponent'),
      )
      .map(([digits, power, form]) => {
        const text = String(digits < 0n ? -digits : digits)
        const sign = digits < 0n ? '-' : ''
        const point = `${text[0]}${text.length > 1 ? `.${text.slice(1)}` : ''}e${power + text.length - 1}`
        const plain = power >= 0 ? `${text}${text === '0' ? '' : '0'.repeat(power)}` : `0.${text.padStart(-power + 20, '0')}`
        // In the form `plain` with a fraction, the value is digits / 10^(decimal places).
        const exact = form === 'plain' && power < 0 ? { digits, power: -Math.max(text.length, -power + 20) } : { digits, power }
        return { text: sign + (form === 'plain' ? plain : form === 'point' ? point : `${text}E${power}`), ...exact }
      })
    const scaled = ({ digits, power }: { digits: bigint; power: number }) => digits * 10n ** BigInt(power + 60)
    await fc.assert(
      fc.asyncProperty(
        number,
        fc.array(number, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('eq', 'gt', 'lte'),
        async (value, fields, operator) => {
          const chain = await openTestChain([{ name: 'dps/filter', config: { field: 'v', operator, value: rawJSON(value.text) } }])
          const all = [...fields, value]
          const { values } = await chain.run(all.map(({ text }) => `{"v":${text}}`))
          const keeps = (each: (typeof all)[number]) => {
            const order = scaled(each) - scaled(value)
            return operator === 'eq' ? order === 0n : operator === 'gt' ? order > 0n : order <= 0n
          }
          expect(values).toEqual(all.filter(keeps).map(({ text }) => `{"v":${text}}`))
        },
      ),
      { numRuns: 60 },
    )
    const exact = await openTestChain([{ name: 'dps/filter', config: { field: 'v', operator: 'eq', value: 9007199254740992 } }])
    expect((await exact.run(['{"v":9007199254740993}', '{"v":9007199254740992.0}'])).values).toEqual(['{"v":9007199254740992.0}'])
  })

  it('starts soon with a list as long as a config may have', async () => {
    const value = Array.from({ length: 24_900 }, (_, n) => `value ${n}`)
    const open = () => openTestChain([{ name: 'dps/filter', config: { field: 'a', operator: 'in', value } }])
    expect(await bestOf(open)).toBeLessThan(limitMs(500))
    expect((await (await open()).run(['{"a":"value 24899"}', '{"a":"value 24900"}'])).values).toEqual(['{"a":"value 24899"}'])
  })

  it('finds elements of arrays by index, the last of repeated names, and values in a list', async () => {
    const byIndex = await openTestChain([{ name: 'dps/filter', config: { field: 'items.1.sku', operator: 'in', value: ['b', 7] } }])
    expect(
      (await byIndex.run(['{"items":[{"sku":"a"},{"sku":"b"}]}', '{"items":[{"sku":"b"}]}', '{"items":[0,{"sku":7.0}]}'])).values,
    ).toEqual(['{"items":[{"sku":"a"},{"sku":"b"}]}', '{"items":[0,{"sku":7.0}]}'])
    const repeated = await openTestChain([{ name: 'dps/filter', config: { field: 'a', operator: 'eq', value: 2 } }])
    expect((await repeated.run(['{"a":1,"a":2}', '{"a":2,"a":1}'])).values).toEqual(['{"a":1,"a":2}'])
  })
})

describe('dps/map-fields', () => {
  it('renames, drops, sets, trims and changes case as JavaScript does over parsed JSON', async () => {
    const chain = await openTestChain([
      {
        name: 'dps/map-fields',
        config: {
          rename: { old: 'new' },
          drop: ['gone'],
          set: { fixed: { deep: [1] } },
          uppercase: ['up'],
          lowercase: ['low'],
          trim: ['trim'],
        },
      },
    ])
    const names = ['old', 'new', 'gone', 'fixed', 'up', 'low', 'trim', 'other', 'ünïcode']
    // The SmartModule's case tables are of Unicode 13, this Node's are newer: only letters that both know.
    const letters = fc.string({ unit: fc.constantFrom(...'aAzZ09 "\\\n/éÉßñÑøØžŽαΩσДяİıǆﬁ漢🎉'.match(/./gsu)!), maxLength: 20 })
    const spaces = fc.string({ unit: fc.constantFrom(...' \t\u00a0\u2003\u3000\ufeffx'), maxLength: 12 })
    const object = fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(
        letters,
        spaces,
        fc.integer(),
        json.filter((value) => typeof value !== 'string'),
      ),
      { maxKeys: 9 },
    )
    const expected = (document: Record<string, unknown>): unknown => {
      const out: Record<string, unknown> = {}
      for (const [name, value] of Object.entries(document)) {
        if (name === 'gone' || name === 'fixed' || (name === 'new' && 'old' in document)) continue
        const changed =
          typeof value !== 'string'
            ? value
            : name === 'up'
              ? value.toUpperCase()
              : name === 'low'
                ? value.toLowerCase()
                : name === 'trim'
                  ? value.trim()
                  : value
        out[name === 'old' ? 'new' : name] = changed
      }
      return { ...out, fixed: { deep: [1] } }
    }
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          object.chain((each) => written(each)),
          { minLength: 1, maxLength: 5 },
        ),
        async (documents) => {
          const { values } = await chain.run(documents)
          expect(values.map((value) => JSON.parse(value!))).toEqual(
            documents.map((document) => expected(JSON.parse(document) as Record<string, unknown>)),
          )
        },
      ),
    )
  })

  it('reaches nested fields, and creates the objects that `set` asks for', async () => {
    const chain = await openTestChain([
      { name: 'dps/map-fields', config: { rename: { 'a.b': 'a.c' }, drop: ['a.d'], set: { 'x.y.z': 1 }, uppercase: ['a.t'] } },
    ])
    const { values } = await chain.run(['{"a":{"b":1,"d":2,"t":"straße"},"k":[]}', '{"x":{"y":{"w":0}}}'])
    expect(values.map((value) => JSON.parse(value!))).toEqual([
      { a: { c: 1, t: 'STRASSE' }, k: [], x: { y: { z: 1 } } },
      { x: { y: { w: 0, z: 1 } } },
    ])
  })
})

describe('dps/text-classifier', () => {
  it('labels sentiment, and leaves the rest of the record unchanged', async () => {
    const chain = await openTestChain([{ name: 'dps/text-classifier', config: { field: 'text', output_field: 'label' } }])
    const { values, failures } = await chain.run([
      '{"text":"I love it, wonderful!","n":1e2}',
      '{"text":"not good at all, terrible"}',
      '{"text":"the table is brown"}',
      '{"text":"caf\\u00e9 is \\"awesome\\""}',
      '{"no":1}',
    ])
    expect(values.map((value) => (JSON.parse(value!) as { label: string }).label)).toEqual(['positive', 'negative', 'neutral', 'positive'])
    expect(values[0]).toContain('"n":1e2')
    expect(failures).toMatchObject([{ delta: 4, code: 'field_missing' }])
  })

  it('learns labels from examples and from keywords', async () => {
    const learnt = await openTestChain([
      {
        name: 'dps/text-classifier',
        config: {
          field: 'text',
          output_field: 'label',
          labels: {
            spam: { examples: ['buy cheap pills now', 'free money win big'] },
            ham: { examples: ['see you at the meeting', 'lunch tomorrow at noon?'] },
          },
        },
      },
    ])
    expect(
      (await learnt.run(['{"text":"win free pills"}', '{"text":"meeting at noon"}'])).values.map(
        (value) => (JSON.parse(value!) as { label: string }).label,
      ),
    ).toEqual(['spam', 'ham'])
    const keyed = await openTestChain([
      {
        name: 'dps/text-classifier',
        config: {
          field: 'text',
          output_field: 'label',
          labels: { refund: { keywords: ['money back', 'refund'] }, praise: { keywords: ['thank you'] } },
          default_label: 'none',
        },
      },
    ])
    expect(
      (await keyed.run(['{"text":"I want my MONEY back"}', '{"text":"Thank you!"}', '{"text":"hello"}'])).values.map(
        (value) => (JSON.parse(value!) as { label: string }).label,
      ),
    ).toEqual(['refund', 'praise', 'none'])
  })

  it('takes a keyword for the same one in either case, in alphabets that have cases', async () => {
    const letters = Array.from({ length: 0x1f40 }, (_, n) => String.fromCharCode(0xc0 + n)).filter((each) => {
      // Of Unicode 16, which AssemblyScript's tables do not know.
      if (each === '\u1c89' || each === '\u1c8a') return false
      const [lower, upper] = [each.toLowerCase(), each.toUpperCase()]
      return lower.length === 1 && upper.length === 1 && lower !== upper && upper.toLowerCase() === lower && lower.charCodeAt(0) < 0x2000
    })
    expect(letters.length).toBeGreaterThan(900)
    const keywords = [...new Set(letters.map((each) => each.toLowerCase()))].map((each) => `x${each}`)
    const label = {
      field: 't',
      output_field: 'l',
      labels: { known: { keywords: ['ёлка', 'łódź', 'Ắt', 'λόγος', ...keywords] }, b: { keywords: ['b'] } },
    }
    const chain = await openTestChain([{ name: 'dps/text-classifier', config: label }])
    const texts = ['ЁЛКА', 'ŁÓDŹ', 'ắt', 'ΛΌΓΟΣ', 'Λόγος', ...letters.map((each) => `X${each}`)]
    const { values } = await chain.run(texts.map((t) => JSON.stringify({ t })))
    expect(values.flatMap((value, at) => (value!.endsWith('"l":"known"}') ? [] : [texts[at]]))).toEqual([])
  })

  it('knows typographic signs and spaces as it does those of ASCII', async () => {
    const labelled = async (config: object, ...texts: string[]) => {
      const chain = await openTestChain([{ name: 'dps/text-classifier', config: { field: 'text', output_field: 'label', ...config } }])
      const { values } = await chain.run(texts.map((each) => JSON.stringify({ text: each })))
      return values.map((value) => (JSON.parse(value!) as { label: string }).label)
    }
    const texts: [typographic: string, label: string][] = [
      ['I don’t like it', 'negative'],
      ['This is “great”', 'positive'],
      ['It is ‘great’.', 'positive'],
      ['C’est «\u00a0great\u00a0»', 'positive'],
      ['not\u00a0good', 'negative'],
      ['won\u00adderful', 'positive'],
      // A negation does not reach across these.
      ['No… great', 'positive'],
      ['No — great', 'positive'],
      ['No ’ great', 'negative'],
      ['great！', 'positive'],
      ['greaté', 'neutral'],
    ]
    expect(await labelled({}, ...texts.map(([text]) => text))).toEqual(texts.map(([, label]) => label))
    const labels = { beer: { keywords: ['pivo', 'l’eau de vie', '佐々木'] }, none: { keywords: ['-'] } }
    const found = ['pivo…', '„pivo“', '¿pivo?', '\u2003pivo\u202f', 'pivo—víno', 'pivo。', "l'eau\u00a0de vie", '「佐々木」']
    const others = ['pivovar', 'pivoª', '佐木', 'l eau de vie']
    expect(await labelled({ labels }, ...found, ...others)).toEqual([...found.map(() => 'beer'), ...others.map(() => 'other')])
    // However a sign is written, words are the same ones around it.
    const signs = fc.constantFrom(...' -"(\u00a0«»“”„…–—\u2003\u3000、。！·'.split(''))
    const words = fc.array(fc.constantFrom('great', 'awful', 'table', 'don’t', "isn't", 'é', 'ª'), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(words, signs, signs, async (parts, one, other) => {
        const [first, second] = await labelled(
          { labels: { x: { keywords: [parts.slice(0, 4).join(one)] }, y: { keywords: ['?'] } } },
          parts.join(one),
          parts.join(other),
        )
        expect([first, second]).toEqual(['x', 'x'])
      }),
      { numRuns: 60 },
    )
  })

  it('refuses an invalid config, naming the field', async () => {
    await expect(
      openTestChain([
        { name: 'dps/text-classifier', config: { field: 'text', output_field: 'x', labels: { a: { keywords: ['x'] }, b: {} } } },
      ]),
    ).rejects.toThrow('config.labels.b')
  })
})

/** dps/cast compared with plain JavaScript: the same text becomes the same value, whatever stands around it. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openTestChain } from '../harness/chains.ts'

type Options = Record<string, unknown>
const open = (fields: Record<string, string | Options>) => openTestChain([{ name: 'dps/cast', config: { fields } }])

/** What becomes of the values of one field `v`, each in its own record: its JSON text, or the failure's message. */
async function cast(options: string | Options, ...given: unknown[]): Promise<string[]> {
  const chain = await open({ v: options })
  const { values, failures } = await chain.run(given.map((v) => JSON.stringify({ before: 'a, "b": {', v, after: [1] })))
  const left = values.map((value) => value!)
  return given.map((_, delta) => {
    const failure = failures.find((each) => each.delta === delta)
    if (failure) return failure.message
    const [, member] = /"v":(.*),"after"/.exec(left.shift()!) ?? []
    return member ?? 'absent'
  })
}
const failed = expect.stringMatching(/^the field v is not /)

describe('a number', () => {
  it('has all digits of its text, without leading zeros and plus signs', async () => {
    expect(await cast('integer', '12', '-7', '+0042', '0', '-0', '12345678901234567890', ' 5 ', 3)).toEqual([
      '12',
      '-7',
      '42',
      '0',
      '0',
      '12345678901234567890',
      '5',
      '3',
    ])
    expect(await cast('integer', '1.0', '1e3', 'x', '--1', '1 2', '-', '+', 1.5, true, {}, [1])).toEqual(
      Array.from({ length: 11 }, () => failed),
    )
    expect(await cast('decimal', '1.50', '.5', '-.25', '7.', '000.1', '99999999999999999999.000000001')).toEqual([
      '1.50',
      '0.5',
      '-0.25',
      '7',
      '0.1',
      '99999999999999999999.000000001',
    ])
    expect(await cast('decimal', '1e3', '.', '1.2.3', '0x10', 'NaN', 'Infinity', '1_000')).toEqual(Array.from({ length: 7 }, () => failed))
    expect(await cast('number', '1e3', '1.5E-7', '-2e+2', '1e', 'e5')).toEqual(['1e3', '1.5e-7', '-2e+2', failed, failed])
  })

  it('may have another decimal point, and separators between groups of three digits alone', async () => {
    const german = { type: 'decimal', decimal_point: ',', thousands: '.' }
    expect(await cast(german, '1.234.567,89', '12,5', '1234,5', '1.23', '.123', '1.2345', '1234.567', '1,2,3')).toEqual([
      '1234567.89',
      '12.5',
      '1234.5',
      failed,
      failed,
      failed,
      failed,
      failed,
    ])
    // No grouped number begins with 0: these have the point of another country.
    expect(await cast(german, '0.123', '-0.250', '00.500', '012.345', '0.000')).toEqual(Array.from({ length: 5 }, () => failed))
    expect(await cast(german, '1.234,50', '-1.000.000', '0', '-0,5', '00,5', '007')).toEqual([
      '1234.50',
      '-1000000',
      '0',
      '-0.5',
      '0.5',
      '7',
    ])
    expect(await cast({ type: 'integer', thousands: ' ' }, '1 000 000', '10 00')).toEqual(['1000000', failed])
    expect(await cast({ type: 'integer', thousands: '.' }, '1.000')).toEqual(['1000'])
    // French and Swiss files separate groups by spaces that do not break, or by a typographic apostrophe.
    for (const thousands of ['\u00a0', '\u202f', '’'])
      expect(
        await cast({ type: 'decimal', decimal_point: ',', thousands }, `1${thousands}234${thousands}567,5`, '1 234', `1${thousands}23`),
      ).toEqual(['1234567.5', failed, failed])
    expect(await cast({ type: 'integer', thousands: '\u00a0' }, '1\u00a1234', '1\u202f234', '1\u00a023')).toEqual([failed, failed, failed])
  })

  it('is the one that JavaScript reads', async () => {
    const chain = await open({ v: 'number' })
    const text = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.integer().map(String),
      fc.bigInt().map(String),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 20 }), async (texts) => {
        const { values, failures } = await chain.run(texts.map((v) => JSON.stringify({ v })))
        expect(failures).toEqual([])
        expect(values.map((value) => (JSON.parse(value!) as { v: number }).v)).toEqual(texts.map(Number))
      }),
      { numRuns: 100 },
    )
  })
})

describe('a boolean', () => {
  it('is one of the usual words, or of one’s own', async () => {
    expect(await cast('boolean', 'true', 'YES', 'n', '0', 1, false, 'maybe', 2)).toEqual([
      'true',
      'true',
      'false',
      'false',
      'true',
      'false',
      failed,
      failed,
    ])
    expect(await cast({ type: 'boolean', true: ['Ja'], false: ['nein', ''] }, 'JA', 'Nein', 'true')).toEqual(['true', 'false', failed])
    expect(await cast({ type: 'boolean', true: ['ДА'], false: ['нет'] }, 'ДА', 'нет')).toEqual(['true', 'false'])
  })
})

describe('a time', () => {
  it('is read as ISO 8601 writes it, and shown in UTC', async () => {
    expect(await cast('date', '2026-11-22', '2024-02-29', '2023-02-29', '2026-13-01', '2026-1-2', '2026-11-22T10:00Z')).toEqual([
      '"2026-11-22"',
      '"2024-02-29"',
      failed,
      failed,
      failed,
      failed,
    ])
    expect(
      await cast(
        'timestamp',
        '2026-11-22T10:11:12Z',
        '2026-11-22 10:11',
        '2026-11-22',
        '2026-11-22T00:30:00.123456789+02:00',
        '2026-11-22T23:59:59,5-0130',
        '2026-11-22T24:00:00Z',
        '2026-11-22T10:11:12+25:00',
      ),
    ).toEqual([
      '"2026-11-22T10:11:12.000Z"',
      '"2026-11-22T10:11:00.000Z"',
      '"2026-11-22T00:00:00.000Z"',
      '"2026-11-21T22:30:00.123456789Z"',
      '"2026-11-23T01:29:59.500Z"',
      failed,
      failed,
    ])
  })

  it('is read by a format', async () => {
    expect(await cast({ type: 'date', format: 'DD.MM.YYYY' }, '22.11.2026', '1.2.2026', '31.11.2026')).toEqual([
      '"2026-11-22"',
      failed,
      failed,
    ])
    expect(await cast({ type: 'date', format: 'D/M/YYYY' }, '1/2/2026', '01/02/2026')).toEqual(['"2026-02-01"', '"2026-02-01"'])
    expect(await cast({ type: 'timestamp', format: 'DD/MMM/YYYY:HH:mm:ss Z' }, '10/Oct/2000:13:55:36 -0700')).toEqual([
      '"2000-10-10T20:55:36.000Z"',
    ])
    expect(
      await cast({ type: 'timestamp', format: 'M/D/YYYY h:mm A' }, '1/2/2026 12:05 AM', '1/2/2026 12:05 pm', '1/2/2026 13:05 PM'),
    ).toEqual(['"2026-01-02T00:05:00.000Z"', '"2026-01-02T12:05:00.000Z"', failed])
    expect(await cast({ type: 'timestamp', format: "YYYYMMDD'at'HHmmssSSS" }, '20261122at101112345')).toEqual([
      '"2026-11-22T10:11:12.345Z"',
    ])
    expect(await cast({ type: 'timestamp', format: 'unix' }, '0', -1, '1763800000', '1.5')).toEqual([
      '"1970-01-01T00:00:00.000Z"',
      '"1969-12-31T23:59:59.000Z"',
      '"2025-11-22T08:26:40.000Z"',
      failed,
    ])
  })

  it('is of the years 1 to 9999', async () => {
    expect(await cast('date', '0000-01-01', '0001-01-01', '9999-12-31')).toEqual([failed, '"0001-01-01"', '"9999-12-31"'])
    expect(await cast('timestamp', '0001-01-01T00:00:00+01:00', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59-01:00')).toEqual([
      failed,
      '"0001-01-01T00:00:00.000Z"',
      failed,
    ])
    expect(await cast({ type: 'date', format: 'DD.MM.YYYY' }, '01.01.0000')).toEqual([failed])
    expect(await cast({ type: 'timestamp', format: 'unix' }, '-62135596800', '-62135596801')).toEqual([
      '"0001-01-01T00:00:00.000Z"',
      failed,
    ])
    expect(await cast({ type: 'date', on_failure: 'null' }, '0000-01-01')).toEqual(['null'])
  })

  it('is the one that JavaScript reads, from year 1 to 9999', async () => {
    const [iso, ms, offset] = await Promise.all([
      open({ v: 'timestamp' }),
      open({ v: { type: 'timestamp', format: 'unix_ms' } }),
      open({ v: 'timestamp' }),
    ])
    const time = fc.integer({ min: Date.parse('0001-01-02T00:00:00Z'), max: Date.parse('9999-12-30T00:00:00Z') })
    const one = async (chain: typeof iso, v: unknown) =>
      (JSON.parse((await chain.run([JSON.stringify({ v })])).values[0]!) as { v: string }).v
    await fc.assert(
      fc.asyncProperty(time, fc.integer({ min: -23 * 60, max: 23 * 60 }), async (at, minutes) => {
        const shown = new Date(at).toISOString()
        expect(await one(iso, shown)).toBe(shown)
        expect(await one(ms, at)).toBe(shown)
        const [sign, rest] = [minutes < 0 ? '-' : '+', Math.abs(minutes)]
        const zone = `${sign}${String(Math.floor(rest / 60)).padStart(2, '0')}:${String(rest % 60).padStart(2, '0')}`
        const local = new Date(at + minutes * 60_000).toISOString()
        if (/^\d{4}-/.test(local) && !local.startsWith('0000')) expect(await one(offset, local.replace('Z', zone))).toBe(shown)
      }),
      { numRuns: 200 },
    )
  })
})

describe('a field', () => {
  it('that is empty becomes null, absent, stays, or fails, as asked', async () => {
    expect(await cast('integer', '', '  ', null)).toEqual(['null', 'null', 'null'])
    // White space is that of Unicode, as for dps/map-fields: spreadsheets write spaces that do not break.
    expect(await cast('integer', '\u00a0', '\u3000\t\u2003', '\u00a05\u202f', '\n-7\u00a0', '5\u00a06')).toEqual([
      'null',
      'null',
      '5',
      '-7',
      failed,
    ])
    expect(await cast('date', '\u00a02026-11-22\u00a0')).toEqual(['"2026-11-22"'])
    expect(await cast('string', '\u00a0x ')).toEqual(['"\u00a0x "'])
    expect(await cast({ type: 'integer', on_empty: 'absent' }, '', '5')).toEqual(['absent', '5'])
    expect(await cast({ type: 'date', on_empty: 'keep' }, '')).toEqual(['""'])
    expect(await cast({ type: 'date', on_empty: 'fail' }, '')).toEqual(['the field v is not a date: it is empty'])
    expect(await cast('string', '', 5, true, 'x', null)).toEqual(['""', '"5"', '"true"', '"x"', 'null'])
  })

  it('that can’t be cast becomes null, absent, stays, or fails with its value', async () => {
    for (const [on_failure, expected] of [
      ['null', 'null'],
      ['absent', 'absent'],
      ['keep', '"x"'],
      ['fail', 'the field v is not an integer: "x"'],
    ] as const)
      expect(await cast({ type: 'integer', on_failure }, 'x')).toEqual([expected])
  })

  it('that can’t be cast says what is expected', async () => {
    for (const [options, value, message] of [
      [{ type: 'date', format: 'DD.MM.YYYY' }, '2026-11-22', 'a date: "2026-11-22"; expected DD.MM.YYYY'],
      ['date', '22.11.2026', 'a date: "22.11.2026"; expected YYYY-MM-DD'],
      ['timestamp', 'noon', 'a timestamp: "noon"; expected ISO 8601, such as 2026-11-28T10:00:00Z'],
      [{ type: 'boolean', true: ['ja'], false: ['Nein'] }, 'yes', 'a boolean: "yes"; expected ja, nein'],
      [{ type: 'decimal', decimal_point: ',' }, '1.5', 'a decimal: "1.5"; expected "," as the decimal point'],
      [
        { type: 'number', decimal_point: ',', thousands: '.' },
        '1.5',
        'a number: "1.5"; expected "," as the decimal point, "." between groups of three digits',
      ],
      [{ type: 'integer', thousands: '’' }, '1,000', 'an integer: "1,000"; expected "’" between groups of three digits'],
      ['decimal', '1,5', 'a decimal: "1,5"'],
      // Cut between characters.
      ['integer', 'ä'.repeat(50), `an integer: "${'ä'.repeat(29)}…`],
    ] as const)
      expect(await cast(options, value)).toEqual([`the field v is not ${message}`])
  })

  it('may be nested, missing, escaped, repeated, or have a dot in its name; nothing else changes', async () => {
    const chain = await open({
      'a.b': 'integer',
      'a.c.0': 'boolean',
      'x.y': 'number',
      gone: 'date',
      n: { type: 'integer', on_empty: 'absent' },
    })
    const records = [
      [`{"a" : {"b":"1", "c":["yes"]},\t"x.y": "2.5" , "k":"v"}`, `{"a" : {"b":1, "c":[true]},\t"x.y": 2.5 , "k":"v"}`],
      [`{"\\u0061":{"b":"\\u0031"}}`, `{"\\u0061":{"b":1}}`],
      [`{"n":"7","k":1,"n":"","a":{"b":"3"}}`, `{"k":1,"a":{"b":3}}`],
      [`{}`, `{}`],
      [`{"a":[{"b":"1"}]}`, `{"a":[{"b":"1"}]}`],
    ]
    const { values, failures } = await chain.run(records.map(([before]) => before!))
    expect(failures).toEqual([])
    expect(values).toEqual(records.map(([, after]) => after))
  })

  it('keeps every other byte of its record', async () => {
    const chain = await open({ v: 'integer', 'w.x': 'string' })
    const name = fc.string().filter((each) => each !== 'v' && each !== 'w')
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, fc.jsonValue()), fc.integer(), fc.integer(), async (others, v, x) => {
        const [document] = (await chain.run([JSON.stringify({ ...others, v: String(v), w: { x }, z: 'z' })])).values
        expect(document).toBe(JSON.stringify({ ...others, v, w: { x: String(x) }, z: 'z' }))
      }),
      { numRuns: 200 },
    )
  })
})

describe('a config', () => {
  it.each<[fields: unknown, message: RegExp]>([
    [undefined, /fields must be an object/],
    [{ a: 'int' }, /config\.fields\.a\.type must be one of integer/],
    [{ a: {} }, /config\.fields\.a\.type is missing/],
    [{ a: 5 }, /config\.fields\.a must be a type/],
    [{ a: { type: 'date', format: 'YYYY-QQ' } }, /has Q, which is no part of a time/],
    [{ a: { type: 'integer', format: 'YYYY' } }, /format is for dates and timestamps/],
    [{ 'a.b': { type: 'integer', on_empty: 'absent' } }, /only top-level fields can become absent/],
    [{ a: { type: 'decimal', decimal_point: ',', thousands: ',' } }, /must differ/],
    [{ a: { type: 'decimal', thousands: '00' } }, /one character/],
    [{ a: { type: 'decimal', thousands: '😀' } }, /one character/],
    [{ a: { type: 'decimal', decimal_point: '٫' } }, /one ASCII character/],
    [{ a: { type: 'integer', on_empty: 'zero' } }, /on_empty must be one of/],
    [{ a: { type: 'integer', tpye: 'x' } }, /tpye is not an option/],
    [{ a: { type: 'date', format: "''" } }, /format is empty/],
    [{ a: { type: 'date', format: "YYYY'" } }, /quote that is not closed/],
    [{ a: { type: 'date', format: 'MMMM D, YYYY' } }, /has MMMM, which is no part/],
  ])('like %j is refused with a sentence', async (fields, message) => {
    await expect(openTestChain([{ name: 'dps/cast', config: { fields } }])).rejects.toThrow(message)
  })
})

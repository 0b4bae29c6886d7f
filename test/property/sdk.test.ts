/** The SDK as a package: its README's examples do what they say, and an author's editor knows its types. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile, mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { openTestChain } from '../harness/chains.ts'
import { isJson } from '../harness/is-json.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const SDK = join(ROOT, 'shared', 'smartmodule', 'sdk')
const readme = await readFile(join(SDK, 'README.md'), 'utf8')

/** A section with a source, a config, and rows of what goes in and comes out. */
const EXAMPLES = readme
  .split(/^## /m)
  .slice(1)
  .filter((section) => section.includes('```ts'))
  .map((section) => {
    const rows = [...section.matchAll(/^\| (`\{.*\}`) \| (.*)\|$/gm)].map(([, input, output]) => ({
      input: input!.slice(1, -1),
      output: output!.trim(),
    }))
    return {
      title: section.split('\n')[0]!,
      code: /```ts\n([\s\S]*?)```/.exec(section)![1]!,
      config: JSON.parse(/^With `(.*)`:$/m.exec(section)![1]!) as Record<string, unknown>,
      rows,
    }
  })

describe('the examples of the SDK', () => {
  it('are one for each kind of function, and for what goes out with a value', () => {
    expect(EXAMPLES.map(({ title }) => title.split(':')[0])).toEqual(['filter', 'map', 'filterMap', 'arrayMap', 'Key, headers and time'])
    for (const { rows } of EXAMPLES) expect(rows.length).toBeGreaterThan(1)
  })

  it.each(EXAMPLES.map((each) => [each.title, each] as const))('make what they say: %s', async (_, { code, config, rows }) => {
    const module = await WebAssembly.compile(await compileSmartModule(code))
    const chain = await openTestChain([{ name: 'example', config }], { example: module })
    for (const { input, output } of rows) {
      const { values, failures } = await chain.run([input])
      const failure = /^fails: (.*)$/.exec(output)?.[1]
      expect(failures.map(({ message }) => message)).toEqual(failure === undefined ? [] : [failure])
      const expected = failure === undefined ? [...output.matchAll(/`([^`]*)`/g)].map(([, each]) => each) : []
      expect(values).toEqual(expected)
    }
  })
})

/** A chain of one SmartModule with this source; `others` as a built-in has them, which may import every part of the SDK. */
const chainOf = async (code: string, others?: ReadonlyMap<string, string>) =>
  openTestChain([{ name: 'own', config: {} }], { own: await WebAssembly.compile(await compileSmartModule(code, others)) })

describe('a record that goes out as it came', () => {
  const outOf = async (code: string, values: string[], others?: ReadonlyMap<string, string>) => {
    const chain = await chainOf(code, others)
    const { values: out, failures } = await chain.run(values)
    return [out, failures.map(({ message }) => message)]
  }

  it('has the bytes that it was emitted with, also where they change afterwards', async () => {
    const code = `import { Record, emit } from 'dps'
export function arrayMap(record: Record): void {
  emit(record.start, record.end)
  store<u8>(record.end - 2, 50)
  emit(record.start, record.end)
}`
    expect(await outOf(code, ['{"a":1}', '{"a":3}'])).toEqual([['{"a":1}', '{"a":2}', '{"a":3}', '{"a":2}'], []])
  })

  it('is taken back if its record fails afterwards', async () => {
    const code = `import { Path, Record } from 'dps'
import { passOn } from 'dps/abi'
const path = new Path('a')
export function arrayMap(record: Record): void {
  passOn()
  if (record.integer(path) % 3 == 2) record.fail('two')
}`
    const values = Array.from({ length: 9 }, (_, a) => `{"a":${a}}`)
    expect(await outOf(code, values, new Map())).toEqual([values.filter((_, a) => a % 3 !== 2), ['two', 'two', 'two']])
  })

  it('stands in its order beside records that change and records that fail', async () => {
    const code = `import { Path, Record, Segment, emit } from 'dps'
const path = new Path('a')
const name = new Segment('a')
export function map(record: Record): void {
  const a = record.integer(path)
  if (a % 3 == 1) record.setInteger(name, -a)
  if (a % 3 == 2) record.fail('two')
}`
    const values = Array.from({ length: 9 }, (_, a) => `{"a":${a}}`)
    const out = ['{"a":0}', '{"a":-1}', '{"a":3}', '{"a":-4}', '{"a":6}', '{"a":-7}']
    expect(await outOf(code, values)).toEqual([out, ['two', 'two', 'two']])
  })
})

describe('keys and headers', () => {
  const outOf = async (code: string, value: string, keyAt?: () => Buffer | null) => {
    const chain = await chainOf(code)
    const { records, failures } = await chain.run([value], undefined, keyAt)
    expect(failures).toEqual([])
    const { key, headers, timestampDelta } = records[0]!
    return { key: key?.toString(), headers: headers.map(([name, bytes]) => [name, bytes?.toString()]), time: 1000n + timestampDelta }
  }

  it('are read and set as texts', async () => {
    const { code } = EXAMPLES.find(({ title }) => title.startsWith('Key'))!
    const headers = (was: string) => [
      ['h', '\0'],
      ['was', was],
      ['origin', 'partition 0'],
    ]
    expect(await outOf(code, '{"id":"ä"}')).toEqual({ key: 'ä', headers: headers('k0'), time: 2000n })
    expect(await outOf(code, '{"id":""}', () => null)).toEqual({ key: '', headers: headers('none'), time: 2000n })
    expect(await outOf(code, '{"id":"x"}', () => Buffer.from([255]))).toEqual({ key: 'x', headers: headers('none'), time: 2000n })
  })
})

describe('numbers', () => {
  it('are written as JavaScript writes them', async () => {
    const code = `import { Record, Path, Segment } from 'dps'
const from = new Path('d')
const to = new Segment('text')
export function map(record: Record): void { record.setNumber(to, record.number(from)) }`
    const chain = await chainOf(code)
    const bits = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })
    const ofBits = (each: bigint) => new Float64Array(new BigUint64Array([each]).buffer)[0]!
    const random = fc.sample(bits, { numRuns: 10_000, seed: 5 }).map(ofBits)
    const near = [
      1,
      5e-324,
      2 ** 53,
      1e15,
      1e21,
      1e22,
      1e-6,
      1e-7,
      0.1 + 0.2,
      1.7976931348623157e308,
      2.2250738585072014e-308,
      9.5,
      2 ** 67,
    ]
    const numbers = [
      ...random,
      ...near.flatMap((each) => [each, -each, each * (1 + Number.EPSILON), each * (1 - Number.EPSILON), each / 3]),
      // Neighbours of a power of two are not equally far away.
      ...Array.from({ length: 2098 }, (_, n) => 2 ** (n - 1074)),
      ...Array.from({ length: 600 }, (_, n) => Number(`1e${n - 300}`)),
      ...Array.from({ length: 2000 }, (_, n) => (n + 1) * 5e-324 * 1009),
      ...Array.from({ length: 5000 }, (_, cents) => (cents / 100) * 1.19),
    ].filter((each) => Number.isFinite(each))
    const { values, failures } = await chain.run(numbers.map((d) => `{"d":${d}}`))
    expect(failures).toEqual([])
    const wrong = values.flatMap((value, at) => {
      const text = /"text":(.*)\}$/.exec(value!)![1]!
      return text === String(numbers[at]) ? [] : [[text, String(numbers[at])]]
    })
    expect([values.length, wrong]).toEqual([numbers.length, []])
  })

  it('are read as JavaScript reads them, also in the few bytes that are read at once', async () => {
    const code = `import { Record, Path, Segment } from 'dps'
const from = new Path('d')
const to = new Segment('text')
export function map(record: Record): void { record.setNumber(to, record.number(from)) }`
    const digits = Array.from({ length: 9 }, (_, length) => '987654321'.slice(0, length + 1))
    const texts = digits.flatMap((all) => [
      all,
      `-${all}`,
      `${all}e1`,
      `${all}E-2`,
      `0.${all}`,
      `-0.${all}`,
      ...Array.from({ length: all.length - 1 }, (_, at) => `${all.slice(0, at + 1)}.${all.slice(at + 1)}`),
      ...Array.from({ length: all.length - 1 }, (_, at) => `${all.slice(0, at + 1)}.${'0'.repeat(all.length - at - 1)}`),
      ...Array.from({ length: all.length - 1 }, (_, at) => `${all.slice(0, at + 1)}e${all.slice(at + 1)}`),
    ])
    const random = fc.sample(fc.stringMatching(/^-?(0|[1-9][0-9]{0,4})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?$/), {
      numRuns: 20_000,
      seed: 3,
    })
    const finite = [...texts, ...random].filter((text) => Number.isFinite(Number(text)))
    // Digits stand before and behind them, which must not count.
    const { values, failures } = await (await chainOf(code)).run(finite.map((text) => `{"a":99999999,"d":${text},"z":88888888}`))
    expect(failures).toEqual([])
    const read = values.map((value) => /"text":(.*)\}$/.exec(value!)?.[1])
    const wrong = finite.filter((text, at) => read[at] !== String(Number(text)))
    expect([values.length, wrong.slice(0, 10)]).toEqual([finite.length, []])
  })
})

describe('a whole number', () => {
  it('is read by all its digits, however it is written', async () => {
    const chain = await chainOf(`import { Path, Record, Segment } from 'dps'
const n = new Path('n')
const i = new Segment('i')
export function map(record: Record): void { record.setInteger(i, record.integer(n, -7)) }`)
    const LARGEST = 1n << 63n
    /** The number that digits, a point and an exponent stand for, where it is whole and has 64 bits. */
    const expected = (digits: bigint, scale: number): bigint => {
      const power = 10n ** BigInt(Math.abs(scale))
      if (scale < 0 && digits % power !== 0n) return -7n
      const value = scale < 0 ? digits / power : digits * power
      return value >= -LARGEST && value < LARGEST ? value : -7n
    }
    const near = fc.constantFrom(LARGEST, LARGEST - 1n, 2n ** 53n + 1n, 99_999_999_999_999_999_999n, 0n, 1n, 10n ** 18n, LARGEST * 10n)
    const number = fc.record({
      size: fc.oneof(near, fc.bigInt({ min: 0n, max: 10n ** 25n })),
      isNegative: fc.boolean(),
      places: fc.integer({ min: 0, max: 25 }),
      zeros: fc.integer({ min: 0, max: 5 }),
      exponent: fc.option(fc.integer({ min: -30, max: 30 })),
    })
    const cases = fc.sample(number, { numRuns: 5000, seed: 7 }).map(({ size, isNegative, places, zeros, exponent }) => {
      const digits = `${size}${'0'.repeat(zeros)}`.padStart(places + 1, '0')
      const whole = digits.slice(0, digits.length - places).replace(/^0+(?=\d)/, '')
      const text = `${isNegative ? '-' : ''}${whole}${places > 0 ? `.${digits.slice(-places)}` : ''}${exponent === null ? '' : `e${exponent}`}`
      const signed = BigInt(digits) * (isNegative ? -1n : 1n)
      return { text, value: expected(signed, (exponent ?? 0) - places) }
    })
    cases.push({ text: '0.99999999999999999999', value: -7n }, { text: '9007199254740993.0', value: 9007199254740993n })
    const { values, failures } = await chain.run(cases.map(({ text }) => `{"n":${text}}`))
    expect(failures).toEqual([])
    const wrong = cases.filter(({ text, value }, index) => values[index] !== `{"n":${text},"i":${value}}`).map(({ text }) => text)
    expect(wrong).toEqual([])
  })
})

describe('what is set as JSON', () => {
  it('is one document: nothing else becomes members or items of the record', async () => {
    const chain = await chainOf(`import { Path, Record, Segment } from 'dps'
const given = new Path('given')
const isList = new Path('list')
const a = new Segment('a')
export function map(record: Record): void {
  const text = record.text(given, '')
  record.setJson(a, record.bool(isList, false) ? '[' + text + ']' : text)
}`)
    const parts = fc.constantFrom('1', '"b"', ':', ',', '[', ']', '{', '}', 'true', ' ', '\n', '-', '.5', 'e1', '"', '\\', 'ä', '01')
    const texts = fc.oneof(
      fc.json({ maxDepth: 3, stringUnit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
      fc.array(parts, { maxLength: 9 }).map((all) => all.join('')),
      fc.constantFrom('1,"b":2', '1}', '', ' ', ' [1] ', '1,"a":2', '1],"admin":true,"x":[2'),
    )
    const asked = fc.array(fc.record({ given: texts, list: fc.boolean(), hasOne: fc.boolean() }), { minLength: 20, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(asked, async (all) => {
        const bodies = all.map(({ given, list, hasOne }) => JSON.stringify({ ...(hasOne ? { a: 0 } : {}), given, list, z: 1 }))
        const { records, failures } = await chain.run(bodies)
        const texts = all.map(({ given, list }) => (list ? `[${given}]` : given))
        const bad = texts.flatMap((text, delta) => (isJson(text) ? [] : [delta]))
        expect(failures.map(({ delta }) => delta).sort((x, y) => x - y)).toEqual(bad)
        const made = records.map(({ value }) => JSON.parse(value!.toString()) as Record<string, unknown>)
        const good = all.flatMap(({ given, list }, index) =>
          isJson(texts[index]!) ? [{ given, list, z: 1, a: JSON.parse(texts[index]!) }] : [],
        )
        expect(made).toEqual(good)
      }),
      { numRuns: 60 },
    )
  })
})

describe('what is found', () => {
  it('has no bytes where there is nothing: not those of the record before', async () => {
    const code = `import { Path, Record, Segment } from 'dps'
const secret = new Path('a.secret')
const to = new Segment('copy')
export function map(record: Record): void {
  const found = record.find(secret)
  record.setBytes(to, found.start, found.end - found.start)
}`
    const chain = await chainOf(code)
    const { values, failures } = await chain.run(['{"a":{"secret":"s"}}', '{"b":1}', '{"a":{"b":1}}', '{"a":5}', '[]'])
    expect(values).toEqual(['{"a":{"secret":"s"},"copy":"s"}'])
    expect(failures.map(({ message }) => message)).toEqual([
      ...Array.from({ length: 3 }, () => 'the value is not valid JSON'),
      'the value is not a JSON object',
    ])
  })
})

it('the text of nothing that was found is empty, and no trap', async () => {
  const code = `import { Path, Record, Segment, textOf } from 'dps'
const a = new Path('a')
const to = new Segment('copy')
export function map(record: Record): void {
  const found = record.find(a)
  record.setText(to, textOf(found.start, found.end))
}`
  const chain = await chainOf(code)
  expect((await chain.run(['{"a":"x"}', '{"b":1}'])).values).toEqual(['{"a":"x","copy":"x"}', '{"b":1,"copy":""}'])
})

it('nothing is walked over where there is no such list or object, and nothing is no number', async () => {
  const code = `import { Items, Kind, Members, Path, Record, integerOf } from 'dps'
const a = new Path('a')
export function map(record: Record): void {
  const found = record.find(a)
  const items = new Items(found.start, found.end)
  const members = new Members(found.start, found.end)
  let n = 0
  while (n < 100 && items.next()) n++
  while (n < 100 && members.next()) n++
  const writer = record.writer()
  writer.text(n.toString() + (found.kind == Kind.Missing ? ' ' + integerOf(found.start, found.end, -1).toString() : ''))
  record.commit(writer)
}`
  const chain = await chainOf(code)
  const found = await chain.run(['{"a":[1,"x",[2],{"b":3}]}', '{"b":1}', '{"a":{"b":[],"c":1}}', '{"b":1}', '{"a":5}'])
  expect(found.values).toEqual(['"4"', '"0 -1"', '"2"', '"0 -1"', '"0"'])
  const others = await chain.run(['[]', '{}', '""', '"x:y"', 'null', '-12.5e3'].map((a) => `{"a":${a}}`))
  expect(others.values).toEqual(Array.from({ length: 6 }, () => '"0"'))
})

describe('the package of the SDK', () => {
  it('has the types of what it exports, and of AssemblyScript', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dps-sdk-'))
    try {
      const modules = join(folder, 'node_modules')
      await mkdir(join(modules, 'dps'), { recursive: true })
      const { name, files } = JSON.parse(await readFile(join(SDK, 'package.json'), 'utf8')) as { name: string; files: string[] }
      for (const each of ['package.json', ...files]) await cp(join(SDK, each), join(modules, name, each), { recursive: true })
      await symlink(join(ROOT, 'node_modules', 'assemblyscript'), join(modules, 'assemblyscript'))
      await writeFile(join(folder, 'tsconfig.json'), '{ "extends": "dps/tsconfig.json", "include": ["*.ts"] }')
      for (const [index, { code }] of EXAMPLES.entries()) await writeFile(join(folder, `right-${index}.ts`), code)
      await writeFile(join(folder, 'wrong.ts'), EXAMPLES[0]!.code.replace('record.number(amount)', 'record.amount(amount)'))
      const tsc = join(ROOT, 'node_modules', '.bin', 'tsc')
      const { stdout } = await promisify(execFile)(tsc, ['-p', '.'], { cwd: folder }).catch((error: { stdout: string }) => error)
      // AssemblyScript's own files are written for an older compiler.
      const own = stdout.split('\n').filter((line) => /^(right|wrong)/.test(line))
      expect(own).toEqual([expect.stringMatching(/^wrong\.ts\(15,\d+\): error TS2339: Property 'amount' does not exist on type 'Record'/)])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('a document', () => {
  /** Whether each beginning of the document is one, and so is what is left of it. */
  const CUTS = `import { Kind, Record, emitJson, parseJson } from 'dps'
export function arrayMap(record: Record): void {
  let found = ''
  for (let at = record.start; at <= record.end; at++) {
    found += parseJson(record.start, at) == Kind.Missing ? '0' : '1'
    found += parseJson(at, record.end) == Kind.Missing ? '0' : '1'
  }
  emitJson('"' + found + '"')
  emitJson(String.UTF8.decodeUnsafe(record.start, record.end - record.start))
}`

  it('ends where it is said to end, whatever bytes come behind it, and these stay as they are', async () => {
    const chain = await chainOf(CUTS)
    const spaced = fc.tuple(fc.json(), fc.constantFrom(undefined, 1)).map(([json, space]) => JSON.stringify(JSON.parse(json), null, space))
    await fc.assert(
      fc.asyncProperty(fc.array(spaced, { minLength: 1, maxLength: 5 }), async (documents) => {
        const { values, failures } = await chain.run(documents)
        const expected = documents.flatMap((document) => {
          const bytes = Buffer.from(document)
          const isOne = (part: Buffer) => (part.toString('latin1') === '' || !isJson(part.toString()) ? '0' : '1')
          const found = Array.from({ length: bytes.length + 1 }, (_, at) => isOne(bytes.subarray(0, at)) + isOne(bytes.subarray(at)))
          return [JSON.stringify(found.join('')), document]
        })
        expect([values, failures]).toEqual([expected, []])
      }),
      { numRuns: 200 },
    )
  })
})

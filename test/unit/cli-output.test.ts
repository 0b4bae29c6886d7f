/** What `dps` says: progress, errors by file and line and once, and records in every format. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ofInput, ofSource, outcomeOf, textOf } from '../../clients/cli/src/outcome.ts'
import { createOutput, fromYaml, openYaml, plain } from '../../clients/cli/src/output.ts'
import { createTerminal } from '../../clients/cli/src/terminal.ts'
import { ApiError, ExactNumber, WriteError, writeJson, type Detail } from '../../clients/typescript/src/index.ts'

const refusal = (message: string, details: Detail[]) =>
  new ApiError(400, { error: { code: 'invalid_request', message, details } }, new Headers({ 'x-request-id': 'r' }))

describe('progress', () => {
  it('is overwritten by the next, and what follows begins on a line of its own', () => {
    let shown = ''
    const { write, note, end } = createTerminal(
      (text) => (shown += text),
      (text) => (shown += text),
      true,
    )
    note('\r10 records')
    note('\r200000 records')
    write('stream st_1\n')
    note('\rfinished 100 %')
    note('the job has ended')
    note('\rcompiling')
    note('\r')
    note('compiled')
    note('\rmore')
    end()
    end()
    expect(shown.replaceAll('\u001b[K', '')).toBe(
      '\r10 records\r200000 records\nstream st_1\n\rfinished 100 %\nthe job has ended\n\rcompiling\rcompiled\n\rmore\n',
    )
  })

  it('is for terminals alone', () => {
    let shown = ''
    const { write, note } = createTerminal(
      (text) => (shown += text),
      (text) => (shown += text),
      false,
    )
    note('\r10 records')
    note('done')
    write('x\n')
    expect(shown).toBe('done\nx\n')
  })
})

describe('a table', () => {
  it('of nothing is a sentence for people, and an empty list for programs', () => {
    const shown = (format: 'table' | 'json') => {
      let [text, note] = ['', '']
      const out = createOutput(
        format,
        (each) => (text += each),
        (each) => (note += each),
      )
      out.many([] as { id: string }[], { id: ({ id }) => id }, 'there are no pipelines')
      return [text, note]
    }
    expect(shown('table')).toEqual(['', 'there are no pipelines'])
    expect(shown('json')).toEqual(['[]\n', ''])
  })
})

describe('text for a terminal', () => {
  it('has its controls as JSON escapes them, so that JSON stays JSON', () => {
    expect(plain('a\n\t\u001b[2Jé')).toBe('a\\n\\t\\u001b[2Jé')
    const controls = String.fromCharCode(...Array.from({ length: 0xa0 }, (_, code) => code), 0x2028, 0x2029)
    const json = JSON.stringify({ controls })
    expect(plain(json)).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
    expect(JSON.parse(plain(json))).toEqual({ controls })
    expect(plain('\u009b2J\u007f\u2028')).toBe('\\u009b2J\\u007f\\u2028')
  })
})

describe('YAML', () => {
  it('is read as what it says: merged, and every digit', () => {
    const text = 'base: &base { a: 1, b: 2 }\nown: { <<: *base, b: 12.50 }\nbig: 9007199254740993\nhex: 0x1f\nlarge: 1e+30\n'
    expect(writeJson(fromYaml(text))).toBe('{"base":{"a":1,"b":2},"own":{"a":1,"b":12.50},"big":9007199254740993,"hex":31,"large":1e+30}')
  })

  it.each([
    'url: !env URL',
    'n: .inf',
    'n: -.inf',
    'n: .nan',
    'n: 0x20000000000001',
    'n: +9007199254740993',
    'b: !!binary aGk=',
    's: !!set { a }',
    'a: [',
  ])('is refused with its line where it would become another value: %s', (wrong) => {
    expect(() => fromYaml(`set: shop\n${wrong}\n`)).toThrow(/line [23]/)
  })
})

describe('what was done', () => {
  it.each([
    ['table', '', 'x is paused'],
    ['json', '{"id":"pl_1","status":"paused"}\n', ''],
    ['yaml', '---\nid: pl_1\nstatus: paused\n', ''],
  ] as const)('is a sentence for people, and a value for programs: %s', (format, out, said) => {
    let [text, note] = ['', '']
    const { done } = createOutput(
      format,
      (each) => (text += each),
      (each) => (note += each),
    )
    done({ id: 'pl_1', status: 'paused' }, 'x is paused')
    expect([text, note]).toEqual([out, said])
  })
})

describe('one thing', () => {
  it('has a table of things whose members are short, and YAML of others', () => {
    let shown = ''
    const out = createOutput(
      'table',
      (each) => (shown += each),
      () => {},
    )
    const lag = new ExactNumber('9007199254740993')
    out.one({
      id: 'pl_1',
      partitions: [
        { partition: 0, position: '1', lag, reason: null },
        { partition: 10, position: '2\u001b[2J', lag: 0, more: true },
      ],
      tasks: [{ task: 0, partitions: [{ partition: 0, position: 'so much that it has no room in a cell of sixty' }] }],
    })
    expect(shown).toBe(
      [
        'id          pl_1',
        'partitions',
        '  PARTITION  POSITION    LAG               REASON  MORE',
        '  0          1           9007199254740993  -       -',
        '  10         2\\u001b[2J  0                 -       true',
        'tasks',
        '  - task: 0',
        '    partitions:',
        '      - partition: 0',
        '        position: so much that it has no room in a cell of sixty',
        '',
      ].join('\n'),
    )
  })

  it('has its members below each other, long ones as YAML, and its id once', () => {
    let shown = ''
    const out = createOutput(
      'table',
      (each) => (shown += each),
      () => {},
    )
    const source = { connector: 'stream', config: { stream_id: 'st_1', start: 'earliest', note: 'a long one\u001b[2J with a control' } }
    out.one({ id: 'pl_1', pipeline_id: 'pl_1', stream_id: 'st_1', source, sink: { stream_id: 'st_2' }, steps: [], reason: null })
    expect(shown).toBe(
      [
        'id         pl_1',
        'stream_id  st_1',
        'source',
        '  connector: stream',
        '  config:',
        '    stream_id: st_1',
        '    start: earliest',
        '    note: "a long one\\e[2J with a control"',
        'sink       {"stream_id":"st_2"}',
        'steps      []',
        'reason     -',
        '',
      ].join('\n'),
    )
  })
})

describe('JSON for programs', () => {
  it.each(['json', 'ndjson'] as const)('can be shown on a terminal too: %s', (format) => {
    let text = ''
    const out = createOutput(
      format,
      (each) => (text += each),
      () => {},
    )
    const value = { 'a\u009b': '\u009b2J\u007f\u2028\n' }
    out.one(value)
    out.many([value], {})
    out.next(value, () => '')
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028]/u)
    expect(JSON.parse(text.slice(text.lastIndexOf('\n', text.length - 2)))).toEqual(value)
  })
})

describe('an error', () => {
  it('says each of its details once', () => {
    const details = [
      { path: '/records/0/id', message: 'is required' },
      { path: '', message: 'the body is $& wrong' },
    ]
    const error = refusal('invalid request: /records/0/id: is required; the body is $& wrong (and 3 more)', details)
    expect(textOf(outcomeOf(error).told)).toBe('dps: invalid request\n  /records/0/id: is required\n  the body is $& wrong\n  request r')
    expect(textOf(outcomeOf(new WriteError(7, error)).told)).toBe(
      'dps: invalid request (7 records were written before)\n  /records/7/id: is required\n  the body is $& wrong\n  request r',
    )
    // Another message stays whole.
    expect(textOf(outcomeOf(refusal('no: really', details)).told)).toContain('dps: no: really\n  /records/0/id: is required')
  })

  it('of a file of records names its line', async () => {
    const details = [
      { path: '/records/2/id', message: 'is required' },
      { path: '/records/3', message: 'must be object' },
    ]
    const error = new WriteError(7, refusal('invalid request: /records/2/id: is required; /records/3: must be object', details))
    expect(error).toMatchObject({ status: 400, requestId: 'r' })
    const told = async (file: string | undefined) => {
      const thrown: unknown = await ofInput(file, (record) => record * 2, Promise.reject(error)).catch((each: unknown) => each)
      return outcomeOf(thrown).told
    }
    const head = 'dps: invalid request (7 records were written before)'
    expect(textOf(await told('a.csv'))).toBe(`${head}\n  a.csv:18: /id: is required\n  a.csv:20: must be object\n  request r`)
    expect(textOf(await told(undefined))).toBe(`${head}\n  line 18: /id: is required\n  line 20: must be object\n  request r`)
    expect((await told('a.csv')).details?.[0]).toEqual({ path: '/records/9/id', message: 'is required', line: 18, file: 'a.csv' })
  })

  it('of a manifest names the place of the member, or of the one around it', () => {
    const text = 'dps: 1\n# streams\nstreams:\n  "a/b": &s { schema: { n: integer }, partitions: many }\n  c: *s\nlist:\n  - 1\n  - x: 2\n'
    const at = (pointer: string) => Object.values(openYaml(text).placeOf(pointer))
    expect(at('/streams/a~1b/partitions')).toEqual([4, 51])
    expect(at('/streams/a~1b')).toEqual([4, 3])
    expect(at('/streams/a~1b/none/deeper')).toEqual([4, 3])
    expect(at('/streams/c/partitions')).toEqual([4, 51])
    expect(at('/list/1/x')).toEqual([8, 8])
    expect(at('/list/5')).toEqual([6, 1])
    expect(at('')).toEqual([1, 1])
  })

  it('of a source names its file, line and column, as the compiler does', async () => {
    const details = [
      { path: '/processors/0/source/code', message: "cannot find name 'lest'", line: 13, column: 17 },
      { path: '/name', message: 'is taken' },
    ]
    const error = refusal("invalid request: /processors/0/source/code: cannot find name 'lest'; /name: is taken", details)
    const thrown: unknown = await ofSource('broken.ts', Promise.reject(error)).catch((each: unknown) => each)
    const { exit, told } = outcomeOf(thrown)
    expect(exit).toBe(2)
    expect(textOf(told)).toBe("dps: invalid request\n  broken.ts:13:17: cannot find name 'lest'\n  /name: is taken\n  request r")
    expect(told.details?.[0]).toMatchObject({ line: 13, column: 17, file: 'broken.ts' })
  })

  it('advises in the words of the command line', () => {
    const advice = 'name it in "replace" to delete it'
    expect(readFileSync(join('services', 'control-plane', 'manifests', 'plan.ts'), 'utf8')).toContain(advice)
    const text = textOf(outcomeOf(refusal(`invalid request: /a: ${advice}`, [{ path: '/a', message: advice }])).told)
    expect(text).toBe('dps: invalid request\n  /a: pass --replace with its name to delete it\n  request r')
  })
})

describe('things that come one after the other', () => {
  it.each([
    ['table', 'line\nline\n'],
    ['json', '{"n":1}\n{"n":2}\n'],
    ['ndjson', '{"n":1}\n{"n":2}\n'],
    ['yaml', '---\nn: 1\n---\nn: 2\n'],
  ] as const)('are printed as %s', (format, expected) => {
    let shown = ''
    const { next } = createOutput(
      format,
      (text) => (shown += text),
      () => {},
    )
    for (const n of [1, 2]) next({ n }, () => 'line')
    expect(shown).toBe(expected)
  })
})

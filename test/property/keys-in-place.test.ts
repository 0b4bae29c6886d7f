/** The SDK's JSON reader expects the keys of the document before in their places: that must not change what it reads of any document. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { isJson } from '../harness/is-json.ts'
import { openTestChain, type TestChain } from '../harness/chains.ts'

/** Members that are looked up by their names. */
const FOUND = ['a', 'ab', 'é', '', 'fourteen_bytes', 'absent']
/** Writes each member's key and value, as they stand in the document, and then those that are found by their names. */
const MEMBERS = `import { Kind, Record, Segment, findMember, keyEnd, keyStart, memberCount, valueEnd, valueStart } from 'dps'
const found = ${JSON.stringify(FOUND)}.map<Segment>((name: string) => new Segment(name))
export function map(record: Record): void {
  if (record.kind != Kind.Object) return
  const out = record.writer()
  out.byte(91)
  for (let i = 0; i < memberCount; i++) {
    if (i > 0) out.byte(44)
    out.byte(34)
    out.bytes(keyStart(i), keyEnd(i) - keyStart(i))
    out.byte(34)
    out.byte(44)
    out.bytes(valueStart(i), valueEnd(i) - valueStart(i))
  }
  for (let k = 0; k < found.length; k++) {
    const i = findMember(found[k])
    out.byte(32)
    if (i >= 0) out.bytes(valueStart(i), valueEnd(i) - valueStart(i))
  }
  out.byte(93)
  record.commit(out)
}`
let chain: TestChain
beforeAll(async () => {
  chain = await openTestChain([{ name: 'own', config: {} }], { own: await WebAssembly.compile(await compileSmartModule(MEMBERS)) })
})

/** Keys that differ little, and are as long as what is compared at once. */
const KEYS = [
  'a',
  'b',
  'a',
  'ab',
  '',
  'é',
  '\\u0061',
  'a\\"',
  'twelve_bytes',
  'twelve_bytez',
  'fourteen_bytes',
  'fifteen_bytes_',
  'sixteen_bytes_xy',
]
const space = fc.constantFrom('', '', '', ' ', '\n ')
const numbers = [
  '0',
  '-1',
  '10',
  '1.5',
  '0.25',
  '-0.5',
  '123456789012345',
  '1234567890123456',
  '12345678901234.5',
  '1.2345678901234567',
  '1e5',
  '1.5E-3',
]
const flat = fc.constantFrom(
  ...numbers,
  'true',
  'null',
  '""',
  '"x"',
  '"a text of seventeen"',
  `"${'long '.repeat(40)}"`,
  '{"a":1}',
  '[1,2.5]',
  '{}',
)
const wrong = fc.constantFrom(
  '01',
  '1.',
  '.5',
  '1.e3',
  '1..2',
  '-',
  '1.5.2',
  '00.5',
  '123456789012345.',
  'tru',
  '"\t"',
  `"${'y'.repeat(70)}\n"`,
  '"',
  '',
)
/** Objects in objects and arrays, whose keys take each other's places. */
const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 30, arbitrary: flat },
    { weight: 1, arbitrary: wrong },
    { weight: 6, arbitrary: tie('object') },
    { weight: 3, arbitrary: fc.tuple(space, fc.array(tie('object'), { maxLength: 4 })).map(([a, items]) => `[${items.join(`${a},`)}]`) },
  ),
  object: fc
    .array(fc.tuple(fc.constantFrom(...KEYS), space, space, tie('value'), space), { maxLength: 4 })
    .map((members) => `{${members.map(([key, a, b, each, c]) => `${a}"${key}"${b}:${c}${each}${a}`).join(',')}}`),
}))
const member = fc.tuple(fc.constantFrom(...KEYS), space, space, value, space)
const broken = fc.constantFrom(
  '{"a"',
  '{"a":',
  '{"a:1}',
  '{"a""b":1}',
  '{"a":1,}',
  '{"a":1 "b":2}',
  '{"ab":1',
  '{"twelve_bytes',
  '{"twelve_bytes"',
  '{"twelve_bytes":',
  '{"a":{"a"',
  '{"a":{"a":',
  '{"a":{"ab":1',
  '{"a":[{"a":1},{"ab"',
  '{"a":1,"ab":{"a":1,}}',
)
const nameOf = (key: string): unknown => JSON.parse(`"${key}"`)
const document = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.array(member, { maxLength: 5 }).map((members) => ({
      text: `{${members.map(([key, a, b, each, c]) => `${a}"${key}"${b}:${c}${each}`).join(',')}}`,
      listed:
        `[${members.map(([key, , , each]) => `"${key}",${each}`).join(',')}` +
        `${FOUND.map((name) => ` ${members.findLast(([key]) => nameOf(key) === name)?.[3] ?? ''}`).join('')}]`,
    })),
  },
  { weight: 1, arbitrary: broken.map((text) => ({ text, listed: '' })) },
)

describe('the members of a document', () => {
  it('are those that it has, whatever the document before it had', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(document, { minLength: 30, maxLength: 120 }), async (documents) => {
        const { values, failures } = await chain.run(documents.map(({ text }) => text))
        const bad = documents.flatMap(({ text }, delta) => (isJson(text) ? [] : [delta]))
        expect(failures.map(({ delta }) => delta)).toEqual(bad)
        expect(values).toEqual(documents.filter(({ text }) => isJson(text)).map(({ listed }) => listed))
      }),
      { numRuns: 400 },
    )
  })

  it('are those that an expression asks for', async () => {
    const asked = '[has(value.a), value.?ab.orValue(1), value[?"é"].orValue(2), has(value.twelve_bytes) ? value["twelve_bytes"] : 3]'
    const cel = await openTestChain([{ name: 'dps/cel', config: { emit: [asked] } }])
    const of = (text: string) => {
      const own = new Map(Object.entries(JSON.parse(text) as Record<string, unknown>))
      const valueOf = (name: string, none: number) => (own.has(name) ? own.get(name) : none)
      return [own.has('a'), valueOf('ab', 1), valueOf('é', 2), valueOf('twelve_bytes', 3)]
    }
    await fc.assert(
      fc.asyncProperty(fc.array(document, { minLength: 30, maxLength: 120 }), async (documents) => {
        const texts = documents.map(({ text }) => text).filter(isJson)
        const { values, failures } = await cel.run(texts)
        expect(failures).toEqual([])
        expect(values.map((value) => JSON.parse(value!) as unknown)).toEqual(texts.map(of))
      }),
      { numRuns: 150 },
    )
  })
})

/** What a step tells the next one of its records' members (docs/specs/abi.md): it must not change any result, whatever it says. */
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { compileCached } from '../../shared/smartmodule/compile-cache.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { encodeRecords } from '../../shared/kafka/protocol/record-batch.ts'
import { toBinary } from '../attack/modules/module-builder.ts'
import { openTestChain, type ChainResult } from '../harness/chains.ts'
import type { Step } from '../harness/pipelines.ts'

const FILTER = join(import.meta.dirname, '..', '..', 'shared', 'smartmodule', 'catalogue', 'filter', 'module.ts')

/** Changes the record, and goes on with what it has changed; or leaves it; or makes several of it. */
const CHANGES = `import { Record, Segment } from 'dps'
const a = new Segment('a')
export function map(record: Record): void { if (record.offset % 2 == 0) record.setInteger(a, record.offset) }`
const REWRITES = `import { Record, Segment } from 'dps'
const a = new Segment('a')
export function map(record: Record): void {
  if (record.offset % 3 == 0) return
  record.setInteger(a, record.offset)
  const writer = record.writer()
  writer.bytes(record.start, record.end - record.start)
  record.commit(writer)
  if (record.end - record.start != 7) return
  // An array as long as the object, where the object was: its members are forgotten.
  const other = record.writer()
  other.bytes(record.start, 7)
  store<u8>(other.start, 91)
  store<u8>(other.start + 4, 44)
  store<u8>(other.start + 6, 93)
  record.commit(other)
}`
const REPEATS = `import { Record, emit, emitJson } from 'dps'
export function arrayMap(record: Record): void {
  emit(record.start, record.end)
  emitJson('{"a":1,"b":{"c":2}}')
  emit(record.start, record.end)
}`
/** Sets a member, and keeps what came: a filter's changes are not written. */
const SETS = `import { Record, Segment } from 'dps'
const a = new Segment('a')
export function filter(record: Record): bool { record.setInteger(a, 12345); return true }`
const FAILS = `import { Record } from 'dps'
export function filter(record: Record): bool {
  if (record.offset % 4 == 1) record.fail('as asked')
  return record.offset % 4 != 2
}`
const modules: Record<string, WebAssembly.Module> = {}
beforeAll(async () => {
  const sources = { changes: CHANGES, rewrites: REWRITES, repeats: REPEATS, sets: SETS, fails: FAILS }
  for (const [name, source] of Object.entries(sources)) modules[name] = await WebAssembly.compile(await compileSmartModule(source))
  modules.keeps = await WebAssembly.compile(new Uint8Array(toBinary(KEEPS)))
})

const OWN = ['changes', 'rewrites', 'repeats', 'sets', 'fails']
const STEPS: Step[] = [
  ...OWN.map((name) => ({ name, config: {} })),
  { name: 'dps/filter', config: { field: 'a', operator: 'ne', value: 3 } },
  { name: 'dps/filter', config: { field: 'b.c', operator: 'exists', value: false } },
  { name: 'dps/cel', config: { filter: 'has(value.a) || has(value.b) || true' } },
  { name: 'dps/cel', config: { set: { d: 'has(value.a)' } } },
  { name: 'dps/map-fields', config: { uppercase: ['a', 'b.c'] } },
  { name: 'dps/map-fields', config: { rename: { a: 'e' } } },
  { name: 'dps/redact', config: { fields: { a: 'mask' } } },
  { name: 'dps/flatten', config: {} },
  { name: 'dps/cast', config: { fields: { a: { type: 'string', on_failure: 'keep' } } } },
  { name: 'dps/route-by', config: { fields: ['a'] } },
  { name: 'dps/timestamp', config: { field: 'a', on_failure: 'keep' } },
  { name: 'dps/lookup', config: { field: 'a', into: 'd', table: { x: 1, 1: 2 } } },
  { name: 'dps/parse', config: { field: 'b', format: 'json', into: 'd', on_failure: 'keep' } },
  { name: 'dps/explode', config: { field: 'b', on_empty: 'keep' } },
  { name: 'dps/sample', config: { share: 0.7, by: 'a' } },
  { name: 'dps/validate', config: { schema: { properties: { a: { type: 'number' } } }, on_invalid: 'keep', report: 'd' } },
  { name: 'dps/text-classifier', config: { field: 'a', output_field: 'd', labels: { x: { keywords: ['x'] }, y: { keywords: ['y'] } } } },
]

/** Documents whose members' names collide, need escapes, or are many; some are no object, not JSON, or null. */
const space = fc.constantFrom('', ' ', '\n\t')
const name = fc.oneof(
  fc.constantFrom('a', 'b', 'c', 'a', '\\u0061', 'a\\"b', ''),
  fc.string({ maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
)
const leaf = fc.oneof(
  fc.constantFrom(
    '1',
    '-0.5e3',
    '18446744073709551616',
    'true',
    'null',
    '"x"',
    '"a long text of more than sixteen bytes"',
    '"\\u00e4\\\\"',
    '"ä"',
  ),
  fc.string({ maxLength: 30 }).map((text) => JSON.stringify(text)),
)
const value = fc.letrec<{ node: string; object: string }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    leaf,
    tie('object'),
    fc.array(leaf, { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
  ),
  object: fc
    .tuple(space, fc.array(fc.tuple(name, space, tie('node')), { maxLength: 6 }))
    .map(([s, members]) => `{${s}${members.map(([key, t, each]) => `"${key}"${t}:${s}${each}${t}`).join(',')}${s}}`),
}))
const record = fc.oneof(
  { weight: 12, arbitrary: value.object },
  { weight: 1, arbitrary: leaf },
  { weight: 1, arbitrary: fc.constantFrom('{"a":}', '', '{"a":1}x', null) },
)
const large = fc.integer({ min: 65_400, max: 65_600 }).map((size) => `{"a":"${'x'.repeat(size)}","b":1}`)

/** The same by chains of one step each: no step is told anything. */
async function oneByOne(steps: Step[], values: (string | null)[]): Promise<{ values: (string | null)[]; failed: number }> {
  let now = values
  let failed = 0
  for (const step of steps) {
    if (now.length === 0) break
    const result = await (await openTestChain([step], modules)).run(now)
    failed += result.failures.length
    now = result.values
  }
  return { values: now, failed }
}

/** Keeps everything as it is, and neither reads nor tells members. */
const KEEPS = `(module (memory (export "memory") 200 200)
  (global (export "dps_abi_1") i32 (i32.const 1))
  (func (export "dps_alloc") (param i32) (result i32) (i32.const 65536))
  (func (export "dps_init") (param i32 i32) (result i32) (i32.const 0))
  (func (export "dps_process") (param i32 i32 i32 i32 i64 i64 i64 i32) (result i32)
    (i32.store (i32.const 64) (local.get 0)) (i32.store (i32.const 68) (local.get 1)) (i32.store (i32.const 72) (local.get 2))
    (i32.const 64)))`

type Guest = {
  _initialize(): void
  memory: WebAssembly.Memory
  dps_alloc(length: number): number
  dps_init(at: number, length: number): number
  dps_members(length: number): number
  dps_process(
    at: number,
    length: number,
    count: number,
    partition: number,
    offset: bigint,
    time: bigint,
    last: bigint,
    attributes: number,
  ): number
}

describe('members passed on from step to step', () => {
  it('change no result', async () => {
    await fc.assert(
      fc.asyncProperty(
        // A chain counts the failures of records that were made of one as one.
        fc.array(fc.constantFrom(...STEPS.filter(({ name: each }) => ![...OWN, 'dps/explode'].includes(each))), {
          minLength: 2,
          maxLength: 5,
        }),
        fc.array(fc.oneof({ weight: 40, arbitrary: record }, { weight: 1, arbitrary: large }), { minLength: 1, maxLength: 12 }),
        async (steps, values) => {
          const together = await (await openTestChain(steps, modules)).run(values)
          const apart = await oneByOne(steps, values)
          expect(together.values).toEqual(apart.values)
          expect(together.failures.length).toBe(apart.failed)
        },
      ),
      { numRuns: 150 },
    )
  })

  it('follow records that a module changes, repeats, drops or fails', async () => {
    const follow = (result: ChainResult) => ({ values: result.values, failures: result.failures.map(({ delta, step }) => [delta, step]) })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...OWN),
        fc.constantFrom(...OWN),
        fc.constantFrom(...STEPS),
        fc.array(record, { minLength: 1, maxLength: 12 }),
        async (first, second, last, values) => {
          const steps: Step[] = [{ name: first, config: {} }, { name: second, config: {} }, last]
          const together = follow(await (await openTestChain(steps, modules)).run(values))
          // A step of the kind that reads no JSON members in between: it keeps everything, and tells nothing.
          const between: Step = { name: 'keeps', config: {} }
          const apart = await (
            await openTestChain(
              steps.flatMap((step) => [step, between]),
              modules,
            )
          ).run(values)
          expect(together).toEqual({ ...follow(apart), failures: apart.failures.map(({ delta, step }) => [delta, step / 2]) })
        },
      ),
      { numRuns: 150 },
    )
  })

  it('may be anything at all: the step that reads them comes to an end', async () => {
    const { exports } = await WebAssembly.instantiate(
      await WebAssembly.compile(await compileCached(FILTER, 'smartmodule', cacheFolder())),
      { env: { abort: () => {} }, dps: { count: () => {}, observe: () => {} } },
    )
    const { memory, dps_alloc, dps_init, dps_members, dps_process, _initialize } = exports as unknown as Guest
    _initialize()
    const put = (bytes: Uint8Array, at: number) => void new Uint8Array(memory.buffer).set(bytes, at)
    const init = Buffer.from(
      JSON.stringify({ config: { field: 'a.b', operator: 'eq', value: 'x' }, input_format: 'json', writes_members: true }),
    )
    const at = dps_alloc(init.length)
    put(init, at)
    expect(dps_init(at, init.length)).toBe(0)
    const section = encodeRecords(
      Array.from({ length: 4 }, (_, offsetDelta) => ({
        offsetDelta,
        timestampDelta: 0n,
        key: null,
        value: Buffer.from('{"a":{"b":"x"},"c":[1,2]}'),
        headers: [],
      })),
    )
    let [ended, returned] = [0, 0]
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 65_535 })), { maxLength: 60 }), (words) => {
        const members = new Uint8Array(new Uint16Array(words).buffer)
        const input = dps_alloc(section.length)
        put(section, input)
        put(members, dps_members(members.length))
        try {
          dps_process(input, section.length, 4, 0, 0n, 0n, 0n, 0)
          returned++
        } catch (error) {
          expect(error).toBeInstanceOf(WebAssembly.RuntimeError)
        }
        ended++
      }),
      { numRuns: 2000 },
    )
    expect(ended).toBe(2000)
    expect(returned).toBeGreaterThan(100)
  })
})

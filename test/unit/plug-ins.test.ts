/** Modules made with the SDKs of Extism, Redpanda and Fluvio, unchanged: what they make of records, and what their failures lead to. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inspectBinary } from '../../services/control-plane/workshop/inspect.ts'
import { decodeTransformRecord, encodeTransformRecord } from '../../shared/smartmodule/host/plug-ins/transform-record.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { extism, toBinary } from '../attack/modules/module-builder.ts'
import { openTestChain, type ChainResult } from '../harness/chains.ts'
import { buildGo, buildGoPlugin } from '../harness/compiled-fixtures.ts'
import { limitMs } from '../harness/machine-speed.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const RUST = join(import.meta.dirname, '..', 'fixtures', 'smartmodules', 'rust')
const rust = (name: string) => readFile(join(RUST, `${name}.wasm`))

/** A chain of one module, of the kind that its inspection finds. */
async function open(upload: Uint8Array, config: Record<string, unknown> = {}) {
  const { kind, extismFunction, binary } = inspectBinary(upload)
  const how = { kind, ...(extismFunction ? { extismFunction } : {}) }
  return openTestChain([{ name: 'it', config }], { it: await WebAssembly.compile(binary) }, undefined, how)
}
const shown = ({ records }: ChainResult) =>
  records.map(({ key, value, headers }) => [
    key?.toString() ?? null,
    value?.toString() ?? null,
    Object.fromEntries(headers.map(([name, bytes]) => [name, bytes?.toString() ?? null])),
  ])
const reasons = ({ failures }: ChainResult) => failures.map(({ delta, code, message }) => [delta, code, message])
const refusal = (upload: Uint8Array) => {
  try {
    inspectBinary(upload)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

describe('a data transform of Redpanda', () => {
  it(
    'in Go drops, changes and multiplies records, and its failures are the records’ own',
    { timeout: limitMs(300_000) },
    async (context) => {
      const binary = await buildGo('go-redpanda')
      if (!binary) return context.skip('there is no Go on this machine, or no way to its modules')
      const chain = await open(binary, { LEVEL: 'error' })
      const error = (more: object = {}) => JSON.stringify({ level: 'error', ...more })
      const result = await chain.run([
        error(),
        '{"level":"info"}',
        null,
        error({ lines: ['a', 'b'] }),
        'x',
        error({ panic: true }),
        error(),
      ])
      expect(shown(result)).toEqual([
        ['error', error(), { h: '\0', offset: '0' }],
        ['k2', null, { h: '\u0002' }],
        ['error', '{"line":"a"}', { h: '\u0003', offset: '3' }],
        ['error', '{"line":"b"}', { h: '\u0003', offset: '3' }],
        ['error', error(), { h: '\u0006', offset: '6' }],
      ])
      expect(reasons(result).map(([delta, code]) => [delta, code])).toEqual([
        [4, 'module_trapped'],
        [5, 'module_trapped'],
      ])
      expect(result.failures[0]!.message).toContain('invalid character')
      expect(result.failures[1]!.message).toContain('as told')
    },
  )

  it('in Rust goes on after a batch, and after a record at which it ended', async () => {
    const chain = await open(await rust('redpanda-upper'))
    for (let i = 0; i < 3; i++) {
      const result = await chain.run(['abc', 'bad', 'dé', 'panic', ''])
      expect(result.values).toEqual(['ABC', 'Dé', ''])
      expect(result.failures.map(({ delta }) => delta)).toEqual([1, 3])
      expect(result.failures[0]!.message).toContain('user error')
    }
  })

  it('can write to its own output alone', async () => {
    const result = await (await open(await rust('redpanda-upper'), { REDPANDA_OUTPUT_TOPIC_1: 'elsewhere' })).run(['a', '!b', 'c'])
    expect(result.values).toEqual(['A', 'C'])
    expect(reasons(result)).toMatchObject([[1, 'module_trapped', expect.stringContaining('transforming record failed')]])
  })

  it('reads and writes every record', () => {
    const bytes = fc.option(fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each)))
    const header = fc.tuple(fc.string({ unit: 'grapheme', maxLength: 10 }), bytes)
    fc.assert(
      fc.property(fc.record({ key: bytes, value: bytes, headers: fc.array(header, { maxLength: 4 }) }), (transformed) => {
        expect(decodeTransformRecord(encodeTransformRecord(transformed))).toEqual(transformed)
      }),
    )
    // Worked out by hand: key "k", no value, a header h with the value v.
    const transformed = { key: Buffer.from('k'), value: null, headers: [['h', Buffer.from('v')]] as [string, Buffer][] }
    expect(encodeTransformRecord(transformed).toString('hex')).toBe('026b010202680276')
  })
})

describe('an Extism plug-in', () => {
  it('in Go says why it ended', { timeout: limitMs(300_000) }, async (context) => {
    const binary = await buildGoPlugin('map')
    if (!binary) return context.skip('there is no Go on this machine, or no way to its modules')
    const { values, failures } = await (await open(binary)).run(['{"name":"a"}', '{"name":"panic"}', '{"name":"b"}'])
    expect(values.map((value) => JSON.parse(value!).name)).toEqual(['A', 'B'])
    expect(failures).toMatchObject([{ delta: 1, code: 'module_trapped', message: expect.stringMatching(/: panic: as told/) }])
  })
})

describe('a SmartModule of Fluvio', () => {
  it('filters with its parameters, and stops at no error', async () => {
    const chain = await open(await rust('fluvio-filter-param'), { contains: 'a' })
    const result = await chain.run(['abc', 'xyz', 'boom', 'cab', null, 'panic', 'bar', 'boom'])
    expect(result.values).toEqual(['abc', 'cab', null, 'bar'])
    expect(reasons(result).toSorted()).toEqual([
      [2, 'record_failed', 'boom at offset 2 ts 1002'],
      [5, 'module_trapped', expect.stringContaining('unreachable')],
      [7, 'record_failed', 'boom at offset 7 ts 1007'],
    ])
  })

  it('says what it misses in its config', async () => {
    await expect(open(await rust('fluvio-filter-param'))).rejects.toThrow('failed while starting: Missing param contains')
  })

  it.for(['fluvio-map-upper', 'fluvio-map-upper-wasip1'])('maps values (%s) and keeps key and headers', async (name) => {
    const result = await (await open(await rust(name))).run(['abc', 'ä'])
    expect(shown(result)).toEqual([
      ['k0', 'ABC@0/1000', { h: '\0' }],
      ['k1', 'Ä@1/1001', { h: '\u0001' }],
    ])
  })

  it('drops records, and gives others a key', async () => {
    const result = await (await open(await rust('fluvio-filter-map-even'))).run(['1', '2', 'x', '4'])
    expect(shown(result).map(([key, value]) => [key, value])).toEqual([
      ['even-2', '1'],
      ['even-4', '2'],
    ])
    expect(reasons(result)).toEqual([[2, 'record_failed', 'invalid digit found in string']])
  })

  it('makes several records of one, and does not grow for ever', async () => {
    const chain = await open(await rust('fluvio-array-map-words'))
    expect((await chain.run(['a b c', '', 'd'])).values).toEqual(['a', 'b', 'c', 'd'])
    const long = 'word '.repeat(20_000)
    for (let i = 0; i < 80; i++) expect((await chain.run([long])).values.length).toBe(20_000)
    expect(chain.memoryBytes(0)).toBeLessThan(40 << 20)
  })

  it('behind a step that makes several records of one keeps each with its own headers', async () => {
    const { kind, binary } = inspectBinary(await rust('fluvio-filter-param'))
    const twice = `import { Record, emitJson } from 'dps'
export function arrayMap(record: Record): void {
  for (let i = 0; i < 2; i++) {
    const name = i == 0 ? 'first' : 'second'
    const bytes = String.UTF8.encode(name)
    record.setHeader('which', changetype<usize>(bytes), bytes.byteLength)
    emitJson('"' + (i == 0 ? 'a' : 'b') + '"')
  }
}`
    const modules = { it: await WebAssembly.compile(binary), twice: await WebAssembly.compile(await compileSmartModule(twice)) }
    const steps = [
      { name: 'twice', config: {}, kind: 'batch' as const },
      { name: 'it', config: { contains: 'a' } },
    ]
    const result = await (await openTestChain(steps, modules, undefined, { kind })).run(['{}', '{}'])
    expect(shown(result)).toEqual([
      ['k0', '"a"', { h: '\0', which: 'first' }],
      ['k1', '"a"', { h: '\u0001', which: 'first' }],
    ])
  })

  it('that refuses all records comes to an end soon', async () => {
    const chain = await open(await rust('fluvio-filter-param'), { contains: 'a' })
    const result = await chain.run(Array.from({ length: 20_000 }, () => 'boom'))
    expect(result.failures.length).toBe(20_000)
  })

  it('of an old SDK runs too', async () => {
    expect((await (await open(await rust('fluvio-map-0.4.0'))).run(['abc', 'd'])).values).toEqual(['ABC', 'D'])
  })

  it('that keeps state is refused', async () => {
    expect(refusal(await rust('fluvio-look-back-max'))).toBe('the module exports look_back: Fluvio modules that keep state do not run here')
  })
})

describe('an Extism plug-in', () => {
  it('that says what is wrong fails its record, whatever it returns', async () => {
    const says = toBinary(`(module
      (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
      (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
      (import "extism:host/env" "error_set" (func $error (param i64)))
      (memory (export "memory") 1 1)
      (func (export "map") (local $at i64)
        (local.set $at (call $alloc (i64.const 2)))
        (call $store (local.get $at) (i32.const 110)) (call $store (i64.add (local.get $at) (i64.const 1)) (i32.const 111))
        (call $error (local.get $at))))`)
    expect(reasons(await (await open(says)).run(['x']))).toEqual([[0, 'record_failed', 'no']])
  })
})

describe('a record that a plug-in makes thousands of, with all that they keep of it,', () => {
  const ELEMENTS = 2000
  const zeros = extism(
    'array_map',
    `(local.set $a (call $host_alloc (i64.const ${2 * ELEMENTS + 1})))
    (call $host_store_u8 (local.get $a) (i32.const 91))
    (loop $next
      (local.set $b (i64.add (local.get $a) (i64.add (i64.mul (local.get $i) (i64.const 2)) (i64.const 1))))
      (call $host_store_u8 (local.get $b) (i32.const 48))
      (call $host_store_u8 (i64.add (local.get $b) (i64.const 1)) (i32.const 44))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br_if $next (i64.lt_u (local.get $i) (i64.const ${ELEMENTS}))))
    (call $host_store_u8 (i64.add (local.get $a) (i64.const ${2 * ELEMENTS})) (i32.const 93))
    (call $host_output_set (local.get $a) (i64.const ${2 * ELEMENTS + 1}))
    (i32.const 0)`,
  )
  const large = (index: number) => Buffer.alloc(index === 0 ? 1 << 20 : 1, 'k')

  it.each(['key', 'header'])('is the one to fail for a large %s, and its neighbour is delivered', async (part) => {
    const chains = [await open(toBinary(zeros)), await open(await rust('fluvio-array-map-words'))]
    for (const chain of chains) {
      // Fluvio's modules give each output a key of their own; the headers are the record's.
      if (part === 'key' && chain !== chains[0]) continue
      const result = await chain.run(
        ['0 '.repeat(ELEMENTS), '0 '.repeat(ELEMENTS)],
        undefined,
        part === 'key' ? large : undefined,
        part === 'header' ? large : undefined,
      )
      expect(reasons(result)).toEqual([[0, 'module_trapped', expect.stringContaining('16 times its input')]])
      expect(result.records.map(({ offsetDelta }) => offsetDelta)).toHaveLength(ELEMENTS)
    }
  })
})

describe('a data transform that is given up', () => {
  it('gives its memory back', async () => {
    const { kind, binary } = inspectBinary(await rust('redpanda-upper'))
    const module = await WebAssembly.compile(binary)
    const before = process.memoryUsage().rss
    for (let i = 0; i < 400; i++) {
      const chain = await openTestChain([{ name: 'it', config: {} }], { it: module }, undefined, { kind })
      await chain.run(['a'])
      chain.close()
      if (i % 50 === 0) collect()
    }
    collect()
    // Each has some 1.1 MiB.
    await expect.poll(() => (collect(), (process.memoryUsage().rss - before) >> 20), { timeout: 20_000 }).toBeLessThan(200)
  })
})

describe('an Extism plug-in in Rust', () => {
  it('gets its config, and its error is the record’s', async () => {
    const result = await (await open(await rust('extism-filter-map'), { level: 'warn' })).run(['{"level":"warn"}', '{"level":"info"}', 'x'])
    expect(result.values).toEqual(['{"level":"warn"}'])
    expect(reasons(result)).toEqual([[2, 'record_failed', 'expected value at line 1 column 1']])
  })
})

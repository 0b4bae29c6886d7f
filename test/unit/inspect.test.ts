/** What an upload's inspection refuses, before anything compiles the binary, and what it bounds. Hostile modules by an outsider. */
import { describe, expect, it } from 'vitest'
import { inspectBinary } from '../../services/control-plane/workshop/inspect.ts'
import { InspectionError, unsigned } from '../../services/control-plane/workshop/wasm-reader.ts'
import { builtInSmartModules } from '../../shared/smartmodule/catalogue/catalogue.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { HOSTILE } from '../attack/modules/hostile-modules.ts'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { limitMs } from '../harness/machine-speed.ts'

/** Modules that are refused later than by the inspection: by the trial start, and by the size of the file. */
const LATER = new Set(['extism-start-loop', 'data-10mb'])
/** Batch modules that import Extism's functions are refused, however they would have misbehaved. */
const isExtismInBatch = (name: string): boolean => /^(endless-host-(block|variables)|trap-by-(input|output|block))/.test(name)
/** Compiling them is the attack: the walk alone must refuse them. */
const isBomb = (name: string): boolean => /^(bomb-(?!spread|empty|out)|nested-|br-table-|operands-|function-of-|locals-)/.test(name)

function outcomeOf(binary: Uint8Array, compiles: boolean): string | undefined {
  try {
    const inspected = inspectBinary(binary)
    if (!compiles) return undefined
    for (const each of [new Uint8Array(binary), inspected.binary]) void new WebAssembly.Module(each)
    return undefined
  } catch (error) {
    if (error instanceof InspectionError || error instanceof WebAssembly.CompileError) return error.message
    throw error
  }
}

describe('a hostile module', () => {
  const uploads = HOSTILE.filter(
    ({ expect: wanted, why, name }) => wanted === 'refused' && !/trial start fails/.test(why) && !LATER.has(name),
  )
  it.each(uploads.map(({ name, why, binary }) => [name, why, binary] as const))('is refused: %s (%s)', (name, _why, binary) => {
    const from = performance.now()
    const reason = outcomeOf(binary(), !isBomb(name))
    expect(reason).toBeTypeOf('string')
    // Names of the module's own are shortened, and can't move the cursor.
    expect(reason!.length).toBeLessThan(1500)
    expect(reason).not.toMatch(/[\u0000-\u001f\u202e]/)
    expect(performance.now() - from).toBeLessThan(limitMs(10_000))
  })

  const running = HOSTILE.filter(({ expect: wanted }) => wanted === 'runs')
  it('is accepted where only its calls misbehave, with bounded memory and tables', () => {
    const wrong = running.filter(({ name, binary }) => (outcomeOf(binary(), true) !== undefined) !== isExtismInBatch(name))
    expect(wrong.map(({ name }) => name)).toEqual([])
  })
})

const IF_END = [0x41, 0, 0x04, 0x40, 0x0b]
const times = (count: number, bytes: readonly number[]): number[] => Array.from({ length: count }, () => bytes).flat()
/** What V8 keeps for each branch is not only locals: operands and parameters cost the same. A reviewer's modules of a few kilobytes. */
const BODIES: [string, number, number[]][] = [
  ['operands of calls', 0, [...times(1000, [0x10, 0]), ...times(1000, IF_END)]],
  ['operands one by one', 0, [...times(100_000, [0x41, 0]), ...times(3000, IF_END)]],
  ['parameters', 100, times(400_000, IF_END)],
  // i8x16.splat and i8x16.abs take what they leave.
  ['SIMD operands', 0, [...times(20_000, [0x41, 0, 0xfd, 15, 0xfd, 96]), ...times(3000, IF_END)]],
  [
    'operands below a branch table',
    0,
    [...times(2000, [0x41, 0]), 0x02, 0x40, 0x41, 0, 0x0e, ...unsigned(9999), ...times(10_000, [0]), 0x0b],
  ],
]

/** A module with a function of a hundred results, and one with these parameters and this body. */
function moduleOf(parameters: number, code: number[]): Uint8Array {
  const section = (id: number, content: number[]) => [id, ...unsigned(content.length), ...content]
  const i32s = (count: number) => [...unsigned(count), ...times(count, [0x7f])]
  const bodyOf = (bytes: number[]) => [...unsigned(bytes.length + 3), 0, ...bytes, 0x00, 0x0b]
  return Uint8Array.from([
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    ...section(1, [2, 0x60, 0, ...i32s(100), 0x60, ...i32s(parameters), 0]),
    ...section(3, [2, 0, 1]),
    ...section(5, [1, 0, 1]),
    ...section(10, [2, ...bodyOf([]), ...bodyOf(code)]),
  ])
}

describe('a function that is expensive to compile', () => {
  it.each(BODIES)('is refused: %s', (_, parameters, code) => {
    expect(outcomeOf(moduleOf(parameters, code), false)).toMatch(/too much memory/)
  })
})

describe('an honest module', () => {
  it('is accepted: the built-ins, and what the SDK compiles', async () => {
    for (const { name, binary } of await builtInSmartModules(cacheFolder()))
      expect([name, inspectBinary(binary).kind]).toEqual([name, 'batch'])
    const own = await compileSmartModule(`import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }`)
    expect(inspectBinary(own).kind).toBe('batch')
  })
})

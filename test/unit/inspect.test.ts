/** What an upload's inspection refuses, before anything compiles the binary, and what it bounds. Hostile modules by an outsider. */
import { describe, expect, it } from 'vitest'
import { inspectBinary } from '../../services/control-plane/workshop/inspect.ts'
import { InspectionError, unsigned } from '../../services/control-plane/workshop/wasm-reader.ts'
import { builtInSmartModules } from '../../shared/smartmodule/catalogue/catalogue.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { HOSTILE } from '../attack/modules/hostile-modules.ts'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { limitMs } from '../harness/machine-speed.ts'

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
  const refused = HOSTILE.filter(({ expect: wanted }) => wanted === 'refused')
  const uploads = refused.flatMap(({ name, why, binary, reason }) => (reason ? [[name, why, binary, reason] as const] : []))
  it.each(uploads)('is refused for what it is built for: %s (%s)', (name, _why, binary, wanted) => {
    const from = performance.now()
    const reason = outcomeOf(binary(), !isBomb(name))
    expect(reason).toMatch(wanted)
    // Names of the module's own are shortened, and can't move the cursor.
    expect(reason!.length).toBeLessThan(1500)
    expect(reason).not.toMatch(/[\u0000-\u001f\u202e]/)
    expect(performance.now() - from).toBeLessThan(limitMs(10_000))
  })

  const accepted = HOSTILE.filter(({ reason }) => reason === undefined)
  it('is accepted where only its start or its calls misbehave, with bounded memory and tables', () => {
    const outcomes = accepted.map(({ name, binary }) => [name, outcomeOf(binary(), true)])
    expect(outcomes.filter(([, reason]) => reason !== undefined)).toEqual([])
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

/** What is wrong with a source is said with its line, and with what to write instead. */
import { describe, expect, it } from 'vitest'
import { compileSmartModule, SmartModuleCompileError } from '../../shared/smartmodule/compile.ts'

const faultsOf = (code: string) =>
  compileSmartModule(code).then(
    () => [],
    (error: unknown) => (error instanceof SmartModuleCompileError ? error.faults : [{ message: String(error) }]),
  )
const IMPORT = "import { Record } from 'dps'\n"

describe('the function that a source exports', () => {
  it.each<[code: string, line: number, message: RegExp]>([
    ["export function map(record: Record): string { return '{}' }", 2, /^map returns void, and not string: .*record\.setJson/],
    ['export function map(record: Record): Record { return record }', 2, /^map returns void, and not Record/],
    ['function mine(record: Record): string { return "" }\nexport { mine as map }', 3, /^map returns void, and not string/],
    ['export function arrayMap(record: Record): string[] { return [] }', 2, /^arrayMap returns void, and not string\[\]: .*emitJson/],
    ["export function filter(record: Record): string { return 'yes' }", 2, /^filter returns bool, and not string/],
    ['export function filterMap(record: Record): void {}', 2, /^filterMap returns bool, and not void/],
  ])('returns what its kind does: %s', async (code, line, message) => {
    expect(await faultsOf(IMPORT + code)).toEqual([{ message: expect.stringMatching(message), line, column: 1 }])
  })

  it.each([
    'export function filter(record: Record): i32 { return 1 }',
    'export const filter = (record: Record): bool => true',
    'export function map(record: Record): void { inner() }\nfunction inner(): string { return "" }',
    '// export function map(record: Record): string {}\nexport function map(record: Record): void {}',
  ])('may be written otherwise: %s', async (code) => {
    expect(await faultsOf(IMPORT + code)).toEqual([])
  })

  it.each<[code: string, line: number | undefined, found: string]>([
    ['export function filter_map(record: Record): bool { return true }', 2, 'filter_map: its name is filterMap'],
    ['\nexport function Map(record: Record): void {}', 3, 'Map: its name is map'],
    [
      'export default function filter(record: Record): bool { return true }',
      2,
      'default filter: it is exported by its name, without default',
    ],
    ['export async function map(record: Record): void {}', 2, 'async map: a function can’t be async'],
    ['function filter(record: Record): bool { return true }', 2, 'filter without export: write export in front of it'],
    ['export function keep(record: Record): bool { return true }', 2, 'keep'],
    ['const a = 1', undefined, 'none'],
  ])('is named, or what stands in its place: %s', async (code, line, found) => {
    const [fault, ...others] = await faultsOf(IMPORT + code)
    expect(others).toEqual([])
    expect(fault!.message).toBe(`a SmartModule exports exactly one of filter, map, filterMap, arrayMap; found ${found}`)
    expect(fault!.line).toBe(line)
  })

  it('is named once where the SDK can’t call it, with its line', async () => {
    const message = 'the exported function has not the form that the SDK expects: Expected 2 arguments, but got 1.'
    expect(await faultsOf('\nexport function filter(a: i32, b: i32): bool { return true }')).toEqual([{ message, line: 2, column: 1 }])
  })
})

describe('what a source imports', () => {
  const rest = `\n${IMPORT}export function map(record: Record): void {}`
  it.each<[code: string, message: string, column: number]>([
    ["import fs from 'fs'", "only 'dps' may be imported: 'fs' is not found", 16],
    ["import { x } from './secrets'", "only 'dps' may be imported: 'secrets' is not found", 19],
    ["import { x } from '../cel/json'", "only 'dps' may be imported: '../cel/json' is not found", 19],
    ["import { putDate } from 'dps/time'", "only 'dps' may be imported, and not 'dps/time'", 20],
  ])('is dps alone: %s', async (code, message, column) => {
    expect((await faultsOf(code + rest))[0]).toEqual({ message, line: 1, column })
  })

  it('is not what a text says', async () => {
    expect(
      await faultsOf(`${IMPORT}const hint = "write import 'dps/json'"\nexport function map(record: Record): void { record.fail(hint) }`),
    ).toEqual([])
  })
})

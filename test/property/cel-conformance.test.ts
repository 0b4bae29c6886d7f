/** dps/cel against the conformance tests of the CEL specification (google/cel-spec, as @bufbuild/cel-spec packs them). */
import type { Value } from '@bufbuild/cel-spec/cel/expr/value_pb.js'
import { getConformanceSuite, type IncrementalTest } from '@bufbuild/cel-spec/testdata/tests.js'
import { describe, expect, it } from 'vitest'
import { evaluateAll, type Expression, type Typed } from '../harness/cel.ts'

/** Files of the suite that dps/cel leaves out, with why; `docs/smartmodules.md` says the same. */
const LEFT_OUT_FILES: Record<string, string> = {
  dynamic: 'protobuf messages',
  enums: 'protobuf enums',
  proto2: 'protobuf messages',
  proto3: 'protobuf messages',
  proto2_ext: 'protobuf messages',
  wrappers: 'protobuf messages',
  block_ext: 'written by an optimiser, not by people',
  type_deductions: 'types are checked while an expression runs',
  unknowns: 'all values are known',
  namespace: 'there are no containers',
}

const bits = (d: number): string => {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, d)
  return String(view.getBigInt64(0))
}

/** undefined for what is a protobuf message or enum. */
function typed({ kind }: Value): Typed | undefined {
  switch (kind.case) {
    case 'nullValue':
      return { null: null }
    case 'boolValue':
      return { bool: kind.value }
    case 'int64Value':
      return { int: String(kind.value) }
    case 'uint64Value':
      return { uint: String(kind.value) }
    case 'doubleValue':
      return { double: bits(kind.value) }
    case 'stringValue':
      return { string: kind.value }
    case 'bytesValue':
      return { bytes: Buffer.from(kind.value).toString('base64') }
    case 'typeValue':
      return { type: kind.value }
    case 'listValue': {
      const list = kind.value.values.map(typed)
      return list.every((each) => each !== undefined) ? { list } : undefined
    }
    case 'mapValue': {
      const map = kind.value.entries.map(({ key, value }): [Typed | undefined, Typed | undefined] => [
        key && typed(key),
        value && typed(value),
      ])
      return map.every((pair): pair is [Typed, Typed] => pair[0] !== undefined && pair[1] !== undefined) ? { map } : undefined
    }
    default:
      return undefined
  }
}

/** Maps have no order. */
const sorted = (value: Typed): unknown => {
  if ('map' in value)
    return { map: value.map.map(([k, v]) => [sorted(k), sorted(v)]).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) }
  if ('list' in value) return { list: value.list.map(sorted) }
  return value
}

type Case = Expression & { file: string; group: string; expected: Typed | 'error' }

function caseOf(file: string, group: string, { original }: IncrementalTest): Case | undefined {
  const { expr, resultMatcher, container, checkOnly } = original
  if (container !== '' || checkOnly || /\bTestAllTypes\b|google\.protobuf\.(?!Timestamp\b|Duration\b)\w/.test(expr)) return undefined
  const bindings: Record<string, Typed> = {}
  for (const [name, { kind }] of Object.entries(original.bindings)) {
    const value = kind.case === 'value' ? typed(kind.value) : undefined
    if (value === undefined || name.includes('.')) return undefined
    bindings[name] = value
  }
  if (resultMatcher.case === 'evalError' || resultMatcher.case === 'anyEvalErrors')
    return { expr, bindings, file, group, expected: 'error' }
  const expected =
    resultMatcher.case === 'value' ? typed(resultMatcher.value) : resultMatcher.case === undefined ? { bool: true } : undefined
  return expected && { expr, bindings, file, group, expected }
}

/** Names of time zones need a database that a module does not have; offsets work. */
const NAMED_ZONE = /'(Australia|US|America|Asia)\//

const cases: Case[] = []
const leftOut: string[] = []
for (const file of getConformanceSuite().suites) {
  for (const group of file.suites) {
    for (const test of group.tests) {
      const found = file.name in LEFT_OUT_FILES || NAMED_ZONE.test(test.original.expr) ? undefined : caseOf(file.name, group.name, test)
      if (found) cases.push(found)
      else leftOut.push(`${file.name}/${group.name}: ${test.original.expr}`)
    }
  }
}

describe('dps/cel', () => {
  it('passes the conformance tests of CEL', async () => {
    const results = await evaluateAll(cases)
    const wrong = cases.flatMap(({ file, group, expr, expected }, index) => {
      const result = results[index]!
      const isRight = expected === 'error' ? 'error' in result : JSON.stringify(sorted(result)) === JSON.stringify(sorted(expected))
      return isRight ? [] : [`${file}/${group}: ${expr} => ${JSON.stringify(result)}, not ${JSON.stringify(expected)}`]
    })
    if (process.env.CEL)
      console.log(
        cases.length,
        leftOut.length,
        '\n' + wrong.join('\n'),
        process.env.CEL === '2' ? leftOut.filter((l) => !Object.keys(LEFT_OUT_FILES).some((f) => l.startsWith(f))).join('\n') : '',
      )
    expect(wrong).toEqual([])
    // All but messages, enums and what the list above names.
    expect(cases.length).toBeGreaterThan(1000)
  })
})

/** A measure with a wrong name, or of no number: said in the log, and not with each record again. */
import { expect, it } from 'vitest'
import { newCallSeed } from '../../shared/smartmodule/call-seed.ts'
import { hostFunctions } from '../../shared/smartmodule/imports.ts'

function setUp() {
  const memory = new WebAssembly.Memory({ initial: 1 })
  const lines: string[] = []
  const measured: string[] = []
  const telemetry = {
    log: (level: string, line: string) => void lines.push(`${level} ${line}`),
    measure: (kind: string, name: string, value: number) => void measured.push(`${kind} ${name} ${value}`),
  }
  const { dps } = hostFunctions({ ...newCallSeed(telemetry), memory: () => memory })
  const count = (name: string, value: number): void => {
    const bytes = Buffer.from(name)
    new Uint8Array(memory.buffer).set(bytes, 8)
    ;(dps!.count as (pointer: number, length: number, value: number) => void)(8, bytes.length, value)
  }
  return { count, lines, measured }
}

it('warns of each wrong name and value once, and counts what is right', () => {
  const { count, lines, measured } = setUp()
  for (let record = 0; record < 1000; record++) {
    count('no name', 1)
    count('right', NaN)
  }
  count('right', 2)
  expect(lines).toEqual([
    expect.stringMatching(/^warn a measure's name must match .*: "no name"$/),
    expect.stringMatching(/^warn NaN can't be added to right$/),
  ])
  expect(measured).toEqual(['count right 2'])
})

it('warns of a bounded number of them', () => {
  const { count, lines } = setUp()
  for (let record = 0; record < 1000; record++) count(`no name ${record}`, 1)
  expect(lines).toHaveLength(20)
})

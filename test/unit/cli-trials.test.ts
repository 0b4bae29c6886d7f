/** Samples of a source: what counts as a difference from what they say. */
import { describe, expect, it } from 'vitest'
import type { Context } from '../../clients/cli/src/context.ts'
import { faultsOf } from '../../clients/cli/src/trials.ts'
import { parseAsWritten, type ModuleTest } from '../../clients/typescript/src/index.ts'

/** What comes out of a source that makes `json` of each record, as the service answers it. */
const contextOf = (json: string): Context => {
  const answer = parseAsWritten(`{"records":[{"steps":[],"outputs":[{"value":{"json":${json}}}]}]}`)
  return { dps: { smartmodules: { test: async () => answer } } } as unknown as Context
}
const sampleOf = (out: string): ModuleTest[] => [{ records: [{ value: {} }], out: [parseAsWritten(out)] }] as ModuleTest[]

describe('samples', () => {
  it.each([
    ['{"tax":20.00,"n":1}', '{"n":1.0,"tax":2e1}'],
    ['{"n":0.1000000000000000055511151231257827}', '{"n":0.1000000000000000055511151231257827}'],
  ])('that hold the same numbers in another form or order pass: %s', async (made, out) => {
    expect(await faultsOf(contextOf(made), undefined, sampleOf(out))).toEqual([])
  })

  it('differ in digits that a double does not hold', async () => {
    const faults = await faultsOf(contextOf('{"n":0.1000000000000000055511151231257827}'), undefined, sampleOf('{"n":0.1}'))
    expect(faults).toMatchObject([{ expected: '{"n":0.1}', made: '{"n":0.1000000000000000055511151231257827}' }])
  })
})

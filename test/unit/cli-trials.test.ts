/** Samples of a source: what counts as a difference from what they say. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Context } from '../../clients/cli/src/context.ts'
import { faultsOf, formatsOf, recordsOf } from '../../clients/cli/src/trials.ts'
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
    expect(await faultsOf(contextOf(made), { wasm_binary: '' }, sampleOf(out))).toEqual([])
  })

  it('differ in digits that a double does not hold', async () => {
    const faults = await faultsOf(contextOf('{"n":0.1000000000000000055511151231257827}'), { wasm_binary: '' }, sampleOf('{"n":0.1}'))
    expect(faults).toMatchObject([{ expected: '{"n":0.1}', made: '{"n":0.1000000000000000055511151231257827}' }])
  })
})

describe('a trial', () => {
  it('names the line of a file that is not JSON, empty lines counted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dps-trial-'))
    const file = join(folder, 'bad.ndjson')
    try {
      await writeFile(file, '{"n":1}\n\n{"n":\n')
      await expect(recordsOf(contextOf('{}'), { last: 1, records: file }, 'bad')).rejects.toThrow(`${file}: line 3 is not JSON`)
      await writeFile(file, '\uFEFF{"n":1.50}\n\n{"n":2}\n')
      expect((await recordsOf(contextOf('{}'), { last: 1, records: file }, 'bad')).records.records).toHaveLength(2)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('has the formats that are asked for, else those of the deployed SmartModule', async () => {
    const smartmodules = {
      list: async () => ({ modules: [{ id: 'sm_1', name: 'lines' }] }),
      get: async () => ({ config: { input_format: 'text', output_format: 'json' } }),
    }
    const context = { dps: { smartmodules } } as unknown as Context
    expect(await formatsOf(context, 'src/lines.ts', {})).toEqual({ input_format: 'text', output_format: 'json' })
    expect(await formatsOf(context, 'lines.ts', { inputFormat: 'bytes' })).toEqual({ input_format: 'bytes', output_format: 'json' })
    expect(await formatsOf(context, 'other.ts', { outputFormat: 'text' })).toEqual({ output_format: 'text' })
  })
})

/** What a SmartModule ends in is said so that its author knows what to look for. */
import { describe, expect, it } from 'vitest'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { openTestChain } from '../harness/chains.ts'

const opened = async (code: string) =>
  openTestChain([{ name: 'own', config: {} }], { own: await WebAssembly.compile(await compileSmartModule(code)) })
const IMPORT = "import { Config, Path, Record } from 'dps'\n"
const KEEPS = 'export function filter(record: Record): bool { return true }\n'

describe('the reason', () => {
  it('is the text of what is thrown at start', async () => {
    const code = `${IMPORT}function list(): i32[] { throw new Error('no list is there') }\nexport const all = list()\n${KEEPS}`
    await expect(opened(code)).rejects.toThrow(/^failed while starting: no list is there \(module\.ts:2:\d+\)$/)
  })

  it('is a lack of memory where there is one, at start and in a call', async () => {
    const takes = 'const all: ArrayBuffer[] = []\nfunction take(): void { while (true) all.push(new ArrayBuffer(1000000)) }\n'
    await expect(opened(`${IMPORT}${takes}export function init(config: Config): void { take() }\n${KEEPS}`)).rejects.toThrow(
      /^failed while starting: unreachable: it gave up by itself, or is out of memory: an instance may take 64 MiB$/,
    )
    const chain = await opened(`${IMPORT}${takes}export function map(record: Record): void { take() }`)
    const { failures } = await chain.run(['{}'])
    expect(failures).toMatchObject([{ code: 'module_trapped', message: expect.stringContaining('out of memory') }])
  })

  it('is the text of what is thrown in a call', async () => {
    const chain = await opened(`${IMPORT}export function map(record: Record): void { throw new Error('not this one') }`)
    expect((await chain.run(['{}'])).failures[0]!.message).toMatch(/^not this one \(module\.ts:2:\d+\)$/)
  })
})

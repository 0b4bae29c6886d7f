/** The binaries of a chain on their way to a workshop: each once, and none before its turn. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cacheFolder as folder } from '../../deploy/local/cache.ts'
import { ownCpuMs } from '../../services/control-plane/concurrency/bounded-work.ts'
import { chainFaults, type ResolvedStep } from '../../services/control-plane/definitions/resolve-steps.ts'
import type { Queryable } from '../../services/control-plane/store/database.ts'
import { openWorkshop, type Workshop } from '../../services/control-plane/workshop/workshop.ts'
import { compileCached } from '../../shared/smartmodule/compile-cache.ts'
import { limitMs } from '../harness/machine-speed.ts'

const MODULE = join(import.meta.dirname, '..', '..', 'shared', 'smartmodule', 'catalogue', 'timestamp', 'module.ts')
const MIB = 1 << 20

/** The module with a section that nothing reads, up to about so many bytes. */
function padded(module: Uint8Array, bytes: number, fill: number): Uint8Array {
  const size = bytes - module.length
  const length = [0, 7, 14, 21].map((shift) => ((size >> shift) & 0x7f) | (shift < 21 ? 0x80 : 0))
  return Buffer.concat([module, Uint8Array.from([0, ...length, 1, 0x78]), Buffer.alloc(size - 2, fill)])
}

const sha256Of = (binary: Uint8Array): string => createHash('sha256').update(binary).digest('hex')

/** What is asked of the database is the binaries alone. */
function storeOf(binaries: readonly Uint8Array[]) {
  const asked: string[] = []
  const bySha256 = new Map(binaries.map((each) => [sha256Of(each), Buffer.from(each)]))
  const db = () => ({
    where: ({ sha256 }: { sha256: string }) => ({
      first: async () => {
        asked.push(sha256)
        return { content: bySha256.get(sha256)! }
      },
    }),
  })
  return { asked, db: db as unknown as Queryable }
}

const stepOf = (binary: Uint8Array, index: number): ResolvedStep => ({
  index,
  bytes: binary.length,
  parameters: undefined,
  definition: {
    module_id: 'sm_1',
    name: 'm',
    version: '1.0.0',
    sha256: sha256Of(binary),
    kind: 'batch',
    input_format: 'json',
    output_format: 'json',
    config: { field: 'at' },
    on_error: { policy: 'fail', retries_max: 0, backoff_ms: 0 },
    changes_keys: false,
  },
})

const cacheFolder = folder()
const OWNER = { id: 'pl_1', account_id: 'acc_1' }
let workshop: Workshop
let module: Uint8Array
beforeAll(async () => {
  workshop = openWorkshop({ count: 1, env: { NODE_NO_WARNINGS: '1' } })
  module = await compileCached(MODULE, 'smartmodule', cacheFolder)
}, limitMs(60_000))
afterAll(() => workshop.close())

describe('the binaries of a chain', () => {
  it('are loaded and sent once, however many steps run them', { timeout: limitMs(60_000) }, async () => {
    const binary = padded(module, 10 * MIB, 0)
    const { asked, db } = storeOf([binary])
    const step = stepOf(binary, 0)
    const steps = Array.from({ length: 16 }, (_, index) => ({ ...step, index }))
    const cpuOfText = ownCpuMs()
    JSON.stringify(Buffer.from(binary).toString('base64'))
    const cpuBefore = ownCpuMs()
    expect(await chainFaults({ db, cacheFolder, workshop }, OWNER, steps, false)).toEqual([])
    const cpuMs = ownCpuMs() - cpuBefore
    expect(asked).toEqual([step.definition.sha256])
    // A text for each step took sixteen times the CPU time of one.
    expect(cpuMs).toBeLessThan(Math.max(200, 3 * (cpuBefore - cpuOfText)))
  })

  it('arrive whole, in their order', { timeout: limitMs(60_000) }, async () => {
    const binaries = [padded(module, 3 * MIB + 7, 1), module, padded(module, MIB, 2)]
    const { asked, db } = storeOf(binaries)
    const steps = [0, 1, 2, 1, 0].map((at, index) => stepOf(binaries[at]!, index))
    expect(await chainFaults({ db, cacheFolder, workshop }, OWNER, steps, false)).toEqual([])
    expect(asked).toEqual(binaries.map(sha256Of))
    // The middle one is no module: its step is the one that is named.
    const broken = [binaries[0]!, Buffer.alloc(2 * MIB), binaries[2]!]
    const faults = await chainFaults({ db: storeOf(broken).db, cacheFolder, workshop }, OWNER, broken.map(stepOf), false)
    expect(faults.map(({ path }) => path)).toEqual(['/processors/1/config'])
  })

  it('are not loaded by a job that waits', { timeout: limitMs(60_000) }, async () => {
    const held = Promise.withResolvers<void>()
    const loaded: string[] = []
    const job = (name: string, until: Promise<void>) => ({
      kind: 'inspect' as const,
      binaries: [
        async () => {
          loaded.push(name)
          await until
          return module
        },
      ],
    })
    const deadlines = { cpuMs: 10_000, wallMs: 30_000 }
    const first = workshop.run('acc_1', job('first', held.promise), deadlines)
    await expect.poll(() => loaded, { timeout: limitMs(20_000) }).toEqual(['first'])
    const second = workshop.run('acc_2', job('second', Promise.resolve()), deadlines)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(loaded).toEqual(['first'])
    held.resolve()
    for (const answer of [await first, await second]) expect(answer).toHaveProperty('inspected')
    expect(loaded).toEqual(['first', 'second'])
  })

  it('are refused beyond 32 MiB together, by the step with which they become too large', async () => {
    const large = [0, 1, 2, 3].map((fill) => stepOf(padded(module, 10 * MIB, fill), fill))
    const none = { db: storeOf([]).db, cacheFolder, workshop: { ...workshop, run: () => Promise.reject(new Error('asked a workshop')) } }
    expect(await chainFaults(none, OWNER, [...large.slice(0, 3), ...large], false)).toEqual([
      { path: '/processors/3', message: "brings the binaries of the chain's SmartModules to more than 32 MiB together" },
    ])
  })
})

/** How long a record may take in a preview, an explanation or a comparison: as long as in the pipeline. */
import { createHash } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { cacheFolder as folder } from '../../deploy/local/cache.ts'
import type { Queryable } from '../../services/control-plane/store/database.ts'
import { JSON_ENDS, runTrace } from '../../services/control-plane/trace/trace.ts'
import { openWorkshop, type Workshop } from '../../services/control-plane/workshop/workshop.ts'
import { frame } from '../../shared/model/framing.ts'
import { ON_ERROR_DEFAULT } from '../../shared/model/policies.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { limitMs } from '../harness/machine-speed.ts'

const HANGS_ON_SECOND = `import { Record } from 'dps'
export function filter(record: Record): bool {
  while (record.offset == 1) {}
  return true
}`

const cacheFolder = folder()
const workshop = openWorkshop({ count: 1, env: { NODE_NO_WARNINGS: '1' } })
afterAll(() => workshop.close())

/** Runs three records through a step for each of the limits, with `run` in place of the workshop's. */
function trace(binary: Buffer, timeouts: (number | undefined)[], run: Workshop['run'], more: { traceWallMs?: number } = {}) {
  const sha256 = createHash('sha256').update(binary).digest('hex')
  const step = {
    module_id: 'sm_1',
    name: 'm',
    version: '1.0.0',
    sha256,
    kind: 'batch',
    input_format: 'json',
    output_format: 'json',
  } as const
  const steps = timeouts.map((timeout_ms) => ({ ...step, config: {}, on_error: ON_ERROR_DEFAULT, changes_keys: false, timeout_ms }))
  const records = [0n, 1n, 2n].map((offset) => ({
    partition: 0,
    offset,
    timestamp: 0n,
    record: { offsetDelta: 0, timestampDelta: 0n, key: null, value: frame(0, '{}'), headers: [] },
  }))
  const db = () => ({ where: () => ({ first: async () => ({ content: binary }) }) })
  const connectorDefaults = { addresses: 'any' as const, per_account: { warehouse: false, bucket: false }, bucket_folders: [] }
  const deps = { db: db as unknown as Queryable, cacheFolder, workshop: { ...workshop, run }, connectorDefaults, ...more }
  return runTrace(deps, { ...JSON_ENDS, account_id: 'acc_1', pipeline_id: 'pl_1', steps }, records)
}

describe('a step in a trace', () => {
  it(
    'that does not return ends the trace after the CPU time of one call, and the records before are shown',
    { timeout: limitMs(60_000) },
    async () => {
      const binary = Buffer.from(await compileSmartModule(HANGS_ON_SECOND))
      // All records together could take far longer than this test.
      const patient: Workshop['run'] = (account, job, { quietCpuMs }, onProgress) =>
        workshop.run(account, job, { cpuMs: 600_000, wallMs: 600_000, quietCpuMs: quietCpuMs! }, onProgress)
      const { traced, hanging } = await trace(binary, [200], patient)
      expect(traced.map(({ steps }) => steps.map(({ outCount }) => outCount))).toEqual([[1]])
      expect(hanging?.steps[0]?.error?.code).toBe('module_timeout')
    },
  )

  it('has the time that its pipeline gives it, and a cold start at least a second', { timeout: limitMs(60_000) }, async () => {
    const binary = Buffer.from(await compileSmartModule(HANGS_ON_SECOND.replace('1', '-1')))
    const limits: number[] = []
    const watched: Workshop['run'] = (account, job, deadlines, onProgress) =>
      workshop.run(account, job, deadlines, (progress) => {
        onProgress?.(progress)
        if ('entering' in progress) limits.push(deadlines.quietCpuMs!())
      })
    const { traced } = await trace(binary, [200, undefined, 3000], watched)
    expect(traced).toHaveLength(3)
    expect(limits).toEqual([1000, 5000, 3000, 1000, 5000, 3000, 1000, 5000, 3000])
  })

  it(
    'that has not returned when a client’s time is over is shown, if it had a second of CPU time',
    { timeout: limitMs(60_000) },
    async () => {
      const binary = Buffer.from(await compileSmartModule(HANGS_ON_SECOND))
      // As where other work leaves a process little: its time is over before its CPU time is.
      const hurried =
        (wallMs: number): Workshop['run'] =>
        (account, job, deadlines, onProgress) =>
          workshop.run(account, job, { ...deadlines, cpuMs: 600_000, quietCpuMs: () => 600_000, wallMs }, onProgress)
      const { traced, hanging } = await trace(binary, [undefined], hurried(limitMs(6000)))
      expect(traced).toHaveLength(1)
      expect(hanging?.steps[0]?.error?.code).toBe('module_timeout')
      // No client waits for this one, and a busy machine is no fault of the step's.
      const late = trace(binary, [undefined], hurried(limitMs(6000)), { traceWallMs: 45_000 })
      await expect(late).rejects.toMatchObject({ code: 'unavailable' })
    },
  )

  it('may wait for a busy machine for as long as a client does, and longer where none waits', async () => {
    const waits: number[] = []
    const refused: Workshop['run'] = async (_account, _job, { wallMs }) => {
      waits.push(wallMs)
      return { refused: 'not run' }
    }
    await expect(trace(Buffer.from('binary'), [200], refused)).rejects.toThrow('not run')
    await expect(trace(Buffer.from('binary'), [200], refused, { traceWallMs: 45_000 })).rejects.toThrow('not run')
    expect(waits).toEqual([15_000, 45_000])
  })
})

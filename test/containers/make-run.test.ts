/** `make run` on a machine with a container engine: every part is a container, the tour succeeds, the data survives a restart. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeRun } from '../harness/make-run.ts'
import { limitMs } from '../harness/machine-speed.ts'

const PARTS = ['kafka', 'postgres', 'redis', 'registry', 'bucket']
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dps-run-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it(
  '`make run` starts every part as a container, completes the tour, and keeps its data over restarts',
  { timeout: Math.max(900_000, limitMs(400_000)) },
  async () => {
    const first = makeRun(folder, { STACK: 'containers' })
    await first.serving()
    for (const part of PARTS) expect(first.output()).toContain(`${part}: a container`)
    expect(first.output()).toMatch(/exact +12,277 distinct lines/)
    expect(first.output()).toMatch(/read back 12,277 records, each once/)
    const { account_id } = first.stackFile()
    expect(await first.end()).toBe(0)

    const second = makeRun(folder, { STACK: 'containers' })
    await second.serving()
    expect(second.output()).toContain('reviews into a table')
    expect(second.output()).not.toContain('The tour.')
    expect(second.stackFile().account_id).toBe(account_id)
    // When killed, it leaves its containers running on the data.
    await second.end('SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 7000))

    const third = makeRun(folder, { STACK: 'containers' })
    await third.serving()
    expect(third.stackFile().account_id).toBe(account_id)
    expect(await third.end()).toBe(0)

    const anew = makeRun(folder, { STACK: 'containers', FRESH: '1', TOUR: '0' })
    await anew.serving()
    expect(anew.stackFile().account_id).not.toBe(account_id)
    expect(await anew.end()).toBe(0)
  },
)

/** How a runner ends, and who is to blame for it: real processes, without any pipeline. */
import { afterEach, describe, expect, it } from 'vitest'
import { startRunner, type RunnerProcess } from '../../services/processor/supervisor/runner-process.ts'
import { runnerSettings as settings } from '../harness/runners.ts'

let runner: RunnerProcess | undefined
afterEach(() => runner?.kill())

async function started(memoryBytesMax = 2 ** 31): Promise<RunnerProcess> {
  const ready = Promise.withResolvers<void>()
  const own = startRunner({ settings, env: {}, memoryBytesMax, now: Date.now, onReady: ready.resolve, onValue: () => {} })
  runner = own
  await Promise.race([ready.promise, own.ended])
  return own
}

describe('a runner', () => {
  it('is ready without an environment, and ends when it is drained', async () => {
    const own = await started()
    expect(own.isReady()).toBe(true)
    own.drain()
    expect(await own.ended).toMatchObject({ isWanted: true, isBlamed: false, notes: [] })
  })

  it.each([
    ['SIGKILL', false],
    ['SIGABRT', true],
    ['SIGSEGV', true],
  ] as const)('that ends by %s: blamed is %s', async (signal, isBlamed) => {
    const own = await started()
    process.kill(own.pid, signal)
    expect(await own.ended).toMatchObject({ isWanted: false, isBlamed, cause: `signal ${signal}` })
  })

  it('that takes more memory than it may is killed, and blamed', async () => {
    const own = await started(64 << 20)
    expect(await own.ended).toMatchObject({ isWanted: false, isBlamed: true, cause: 'memory: more than 64 MiB' })
  })

  it('that stands still is killed once its beats are missed, and blamed', async () => {
    const own = await started()
    process.kill(own.pid, 'SIGSTOP')
    expect(await own.ended).toMatchObject({ isWanted: false, isBlamed: true, cause: 'silence for 10 s' })
  })

  it('that can’t be started ends at once, and nothing is blamed', async () => {
    const before = process.env.TMPDIR
    process.env.TMPDIR = '/no/such/folder'
    try {
      const own = startRunner({ settings, env: {}, memoryBytesMax: 2 ** 31, now: Date.now, onReady: () => {}, onValue: () => {} })
      expect(await own.ended).toMatchObject({ isWanted: false, isBlamed: false, cause: expect.stringContaining('it does not start') })
    } finally {
      if (before === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = before
    }
  })
})

/** When the reconciler tries again what could not be finished, and whose turn it is. */
import { describe, expect, it } from 'vitest'
import { createAttempts } from '../../services/control-plane/reconciler/attempts.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { createLogger } from '../../shared/telemetry/log.ts'

function setUp() {
  const clock = { ms: 0 }
  const attempts = createAttempts({ log: createLogger('attempts', 'silent') }, () => clock.ms)
  const tried: string[] = []
  /** One pass over the rows that are due: those of `bad` take 30 s and fail. */
  async function pass(ids: readonly string[]): Promise<string[]> {
    const held = attempts.waiting()
    const rows = ids.filter((id) => !held.includes(id)).map((id) => ({ id, account_id: id.slice(0, id.indexOf('-')) }))
    const before = tried.length
    await attempts.each(rows, 10_000, (row) =>
      attempts.attempt('remove it', row, () => {
        tried.push(row.id)
        if (row.account_id !== 'bad') return Promise.resolve()
        clock.ms += 30_000
        return Promise.reject(new Error('its database is away'))
      }),
    )
    return tried.slice(before)
  }
  return { clock, attempts, pass }
}

describe('what can’t be finished', () => {
  it('is tried again after 5 s, and then after twice as long, up to 5 minutes', async () => {
    const { clock, attempts, pass } = setUp()
    const waits: number[] = []
    for (let times = 0; times < 9; times++) {
      await pass(['bad-1'])
      const from = clock.ms
      while (attempts.waiting().length > 0) clock.ms += 1000
      waits.push((clock.ms - from) / 1000)
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300])
  })

  it('ends a pass, so that the rest of the upkeep has its turn', async () => {
    const { clock, pass } = setUp()
    expect(await pass(Array.from({ length: 50 }, (_, index) => `bad-${index}`))).toHaveLength(1)
    expect(clock.ms).toBe(30_000)
  })

  it('does not hold up other accounts', async () => {
    const { pass } = setUp()
    const bad = Array.from({ length: 40 }, (_, index) => `bad-${index}`)
    await pass(bad)
    // Listed behind all of those, and done before any of them.
    expect(await pass([...bad, 'good-1', 'fine-1', 'good-2'])).toEqual(['good-1', 'fine-1', 'bad-1'])
    expect(await pass([...bad, 'good-2'])).toEqual(['good-2', 'bad-0'])
  })

  it('is forgotten once it is done', async () => {
    const { attempts, pass } = setUp()
    await pass(['bad-1'])
    expect(attempts.waiting()).toEqual(['bad-1'])
    await attempts.attempt('remove it', { id: 'bad-1', account_id: 'bad' }, () => Promise.resolve())
    expect(attempts.waiting()).toEqual([])
  })
})

describe('what waits for a server that is silent', () => {
  it('holds up no other account, and of its own account one thing is begun at a time', async () => {
    const attempts = createAttempts({ log: createLogger('attempts', 'silent') }, Date.now, 10)
    const begun: string[] = []
    const silent = Promise.withResolvers<void>()
    const rows = [...Array.from({ length: 25 }, (_, index) => `bad-${index}`), ...Array.from({ length: 5 }, (_, index) => `good-${index}`)]
    const pass = () =>
      attempts.each(
        rows.filter((id) => !begun.includes(id)).map((id) => ({ id, account_id: id.slice(0, id.indexOf('-')) })),
        limitMs(1000),
        (row) =>
          attempts.attemptAside('remove it', row, () => {
            begun.push(row.id)
            return row.account_id === 'bad' ? silent.promise : Promise.resolve()
          }),
      )
    await pass()
    await pass()
    expect(begun.toSorted()).toEqual(['bad-0', 'good-0', 'good-1', 'good-2', 'good-3', 'good-4'])
    silent.resolve()
    await expect.poll(() => pass().then(() => begun.length), { timeout: limitMs(10_000) }).toBe(rows.length)
  })
})

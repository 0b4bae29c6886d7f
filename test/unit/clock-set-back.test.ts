/** A clock that is set back, as by a time server, delays nothing: what takes time is measured by a clock that only goes forward. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createHeldRows, type HeldRowsOptions } from '../../services/processor/task/round/held-rows.ts'
import { createJobRate } from '../../services/processor/task/round/job-rate.ts'
import { createTopicWriter, type TopicWriterOptions } from '../../services/processor/task/round/topic-writer.ts'
import { createBreaker } from '../../shared/connectors/http/breaker.ts'
import type { PartitionOutcome } from '../../services/processor/lane/messages.ts'
import type { Running } from '../../services/processor/task/running.ts'

const HOUR_MS = 3_600_000
const OUTCOME = { partition: 0, nextOffset: 1n, records: 1, sink: [], rows: [], deadLetters: [], deadLetterOffsets: [], counts: [] }
const outcome = OUTCOME as unknown as PartitionOutcome

beforeEach(() => void vi.useFakeTimers({ now: 10 * HOUR_MS }))
afterEach(() => void vi.useRealTimers())
/** Time goes on, while the clock on the wall is set back by an hour. */
function setBack(ms: number): void {
  vi.advanceTimersByTime(ms)
  vi.setSystemTime(Date.now() - HOUR_MS)
}

it('the next round follows at the task’s pace', async () => {
  const nothing = () => {}
  const writer = createTopicWriter({
    transactions: { deliver: async () => undefined, commit: async () => {} },
    targets: { sink: undefined, deadLetter: { topic: 'l' }, ledger: { topic: 'g' } },
    owned: { memberId: 'm', generationId: 1, partitions: [0] },
    positions: new Map([[0, 0n]]),
    size: { took: nothing },
    budget: { use: nothing, give: nothing },
    onCommit: nothing,
    now: Date.now,
  } as unknown as TopicWriterOptions)
  const running = {
    definition: { group_id: 'g', source: { topic: 't' }, steps: [], job: {} },
    accounting: { metadataWith: () => '', add: nothing },
    chain: { recycle: nothing },
  } as unknown as Running
  await writer.take(running, [outcome], 1, nothing)
  setBack(0)
  expect(writer.waitMs(1)).toBeLessThanOrEqual(30)
})

it('a job goes on at its rate', async () => {
  const rate = createJobRate(10, 1 << 20, () => true)
  let isOver = false
  const waited = rate.wait(10, performance.now()).then(() => (isOver = true))
  setBack(500)
  await vi.advanceTimersByTimeAsync(700)
  expect(isOver).toBe(true)
  await waited
})

it('held rows are written after their interval', () => {
  const budget = { hold: () => {}, isCrowded: () => false } as unknown as HeldRowsOptions['budget']
  const boundaries = { bytesMax: 1e9, recordsMax: 1e9, intervalMs: 1000 }
  const held = createHeldRows({ sink: { boundaries }, planned: new Map(), budget })
  held.add([outcome])
  setBack(999)
  expect(held.isDue()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(held.isDue()).toBe(true)
})

it('a web service is asked again after its pause', () => {
  const breaker = createBreaker()
  for (let failures = 0; failures < 20; failures++) breaker.failed()
  const pauseMs = breaker.openForMs()
  expect(pauseMs).toBeGreaterThan(0)
  setBack(pauseMs)
  expect(breaker.openForMs()).toBe(0)
})

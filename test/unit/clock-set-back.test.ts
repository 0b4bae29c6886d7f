/** A clock that is set back, as by a time server, delays nothing: what takes time is measured by a clock that only goes forward. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openDecoder } from '../../services/processor/lane/codec-input.ts'
import { createLineRate } from '../../services/processor/line-rate.ts'
import { createQuarantine } from '../../services/processor/lane/quarantine.ts'
import { createBlame } from '../../services/processor/supervisor/blame.ts'
import { createFailureThreshold } from '../../services/processor/task/failure-threshold.ts'
import { createPlanners } from '../../services/processor/task/planners.ts'
import { createHeldRows, type HeldRowsOptions } from '../../services/processor/task/round/held-rows.ts'
import { createJobRate } from '../../services/processor/task/round/job-rate.ts'
import { createTopicWriter, type TopicWriterOptions } from '../../services/processor/task/round/topic-writer.ts'
import { findLayout } from '../../services/processor/transaction/layouts.ts'
import { createBreaker } from '../../shared/connectors/breaker.ts'
import { encodeRecords } from '../../shared/kafka/protocol/record-batch.ts'
import { frame } from '../../shared/model/framing.ts'
import { failUntimely } from '../../shared/smartmodule/host/check-output.ts'
import type { Kernel } from '../../shared/smartmodule/host/kernel.ts'
import { createTopicLook } from '../../shared/connectors/kafka/other-cluster.ts'
import { openOtherRegistry } from '../../shared/connectors/kafka/other-registry.ts'
import { ConfigRefused, type ConnectorContext } from '../../shared/connectors/connector.ts'
import { definitionOf } from '../harness/definitions.ts'
import { openWebServer } from '../harness/web-server.ts'
import { UnknownSchema } from '../../shared/codecs/codecs.ts'
import { Interrupted } from '../../services/processor/interruption.ts'
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

it('a schema that never arrives is waited for once', () => {
  const decoder = openDecoder({ format: 'avro', schemas: {} })
  const value = Buffer.concat([frame(7, ''), Buffer.from([0])])
  const decode = () => decoder.decode(encodeRecords([{ offsetDelta: 0, timestampDelta: 0n, key: null, value, headers: [] }]), 1)
  expect(decode).toThrow(UnknownSchema)
  setBack(20_000)
  expect(decode).not.toThrow()
  setBack(0)
  expect(decode).not.toThrow()
})

it('the share of failed records is that of the last minute', () => {
  const threshold = createFailureThreshold(0.5)
  threshold.check([[0, 900n, 900, 800]])
  setBack(61_000)
  expect(() => threshold.check([[0, 1100n, 200, 0]])).not.toThrow()
})

it('what a SmartModule lost counts for a minute', () => {
  const quarantine = createQuarantine()
  quarantine.add('sha', 19)
  setBack(61_000)
  expect(quarantine.left('sha')).toBe(20)
})

it('the end of a runner counts for ten minutes', () => {
  const blame = createBlame(() => 'account/acc_a')
  const run = definitionOf('pl_a')
  const end = () => blame.onEnd('account/acc_a', [run], new Set(['pl_a']))
  end()
  setBack(601_000)
  end()
  expect(blame.groupOf(run)).toBe('account/acc_a')
})

it('a topic of another cluster is given up after a minute', async () => {
  const look = createTopicLook({ describeTopic: async () => undefined }, 't', undefined, true)
  await expect(look()).rejects.not.toThrow(ConfigRefused)
  setBack(60_000)
  await expect(look()).rejects.toThrow(ConfigRefused)
})

it('a schema that another registry did not have is asked for again', async () => {
  vi.useRealTimers()
  let status = 404
  const server = await openWebServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ schemaType: 'JSON', schema: '{}' }))
  })
  const context = { defaults: { addresses: 'any' }, now: () => Date.now(), log: () => {} } as unknown as ConnectorContext
  const registry = openOtherRegistry({ url: server.url }, context)
  const find = () => registry.codec(1, AbortSignal.timeout(10_000))
  expect(await find()).toBeUndefined()
  status = 200
  const [clock, passed] = [Date.now() - HOUR_MS, performance.now() + 15_000]
  vi.spyOn(Date, 'now').mockReturnValue(clock)
  vi.spyOn(performance, 'now').mockReturnValue(passed)
  expect(await find()).toBeDefined()
  vi.restoreAllMocks()
  await registry.close()
  await server.close()
})

it('a log goes on at its rate', () => {
  const rate = createLineRate(1, 1)
  expect([rate.take(), rate.take()]).toEqual([0, undefined])
  setBack(1000)
  expect(rate.take()).toBe(1)
})

it('a topic that does not exist is waited for for ten seconds', async () => {
  const looking = findLayout({ describeTopic: async () => undefined } as never, 't').catch((error: unknown) => String(error))
  setBack(0)
  await vi.advanceTimersByTimeAsync(10_300)
  expect(await Promise.race([looking, Promise.resolve('it is still waited for')])).toContain('does not exist')
})

it('the sink of an earlier revision is given up after its time', async () => {
  const running = (revision: number) =>
    ({ definition: { revision, sink: { topic: `t${revision}` } }, chain: { close: () => {} } }) as unknown as Running
  const away = () => Promise.reject(new Interrupted({ kind: 'sink_away', afterMs: 0 }, 'away'))
  const planners = createPlanners(
    async () => running(1) as never,
    away,
    () => {},
  )
  const open = () => planners.open(1, running(2), async () => running(1))
  await expect(open()).rejects.toThrow('away')
  setBack(21_000)
  expect((await open()).definition.revision).toBe(2)
})

/** Whether a record of this time is taken for one of the future. The kernel says what it has for one whose time is that of its batch. */
function isUntimely(ms: number): boolean {
  const failed: number[] = []
  const kernel = {
    currentEarliest: () => 0n,
    currentLatest: () => 0n,
    findUntimely: (from: number, _earliest: bigint, latest: bigint) => (from === 0 && 0n > latest ? 0 : -1),
  } as unknown as Kernel
  failUntimely(kernel, BigInt(ms), (at) => failed.push(at))
  return failed.length > 0
}

it('no record of the present time is taken for one of the future', () => {
  vi.useRealTimers()
  const now = Date.now()
  vi.spyOn(Date, 'now').mockReturnValue(now - 2 * HOUR_MS)
  expect(isUntimely(now)).toBe(false)
  vi.restoreAllMocks()
})

it('a clock that was ahead and is set right lets no record through that the broker refuses, from an hour later on', () => {
  // A moment of the clock as it was, ahead by two hours.
  vi.advanceTimersByTime(2 * HOUR_MS)
  expect(isUntimely(Date.now())).toBe(false)
  vi.setSystemTime(Date.now() - 2 * HOUR_MS)
  const inTwoHours = () => isUntimely(Date.now() + 2 * HOUR_MS)
  expect(inTwoHours()).toBe(false)
  vi.advanceTimersByTime(HOUR_MS + 1)
  expect(inTwoHours()).toBe(true)
})

/** What a processor reports of its tasks reaches the control plane, whatever another account's report is like. */
import { Reader, type Connection, type Writer } from '@platformatic/kafka'
import { describe, expect, it, vi } from 'vitest'
import { createMember } from '../../services/processor/member/member.ts'
import { newSlot, observe } from '../../services/processor/runner/slot.ts'
import { openObserver } from '../../services/processor/supervisor/observer.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { KafkaError } from '../../shared/kafka/kafka-error.ts'
import { inflate } from '../../shared/kafka/protocol/compression.ts'
import { BATCH_HEADER_BYTES, COMPRESSION_MASK, decodeRecords, readBatchHeader } from '../../shared/kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS } from '../../shared/kafka/wire/error-codes.ts'
import type { PipelineDefinition } from '../../shared/model/definition.ts'
import { ObservedTask } from '../../shared/model/observed.ts'

const BATCH_BYTES_MAX = 1 << 20

/** The batch of a produce request to one partition of one topic. */
function batchOf(request: Writer): Buffer {
  const reader = Reader.from(request.buffer)
  reader.readNullableString()
  reader.readInt16()
  reader.readInt32()
  return reader.readArray((outer) => {
    outer.readString()
    return outer.readArray((inner) => {
      inner.readInt32()
      return inner.readBytes()
    })[0]!
  })[0]!
}

/** A broker that takes batches of up to 1 MiB; `refused` counts the others, `isAway` refuses all. */
function openBroker() {
  const broker = { reports: new Map<string, Partial<ObservedTask>>(), refused: 0, batches: 0, isAway: false }
  const send: Connection['send'] = (_key, _version, createRequest, _parse, _head, _tail, callback) => {
    const batch = batchOf(createRequest() as Writer)
    broker.batches++
    const errorCode = broker.isAway ? KAFKA_ERRORS.notEnoughReplicas : batch.length > BATCH_BYTES_MAX ? KAFKA_ERRORS.messageTooLarge : 0
    if (errorCode !== 0) broker.refused++
    else {
      const header = readBatchHeader(batch, 0)!
      const section = inflate(header.attributes & COMPRESSION_MASK, batch.subarray(BATCH_HEADER_BYTES))
      for (const { key, value } of decodeRecords(section, header.recordCount)) broker.reports.set(String(key), JSON.parse(String(value)))
    }
    const answer: unknown = [{ topic: 'observed', partition: 0, errorCode, errorMessage: null, baseOffset: 0n }]
    callback(null, answer as Parameters<typeof callback>[1])
  }
  const connections = { leader: async () => ({ send }), close: async () => {} }
  const cluster = {
    openConnections: () => connections,
    describeTopic: async (topic: string) => ({ topic, topicId: 'id', leaders: [1] }),
  } as unknown as Cluster
  return { broker, cluster }
}

/** Text that does not become shorter by compression. */
const noise = (bytes: number): string =>
  Array.from({ length: bytes >> 16 }, () => Buffer.from(crypto.getRandomValues(new Uint8Array(1 << 16))).toString('base64')).join('')

const report = (pipeline: string, values: Partial<ObservedTask> = {}): ObservedTask => ({
  pipeline_id: pipeline,
  role: 'chain',
  task: 0,
  processor_id: 'p1',
  revision: 1,
  attempt: 1,
  status: 'running',
  reason: null,
  at: '2026-11-25T00:00:00.000Z',
  records_per_second: 0,
  in_flight: 0,
  held_back: false,
  quarantined: [],
  measures: [],
  partitions: [],
  ...values,
})

/** Publishes the tasks once, as a change of one of them does. */
function observing(tasks: ObservedTask[]) {
  const { broker, cluster } = openBroker()
  const errors: Error[] = []
  const observer = openObserver(
    cluster,
    'observed',
    () => tasks,
    () => [],
    Date.now,
    (error) => errors.push(error),
  )
  return { broker, errors, observer }
}

describe('a report that the broker refuses', () => {
  it('holds up no other, and is sent short', async () => {
    const huge = report('pl_huge', { status: 'failed', reason: 'why', quarantined: [noise(3 << 20)] })
    const { broker, errors, observer } = observing([report('pl_a'), huge, report('pl_b')])
    await observer.close()
    expect([...broker.reports.keys()].toSorted()).toEqual(['pl_a/0', 'pl_b/0', 'pl_huge/0'])
    expect(broker.reports.get('pl_huge/0')).toMatchObject({ status: 'failed', reason: 'why', quarantined: [] })
    expect(errors.map(({ message }) => message)).toEqual([
      'the report pl_huge/0 is larger than observed takes, and was sent without its partitions',
    ])
  })

  it('is not sent again while it stays as it is', async () => {
    const huge = report('pl_huge', { quarantined: [noise(3 << 20)] })
    const { broker, observer } = observing([huge])
    const settled = async (batches: number) => {
      observer.notify()
      for (let waited = 0; broker.batches < batches && waited < 2000; waited += 5) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await settled(2)
    expect([broker.batches, broker.refused]).toEqual([2, 1])
    await observer.close()
    expect([broker.batches, broker.refused]).toEqual([2, 1])
  })

  it('is sent again where the broker only was away', async () => {
    const { broker, errors, observer } = observing([report('pl_a')])
    broker.isAway = true
    observer.notify()
    for (let waited = 0; errors.length === 0 && waited < 2000; waited += 5) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(errors[0]).toEqual(new KafkaError(KAFKA_ERRORS.notEnoughReplicas))
    broker.isAway = false
    await observer.close()
    expect([...broker.reports.keys()]).toEqual(['pl_a/0'])
  })

  it('is none with 512 partitions and 16 steps', async () => {
    const counters = { in: 1e15, out: 1e15, filtered: 1e15, skipped: 1e15, failed: 1e15, absorbed: 1e15, emitted: 1e15 }
    const partitions = Array.from({ length: 512 }, (_, partition) => ({
      partition,
      position: '123456789012345',
      end: '123456789012345',
      lag: '0',
      steps: Array.from({ length: 16 }, () => counters),
      totals: counters,
    }))
    const { broker, errors, observer } = observing([report('pl_wide', { partitions })])
    await observer.close()
    expect(errors).toEqual([])
    expect(broker.reports.get('pl_wide/0')!.partitions).toHaveLength(512)
  })
})

it('a report that stays as it is comes again after five minutes, though the clock is set back meanwhile', async () => {
  vi.useFakeTimers()
  try {
    const { broker, observer } = observing([report('pl_a')])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(broker.batches).toBe(1)
    vi.setSystemTime(Date.now() - 3_600_000)
    await vi.advanceTimersByTimeAsync(300_000)
    expect(broker.batches).toBe(2)
    await observer.close()
  } finally {
    vi.useRealTimers()
  }
})

describe('a reason of megabytes', () => {
  const long = `invalid input syntax for type integer: "${'9'.repeat(1_200_000)}"`

  it('is cut where a task shows it, and where it ends with it; secrets are hidden before', async () => {
    const member = createMember({
      isPaused: false,
      mask: (reason) => reason.replaceAll('9'.repeat(3000), '***'),
      onChange: () => {},
      log: () => {},
    })
    member.become('starting', long)
    const { promise, resolve } = Promise.withResolvers<{ kind: 'failed'; reason: string }>()
    const view = () => ({ revision: 1, inFlight: 0, recordsDone: 0, partitions: [] })
    const task = member.asTask(promise, view, () => {})
    expect(task.view().reason).toMatch(/^invalid .*\*\*\*/)
    expect(task.view().reason!.length).toBeLessThan(2100)
    resolve({ kind: 'failed', reason: 'x'.repeat(1_000_000) })
    const end = await task.ended
    expect('reason' in end && end.reason).toBe(`${'x'.repeat(2000)}…`)
  })

  it('is cut in a slot’s report, and in what a runner says', () => {
    const definition = { pipeline_id: 'pl_a', revision: 1, attempt: 1 } as PipelineDefinition
    const slot = { ...newSlot('pl_a/0', definition, { role: 'chain', task: 0 }, 1, 0), failure: `${'x'.repeat(1999)}😀${long}` }
    // A character is not cut in two.
    expect(observe(slot, () => [], 'p1', 0).reason).toBe(`${'x'.repeat(1999)}…`)
    expect(ObservedTask.parse(report('pl_a', { reason: long })).reason!.length).toBeLessThan(2100)
  })
})

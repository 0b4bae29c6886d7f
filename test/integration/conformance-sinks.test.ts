/**
 * One suite for every sink, against the real system: Postgres, an S3-compatible server, a web service that misbehaves on purpose, a
 * second Kafka, Redis. `isExact` is what a sink's page promises.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import type { ConnectorContext } from '../../shared/connectors/connector.ts'
import type { OpenSink } from '../../shared/connectors/sink.ts'
import { contextFor, createTopic, deliveryOf, openSilence, PLANTED, rowsOf, valuesFrom, writeRange } from '../harness/conformance.ts'
import { limitFromNow } from '../harness/machine-speed.ts'
import { numbersIn, openSinkSystems, readRecords, readTopic, second, SINKS, web } from '../harness/sink-cases.ts'

let close: () => Promise<void>
beforeAll(async () => {
  close = await openSinkSystems()
})
afterAll(() => close())

const openSink = async (id: string, config: unknown, context: ConnectorContext): Promise<OpenSink> =>
  (await findConnector(id)!.sink!.open!())(config, context)
/** What the operator has set, with the suite's secret as its passwords. */
function withPlanted({ defaults, ...rest }: Partial<ConnectorContext>): Partial<ConnectorContext> {
  if (!defaults) return rest
  const { bucket, warehouse_url } = defaults
  const url = new URL(warehouse_url!)
  url.password = PLANTED
  return { ...rest, defaults: { ...defaults, warehouse_url: url.toString(), bucket: bucket && { ...bucket, secret_key: PLANTED } } }
}
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

describe.each(SINKS)('$what as a sink', ({ id, isExact, hasStableKeys, config: configOf, context: own, readBack, poison, behind }) => {
  async function opened(change: Partial<ConnectorContext> = {}) {
    web.answer = () => 200
    const config = await configOf()
    const context = contextFor({ ...own, ...change })
    const sink = await openSink(id, config, context)
    await sink.position?.(deliveryOf(context, 0, 0), { nextOffset: 0n, note: 'start' })
    return { config, context, sink }
  }

  it('writes everything in order', async () => {
    const { config, context, sink } = await opened()
    for (let from = 0; from < 90; from += 30) expect(await writeRange(sink, context, from, from + 30)).toEqual({ kind: 'delivered' })
    expect(await readBack(config)).toEqual(numbers(0, 90))
    await sink.close()
  })

  it('writes two partitions at once, all of both and each in order', async () => {
    const { config, context, sink } = await opened()
    const each = 5000
    await sink.position?.(deliveryOf(context, each, each, 1), { nextOffset: BigInt(each), note: 'start' })
    const write = (partition: number) => {
      const [from, to] = [partition * each, (partition + 1) * each]
      return sink.write(
        deliveryOf(context, from, to, partition),
        rowsOf(sink.rows, valuesFrom(from, to), from),
        new AbortController().signal,
      )
    }
    expect(await Promise.all([write(0), write(1)])).toEqual([{ kind: 'delivered' }, { kind: 'delivered' }])
    const found = await readBack(config)
    for (const partition of [0, 1])
      expect(found.filter((n) => Math.floor(n / each) === partition)).toEqual(numbers(partition * each, (partition + 1) * each))
    expect(found.length).toBe(2 * each)
    await sink.close()
  })

  it('resumes where it was when it is reopened, and handles a repeated range as it promises', async () => {
    const { config, context, sink } = await opened()
    expect(await writeRange(sink, context, 0, 20)).toEqual({ kind: 'delivered' })
    await sink.close()
    const again = await openSink(id, config, context)
    const kept = await again.position?.(deliveryOf(context, 0, 0), { nextOffset: 0n, note: 'start' })
    if (kept) {
      // The sink keeps the position: its own task resumes there, and a task with another position writes nothing.
      expect(kept).toEqual({ nextOffset: 20n, note: '20' })
      expect(await writeRange(again, context, 0, 20)).toMatchObject({ kind: 'moved' })
    } else expect(await writeRange(again, context, 0, 20)).toEqual({ kind: 'delivered' })
    expect(await writeRange(again, context, 20, 40)).toEqual({ kind: 'delivered' })
    const found = await readBack(config)
    if (isExact || hasStableKeys) expect(found).toEqual(numbers(0, 40))
    else expect([...new Set(found)].sort((a, b) => a - b)).toEqual(numbers(0, 40))
    await again.close()
  })

  it.runIf(poison)('names the one refused record, and takes the others without it', async () => {
    const { config, context, sink } = await opened()
    poison!.before?.()
    const values = valuesFrom(0, 25)
    values[11] = poison!.value
    const written = await sink.write(deliveryOf(context, 0, 25), rowsOf(sink.rows, values, 0), new AbortController().signal)
    expect(written).toMatchObject({ kind: 'at_fault', records: [{ offset: 11n }] })
    // The round is repeated without it, as the lane then makes it.
    const rest = rowsOf(
      sink.rows,
      values.filter((_, index) => index !== 11),
      0,
    )
    for (const rows of rest) rows.offsets.set(numbers(0, 25).filter((n) => n !== 11))
    expect(await sink.write(deliveryOf(context, 0, 25), rest, new AbortController().signal)).toEqual({ kind: 'delivered' })
    expect((await readBack(config)).sort((a, b) => a - b)).toEqual(numbers(0, 25).filter((n) => n !== 11))
    await sink.close()
  })

  const silent = it.runIf(behind).each([
    ['that is aborted', true],
    ['that nothing has aborted', false],
  ])
  silent('asks for a retry when its peer goes silent, and can be closed in the middle of a write %s', async (_what, isAborted) => {
    const config = await configOf()
    const { targetPort } = behind!(config, 0)
    const silence = await openSilence(targetPort)
    const { config: moved, context: change } = behind!(config, silence.port)
    const context = contextFor(change)
    const sink = await openSink(id, moved, context)
    await sink.position?.(deliveryOf(context, 0, 0), { nextOffset: 0n, note: 'start' })
    expect(await writeRange(sink, context, 0, 10)).toEqual({ kind: 'delivered' })
    silence.freeze()
    const stop = new AbortController()
    const writing = sink.write(deliveryOf(context, 10, 20), rowsOf(sink.rows, valuesFrom(10, 20), 10), stop.signal)
    const outcome = await Promise.race([writing, new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), 3000))])
    if (outcome !== 'late') expect(outcome).toMatchObject({ kind: 'retry' })
    if (isAborted) stop.abort()
    const [limit, from] = [limitFromNow(20_000), performance.now()]
    await sink.close()
    expect(performance.now() - from).toBeLessThan(limit())
    stop.abort()
    silence.close()
    const ended = await writing.catch(() => ({ kind: 'thrown' }))
    expect(['retry', 'thrown']).toContain(ended.kind)
  })

  it.runIf(behind)('asks for a retry when its peer is dead, and reveals no secret', async () => {
    const config = await configOf()
    const { config: moved, context: change } = behind!(config, 1)
    // The operator's own connections stand by: a sink without a secret could reveal theirs.
    const context = contextFor(withPlanted({ defaults: contextFor().defaults, ...change }))
    expect(JSON.stringify([moved, context.defaults])).toMatch(new RegExp(`\\$secret|${PLANTED}`))
    const outcome = await openSink(id, moved, context).then(
      async (sink) => {
        const written = await writeRange(sink, context, 0, 10)
        await sink.close()
        return written
      },
      (error: unknown) => ({ kind: 'thrown', reason: String(error), isFinal: (error as Error).constructor.name === 'ConfigRefused' }),
    )
    expect(['retry', 'thrown']).toContain(outcome.kind)
    expect('isFinal' in outcome && outcome.isFinal).toBe(false)
    expect(
      JSON.stringify(outcome, (_, value) => (typeof value === 'bigint' ? String(value) : value)) + context.logged.join(),
    ).not.toContain(PLANTED)
  })
})

describe('a topic of another cluster that takes only small batches', () => {
  it('gets everything that fits in order and once, and the records that do not fit are named', async () => {
    const topic = await createTopic(second.kafka, 1, { 'max.message.bytes': '20000' })
    const context = contextFor()
    const sink = await openSink('conn_kafka', { brokers: second.brokers, topic }, context)
    const wide = (n: number, length = 1000) => JSON.stringify({ n, pad: 'x'.repeat(length) })
    const values = numbers(0, 100).map((n) => wide(n))
    const write = (rows: string[]) =>
      sink.write(deliveryOf(context, 0, rows.length), rowsOf(sink.rows, rows, 0), new AbortController().signal)
    expect(await write(values)).toEqual({ kind: 'delivered' })
    expect((await readTopic(topic)).flatMap((value) => numbersIn(value.toString('utf8')))).toEqual(numbers(0, 100))
    const isLarge = (n: number) => n === 142 || n === 190
    const next = numbers(100, 200).map((n) => wide(n, isLarge(n) ? 30_000 : 1000))
    const writeNext = (left: number[]) => {
      const pieces = left.flatMap((n) => rowsOf(sink.rows, [next[n - 100]!], n))
      return sink.write(deliveryOf(context, 100, 200), pieces, new AbortController().signal)
    }
    expect(await writeNext(numbers(100, 200))).toMatchObject({ kind: 'at_fault', records: [{ offset: 142n }, { offset: 190n }] })
    // What was acknowledged before is not written again.
    expect(await writeNext(numbers(100, 200).filter((n) => !isLarge(n)))).toEqual({ kind: 'delivered' })
    const held = (await readTopic(topic)).flatMap((value) => numbersIn(value.toString('utf8')))
    expect(held).toEqual(numbers(0, 200).filter((n) => !isLarge(n)))
    await sink.close()
  })
})

describe('a topic of another cluster', () => {
  it('has the times of the records, and those that it refuses for their time are named', async () => {
    const topic = await createTopic(second.kafka, 1)
    const context = contextFor()
    const sink = await openSink('conn_kafka', { brokers: second.brokers, topic }, context)
    const rows = rowsOf(sink.rows, valuesFrom(0, 40), 0)
    const timeOf = (n: number) => Date.parse('2020-02-02T00:00:00Z') + ((n * 7) % 40) * 60_000
    rows[0]!.times.set(numbers(0, 40).map((n) => (n === 23 ? Date.now() + 30 * 86_400_000 : timeOf(n))))
    const write = (pieces: typeof rows) => sink.write(deliveryOf(context, 0, 40), pieces, new AbortController().signal)
    expect(await write(rows)).toMatchObject({ kind: 'at_fault', records: [{ offset: 23n, code: 'record_refused' }] })
    const left = numbers(0, 40).filter((n) => n !== 23)
    const others = left.flatMap((n) => rowsOf(sink.rows, valuesFrom(n, n + 1), n))
    for (const [index, n] of left.entries()) others[index]!.times[0] = timeOf(n)
    expect(await write(others)).toEqual({ kind: 'delivered' })
    const found = (await readRecords(topic)).map(({ value, timestamp }) => [numbersIn(value.toString('utf8'))[0], timestamp])
    expect(found).toEqual(left.map((n) => [n, timeOf(n)]))
    await sink.close()
  })
})

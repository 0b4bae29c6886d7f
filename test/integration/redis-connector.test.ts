/** What the conformance suites don't cover of the connector `redis`: large and cut-off deliveries, `latest`, addresses, the check. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import { ConfigRefused, type ConnectorContext } from '../../shared/connectors/connector.ts'
import type { Rows } from '../../shared/connectors/sink.ts'
import { createSeenEntries } from '../../shared/connectors/seen-entries.ts'
import { createAccounting } from '../../services/processor/task/accounting.ts'
import { loadPositions } from '../../services/processor/task/positions.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { withPlan } from '../../shared/model/commit-metadata.ts'
import { LIES, openLiar } from '../attack/servers/index.ts'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { blockValues, contextFor, deliveryOf, PLANTED, readSplit, rowsOf, valuesFrom } from '../harness/conformance.ts'
import { connect } from '../harness/connectors.ts'
import { definitionOf } from '../harness/definitions.ts'
import { waitForStatus } from '../harness/pipelines.ts'

let redis: Redis
beforeAll(() => {
  redis = new Redis(service().redisUrl)
})
afterAll(() => redis.disconnect())

const connector = () => findConnector('conn_redis')!
const place = (change: object = {}) => ({ url: service().redisUrl, stream: unique('redis'), ...change })
const openSink = async (config: unknown, context: ConnectorContext) => (await connector().sink!.open!())(config, context)
const openSource = async (config: unknown, context: ConnectorContext) => (await connector().source!.open!())(config, context)
const check = async (config: unknown, context: ConnectorContext) =>
  (await connector().sink!.check!())(config, context, new AbortController().signal)
const valuesOf = async (stream: string) => (await redis.xrange(stream, '-', '+')).map(([, fields]) => fields[1]!)
const start = { nextOffset: 0n, note: 'start' }
const never = new AbortController().signal

/** Makes every `each` rows belong to one record. */
function fanOut(rows: Rows[], each: number): Rows[] {
  for (const { offsets } of rows) for (let i = 0; i < offsets.length; i++) offsets[i] = Math.floor(offsets[i]! / each)
  return rows
}

describe('redis as a sink', () => {
  it('writes a delivery larger than one script, and resumes after what was appended when it was cut off', async () => {
    const config = place()
    const context = contextFor()
    const sink = await openSink(config, context)
    await sink.position!(deliveryOf(context, 0, 0), start)
    const values = valuesFrom(0, 60_000)
    const delivery = deliveryOf(context, 0, 20_000)
    const rows = fanOut(rowsOf(sink.rows, values, 0), 3)
    const stop = new AbortController()
    const cutOff = sink.write(delivery, rows, stop.signal)
    while ((await redis.xlen(config.stream)) === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    stop.abort()
    expect(await cutOff).toMatchObject({ kind: 'retry' })
    expect(await redis.xlen(config.stream)).toBeLessThan(values.length)
    expect(await sink.position!(deliveryOf(context, 0, 0), start)).toEqual(start)
    // Then it is cut off at other moments: what was answered, and what was done, is unknown.
    let delivered = false
    for (let ms = 1; !delivered; ms += 5) {
      const written = await sink.write(delivery, rows, AbortSignal.timeout(ms))
      expect(['retry', 'delivered', 'moved']).toContain(written.kind)
      delivered = written.kind !== 'retry'
    }
    expect(await valuesOf(config.stream)).toEqual(values)
    expect(await sink.position!(deliveryOf(context, 0, 0), start)).toEqual({ nextOffset: 20_000n, note: '20000' })
    await sink.close()
  })

  it('appends nothing twice when a range is repeated in other parts, and keeps the note until its end', async () => {
    const config = place()
    const context = contextFor()
    const sink = await openSink(config, context)
    await sink.position!(deliveryOf(context, 0, 0), start)
    // As after a crash in the middle: 25 records and one row of the next are there, but the position is still before them.
    const values = valuesFrom(0, 60)
    for (const value of values.slice(0, 51)) await redis.xadd(config.stream, '*', 'value', value)
    const [field] = await redis.hkeys(`dps:${context.runId}`)
    await redis.hset(`dps:${context.runId}`, field!, '0 1 25:1 start')
    expect(await sink.position!(deliveryOf(context, 0, 0), start)).toEqual(start)
    const part = (from: number, to: number) => fanOut(rowsOf(sink.rows, values.slice(2 * from, 2 * to), 2 * from), 2)
    expect(await sink.write(deliveryOf(context, 0, 10), part(0, 10), never)).toEqual({ kind: 'delivered' })
    expect(await sink.write(deliveryOf(context, 10, 30), part(10, 30), never)).toEqual({ kind: 'delivered' })
    expect(await valuesOf(config.stream)).toEqual(values)
    expect(await redis.hget(`dps:${context.runId}`, field!)).toBe('30 1 - 30')
    await sink.close()
  })

  it('moves the position over ranges without rows, yields to a later revision, and reports a deleted position as moved', async () => {
    const config = place()
    const context = contextFor()
    const sink = await openSink(config, context)
    await sink.position!(deliveryOf(context, 0, 0), { nextOffset: 0n, note: 'a note\nwith "everything" – 1 2' })
    expect((await sink.position!(deliveryOf(context, 0, 0), start)).note).toBe('a note\nwith "everything" – 1 2')
    expect(await sink.write({ ...deliveryOf(context, 0, 5), revision: 2 }, [], never)).toEqual({ kind: 'delivered' })
    expect(await sink.write(deliveryOf(context, 5, 6), [], never)).toMatchObject({ kind: 'moved' })
    await (
      await connector().sink!.dispose!()
    )(config, context)
    expect(await redis.exists(`dps:${context.runId}`)).toBe(0)
    expect(await sink.write({ ...deliveryOf(context, 5, 6), revision: 2 }, [], never)).toMatchObject({ kind: 'moved' })
    await sink.close()
  })

  it.each([
    ['takes the range that an earlier revision has planned, after it lost the position', 0, 'delivered'],
    ['refuses it after a reset', 2, 'moved'],
  ])('%s', async (_, reset_revision, kind) => {
    const context = contextFor()
    const sink = await openSink(place(), context)
    const [planner, owned] = [createAccounting(1, 1), { memberId: 'm', generationId: 1, partitions: [0] }]
    planner.begin('t')
    planner.restore(0, '')
    const metadata = withPlan(planner.metadataWith(0), 9n, 0n)
    const cluster = {
      committedOffsets: async () => new Map([[0, { offset: 5n, metadata }]]),
      offsets: async () => new Map(),
    } as unknown as Cluster
    const definition = definitionOf(context.runId, { revision: 2, reset_revision })
    const layout = { topic: 'in', topicId: 't', leaders: [1] }
    const { planned } = await loadPositions(cluster, definition, layout, owned, createAccounting(2, 1), sink)
    expect(planned.get(0)).toMatchObject({ to: 9n, revision: 1 })
    const delivery = { ...deliveryOf(context, 5, 9), topicId: 't' }
    expect(await sink.write(delivery, rowsOf(sink.rows, valuesFrom(5, 9), 5), never)).toMatchObject({ kind })
    await sink.close()
  })

  it('fails permanently for a key of another type and a user without the right, and neither moves nor appends anything', async () => {
    const config = place()
    const context = contextFor()
    await redis.set(config.stream, 'text')
    const sink = await openSink(config, context)
    await sink.position!(deliveryOf(context, 0, 0), start)
    const write = () => sink.write(deliveryOf(context, 0, 3), rowsOf(sink.rows, valuesFrom(0, 3), 0), never)
    expect(await write()).toMatchObject({ kind: 'permanent' })
    expect((await sink.position!(deliveryOf(context, 0, 0), start)).nextOffset).toBe(0n)
    await sink.close()
    for (const right of ['hset', 'xadd']) {
      const user = unique('user')
      await redis.acl('SETUSER', user, 'on', `>${PLANTED}`, '~*', '+@all')
      const place_ = place({ username: user, password: { $secret: 'p' } })
      const run = contextFor()
      const limited = await openSink(place_, run)
      await limited.position!(deliveryOf(run, 0, 0), start)
      await redis.acl('SETUSER', user, `-${right}`)
      const written = await limited.write(deliveryOf(run, 0, 3), rowsOf(limited.rows, valuesFrom(0, 3), 0), never)
      expect(written).toMatchObject({ kind: 'permanent' })
      expect(await redis.xlen(place_.stream)).toBe(0)
      expect(await redis.hvals(`dps:${run.runId}`)).toEqual(['0 1 - start'])
      await limited.close()
    }
  })

  it('trims its stream to about max_length', async () => {
    const config = place({ max_length: 100 })
    const context = contextFor()
    const sink = await openSink(config, context)
    await sink.position!(deliveryOf(context, 0, 0), start)
    await sink.write(deliveryOf(context, 0, 5000), rowsOf(sink.rows, valuesFrom(0, 5000), 0), never)
    expect(await redis.xlen(config.stream)).toBeLessThan(500)
    await sink.close()
  })
})

describe('redis as a source', () => {
  it('starts at the latest entry only once, and reads an entry without the field whole', async () => {
    const config = place({ start: 'latest', field: 'value' })
    await redis.xadd(config.stream, '*', 'value', '{"n":0}')
    const source = await openSource(config, contextFor())
    const state = { position: undefined as string | undefined, seen: new Map<string, string>() }
    expect(await readSplit(source, { index: 0, count: 1 }, state, () => true)).toEqual([])
    await redis.xadd(config.stream, '*', 'value', '{"n":1}')
    await redis.xadd(config.stream, '*', 'other', 'é', '__proto__', 'x')
    const found = await readSplit(source, { index: 0, count: 1 }, state, (values) => values.length === 2)
    expect(found).toEqual(['{"n":1}', '{"other":"é","__proto__":"x"}'])
    await source.close()
  })

  it('makes a dead letter of an entry that is larger than a record, and goes on', { timeout: limitMs(60_000) }, async () => {
    const config = place({ field: 'value' })
    for (const value of ['1', 'x'.repeat(8 << 20), '2']) await redis.xadd(config.stream, '*', 'value', value)
    const source = await openSource(config, contextFor())
    const state = { position: undefined as string | undefined, seen: new Map<string, string>() }
    const found = await readSplit(source, { index: 0, count: 1 }, state, (values) => values.length === 3)
    expect([found[0], found[2]]).toEqual(['1', '2'])
    // Its first bytes; `record-block.ts` marks it.
    expect(found[1]).toBe('x'.repeat(64 << 10))
    await source.close()
  })

  it('waits for a stream that does not exist yet', async () => {
    const config = place()
    const source = await openSource(config, contextFor())
    const reads = source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), never)[Symbol.asyncIterator]()
    const first = reads.next()
    await new Promise((resolve) => setTimeout(resolve, 700))
    await redis.xadd(config.stream, '*', 'n', '1')
    expect(blockValues((await first).value!.block)).toEqual(['{"n":"1"}'])
    await source.close()
    expect(await reads.next()).toMatchObject({ done: true })
  })
})

describe('redis as a server that lies', () => {
  it('is told by name when it sends an entry whose field has no value', async () => {
    const liar = await openLiar(LIES.find(({ name }) => name === 'read-of-odd-fields')!)
    try {
      const source = await openSource(place({ url: `redis://127.0.0.1:${liar.port}` }), contextFor())
      const reads = source.read({ index: 0, count: 1 }, '0-0', createSeenEntries(), never)[Symbol.asyncIterator]()
      await expect(reads.next()).rejects.toThrow('an entry that is not an id and pairs of field and value')
    } finally {
      await liar.close()
    }
  })
})

describe('redis', () => {
  it('refuses private addresses, also by name, unless the operator allows them', async () => {
    const closed = contextFor({ defaults: { ...contextFor().defaults, addresses: { allowed: [], own: [] } } })
    const { port } = new URL(service().redisUrl)
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433']) {
      const config = place({ url: `redis://${host}:${port}` })
      await expect(openSink(config, closed)).rejects.toThrow(ConfigRefused)
      expect(await check(config, closed)).toMatchObject([{ path: '/url' }])
    }
  })

  it('is checked without writing anything', async () => {
    const config = place()
    expect(await check(config, contextFor())).toEqual([])
    await redis.set(config.stream, 'text')
    expect(await check(config, contextFor())).toEqual([{ path: '/stream', message: 'is a key of the type string, not a stream' }])
    const wrong = await check(place({ username: 'unknown', password: { $secret: 'p' } }), contextFor())
    expect(wrong).toMatchObject([{ path: '/password' }])
    expect(JSON.stringify(wrong)).not.toContain(PLANTED)
    expect(await check(place({ url: 'redis://127.0.0.1:1' }), contextFor())).toMatchObject([{ path: '/url' }])
  })

  it('refuses credentials in the URL, a malformed URL, and a username without a password', () => {
    const { config } = connector().sink!
    expect(config.safeParse(place()).success).toBe(true)
    for (const url of ['redis://user:password@host', 'http://host', 'redis://', 'redis://host:99999', 'redis://host?db=1'])
      expect(config.safeParse(place({ url })).success).toBe(false)
    expect(config.safeParse(place({ username: 'u' })).success).toBe(false)
  })

  it('carries each record once through two pipelines, and its positions are deleted with them', async () => {
    const client = await loggedIn(service().accounts.other)
    const [first, second] = [place(), place()]
    const endpoint = (config: Record<string, unknown>) => ({ connector_id: 'conn_redis', config })
    const generator = {
      connector_id: 'conn_generator',
      config: { records_per_second: 20_000, records_max: 20_000, schema: { n: 'integer' } },
    }
    const ids = [
      await connect(client, generator, [], endpoint(first)),
      await connect(client, endpoint({ ...first, field: 'value' }), [], endpoint(second)),
    ]
    for (const id of ids) await waitForStatus(client, id, 'running')
    await eventually('all entries are there', async () => (await redis.xlen(second.stream)) >= 20_000)
    const numbersOf = async (stream: string) => (await valuesOf(stream)).map((value) => (JSON.parse(value) as { n: number }).n)
    expect(new Set(await numbersOf(second.stream)).size).toBe(20_000)
    expect((await numbersOf(second.stream)).length).toBe(20_000)
    for (const id of ids) {
      expect(await redis.exists(`dps:${id}`)).toBe(1)
      expect((await client.call('DELETE', `/v1/pipelines/${id}`)).status).toBeLessThan(300)
      await eventually('the positions are gone', async () => (await redis.exists(`dps:${id}`)) === 0)
    }
  })
})

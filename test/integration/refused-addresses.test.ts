/** Addresses that connectors may not reach end a source or a sink, whichever driver meets them: nothing would be gained by asking again. */
import { describe, expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import type { ConnectorContext } from '../../shared/connectors/connector.ts'
import { refusalIn } from '../../shared/connectors/refusal.ts'
import { createSeenEntries } from '../../shared/connectors/seen-entries.ts'
import { service } from '../harness/client.ts'
import { contextFor, deliveryOf, rowsOf } from '../harness/conformance.ts'

const databaseUrl = (host: string) => `postgres://u:p@${host}:${new URL(service().warehouseUrl).port}/d`
/** A context whose only secret is the database's URL. */
const closed = (host: string): ConnectorContext =>
  contextFor({ defaults: { ...contextFor().defaults, addresses: { allowed: [], own: [] } }, secret: () => databaseUrl(host) })

/** Configs that name a host, as if the check at creation had been passed: of every connector that connects (`test/house`). */
const PLACES: Record<string, (host: string) => { source?: object; sink?: object }> = {
  conn_http: (host) => ({ source: { url: `http://${host}:8999/` }, sink: { url: `http://${host}:8999/` } }),
  conn_kafka: (host) => ({ source: { brokers: [`${host}:8999`], topic: 't' }, sink: { brokers: [`${host}:8999`], topic: 't' } }),
  conn_redis: (host) => ({ source: { url: `redis://${host}:8999`, stream: 's' }, sink: { url: `redis://${host}:8999`, stream: 's' } }),
  conn_table: () => ({
    source: { table: 't', connection: { $secret: 'd' }, mode: 'query', cursor: 'id' },
    sink: { table: 't', connection: { $secret: 'd' } },
  }),
  conn_storage_bucket: (host) => {
    const key = { $secret: 's' }
    const place = { bucket: 'bucket', endpoint: `http://${host}:8999`, access_key: key, secret_key: key }
    return { source: place, sink: place }
  },
}

/** How the source ends. */
async function readOnce(id: string, config: unknown, context: ConnectorContext): Promise<unknown> {
  const direction = findConnector(id)!.source!
  try {
    const source = await (await direction.open!())(direction.config.parse(config), context)
    const end = AbortSignal.timeout(120_000)
    for await (const _read of source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), end)) break
    return 'it went on'
  } catch (error) {
    return error
  }
}

/** How a write ends: what was thrown, or answered. */
async function writeOnce(id: string, config: unknown, context: ConnectorContext): Promise<unknown> {
  const direction = findConnector(id)!.sink!
  try {
    const sink = await (await direction.open!())(direction.config.parse(config), context)
    const delivery = deliveryOf(context, 0, 1)
    await sink.position?.(delivery, { nextOffset: 0n, note: 'start' })
    return await sink.write(delivery, rowsOf(sink.rows, ['{"n":1}'], 0), AbortSignal.timeout(120_000))
  } catch (error) {
    return error
  }
}

describe.each(Object.keys(PLACES))('%s', (id) => {
  const { source, sink } = findConnector(id)!
  it.runIf(source).each(['127.0.0.1', 'localhost'])('ends as a source at %s', async (host) => {
    const read = await readOnce(id, PLACES[id]!(host).source, closed(host))
    expect(refusalIn(read)?.message, String(read)).toMatch(/connectors may reach/)
  })

  it.runIf(sink).each(['127.0.0.1', 'localhost'])('ends as a sink at %s', async (host) => {
    const written = await writeOnce(id, PLACES[id]!(host).sink, closed(host))
    const reason = refusalIn(written)?.message ?? (written as { reason?: string }).reason
    expect(reason, String(written)).toMatch(/connectors may reach/)
    if (!(written instanceof Error)) expect(written).toMatchObject({ kind: 'permanent' })
  })
})

/** A stream's schema that is to change: what would break is said before, by the registry's own rules and by the pipelines' configs. */
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { createPipeline, createStream } from '../harness/pipelines.ts'
import { openDatabase, type Database } from '../../services/control-plane/store/database.ts'

type Fault = { path: string; message: string }
type Checked = {
  compatible: boolean
  details: Fault[]
  pipelines: { id: string; name: string; reads: boolean; mentions: { path: string; fields: string[] }[] }[]
}

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})
const check = async (id: string, schema: object) => (await client.call<Checked>('POST', `/v1/streams/${id}/schemas/check`, { schema })).body

describe('a change of a stream’s schema', () => {
  it('is checked as the change itself would be, and changes nothing', async () => {
    const { id } = await createStream(client, { a: 'string', n: 'integer' }, { key: 'a' })
    expect(await check(id, { a: 'string', n: 'number', more: 'string?' })).toEqual({ compatible: true, details: [], pipelines: [] })
    for (const schema of [{ a: 'string', n: 'string' }, { a: 'string', n: 'integer', more: 'string' }, { n: 'integer' }]) {
      const { compatible, details } = await check(id, schema)
      const refused = await client.call('PATCH', `/v1/streams/${id}`, { schema })
      expect([compatible, refused.status, refused.body.error?.details]).toEqual([false, 409, details])
    }
    const kept = await client.call<{ schemas: { schema: object; is_current: boolean }[] }>('GET', `/v1/streams/${id}/schemas`)
    expect(kept.body.schemas).toMatchObject([{ schema: { a: 'string', n: 'integer' }, is_current: true }])
  })

  it('is compared with all versions where the mode says so, and the versions are listed', async () => {
    const { id } = await createStream(client, { a: 'string?', n: 'integer' }, { compatibility: 'BACKWARD_TRANSITIVE' })
    const second = { a: 'string?', n: 'number' }
    expect((await client.call('PATCH', `/v1/streams/${id}`, { schema: second })).status).toBe(200)
    const { body } = await client.call<{ schemas: { schema: object; is_current: boolean }[] }>('GET', `/v1/streams/${id}/schemas`)
    expect(body.schemas.map(({ schema, is_current }) => [schema, is_current])).toEqual([
      [second, true],
      [{ a: 'string?', n: 'integer' }, false],
    ])
    expect(await check(id, { ...second, more: 'any?' })).toMatchObject({ compatible: true })
  })

  it('names the pipelines whose configs name a field that is dropped or changes its type', async () => {
    const fields = { id: 'string', amount: 'number', city: 'string?', total: 'number?' }
    const [source, sink] = [await createStream(client, fields, { compatibility: 'NONE' }), await createStream(client, fields)]
    const name = unique('reader')
    const steps = [
      { name: 'dps/filter', config: { field: 'amount', operator: 'gt', value: 1 } },
      { name: 'dps/cel', config: { filter: 'has(value.city) && value.city != "total"' } },
    ]
    const pipelineId = await createPipeline(client, source.id, steps, sink.id, { name })
    const { compatible, pipelines } = await check(source.id, { id: 'string', amount: 'string', total: 'number?' })
    expect([compatible, pipelines]).toEqual([
      true,
      [
        {
          id: pipelineId,
          name,
          reads: true,
          mentions: [
            { path: '/processors/0/config', fields: ['amount'] },
            { path: '/processors/1/config', fields: ['city'] },
          ],
        },
      ],
    ])
    const other = await check(source.id, { ...fields, id: 'string?' })
    expect(other.pipelines).toEqual([])
    expect((await check(sink.id, { ...fields, amount: 'any' })).pipelines.map(({ reads }) => reads)).toEqual([false])
  })
})

describe('the schemas that a JSON stream has had', () => {
  const HAD = 300
  const SHOWN_BYTES_MAX = 2 << 20
  let db: Database
  beforeAll(() => {
    db = openDatabase(service().databaseUrl, 1)
    return () => db.destroy()
  })
  /** As large as one may be. */
  const large = (first: string) =>
    Object.fromEntries([first, ...Array.from({ length: 999 }, (_, index) => `f${index}_`)].map((name) => [name.padEnd(200, 'x'), 'string']))

  it('are shown and kept as far as they fit 2 MiB, and a change does not take longer for those before it', async () => {
    const { id } = await createStream(client, large('first'), { compatibility: 'NONE' })
    await db.raw(
      'INSERT INTO stream_schemas (stream_id, schema_id, schema) SELECT id, -n, schema FROM streams, generate_series(1, ?) n WHERE id = ?',
      [HAD, id],
    )
    const shown = async () => {
      const { status, body } = await client.call<{ schemas: { schema_id: number; is_current: boolean }[] }>(
        'GET',
        `/v1/streams/${id}/schemas`,
      )
      expect(status).toBe(200)
      expect(JSON.stringify(body).length).toBeLessThan(SHOWN_BYTES_MAX)
      return body.schemas
    }
    const before = await shown()
    expect(before.map(({ is_current }) => is_current)).toEqual(before.map((_, index) => index === 0))
    expect(before.slice(1).map(({ schema_id }) => schema_id)).toEqual(before.slice(1).map((_, index) => -1 - index))
    /** The time that the answer takes, in milliseconds. The registry may have no time for so large a schema at once. */
    const change = (of: string, nameOf: () => string) =>
      eventually(
        'the schema is changed',
        async () => {
          const schema = large(nameOf())
          const from = performance.now()
          const { status } = await client.call('PATCH', `/v1/streams/${of}`, { schema })
          expect(status).toBe(200)
          return { ms: performance.now() - from }
        },
        120_000,
      )
    await change(id, () => 'second')
    const after = await shown()
    expect([after.length, after[1]]).toEqual([before.length, { ...before[0], is_current: false }])
    expect(await db('stream_schemas').where({ stream_id: id }).orderBy('schema_id', 'desc').pluck('schema_id')).toEqual(
      after.map(({ schema_id }) => schema_id),
    )
    // The one that it had first, and that was forgotten, is a schema as any other.
    await change(id, () => 'first')
    expect((await shown()).map(({ is_current }) => is_current).indexOf(true)).toBe(1)
    // By turns, and the least of three: what else the machine does meanwhile is no fault of either.
    const { id: young } = await createStream(client, large('first'), { compatibility: 'NONE' })
    const times: Record<string, number[]> = { [id]: [], [young]: [] }
    for (let round = 0; round < 3; round++) {
      // Another one for each try: the registry has what was not answered in time.
      for (const of of [young, id]) times[of]!.push((await change(of, () => unique('timed').replaceAll('-', '_'))).ms)
    }
    expect(Math.min(...times[id]!), JSON.stringify(times)).toBeLessThan(3 * Math.min(...times[young]!))
  })
})

describe('a Protobuf schema of the registry', () => {
  it.each([
    ['an enum', 'enum Kind { A = 0; }'],
    ['a service', 'service S { rpc Get (Order) returns (Order); }'],
  ])('may begin with %s, and is the schema of a new stream', async (_what, first) => {
    const schema = `syntax = "proto3"; package shop; ${first} message Order { int64 id = 1; }`
    const registered = await fetch(`${service().registryUrl}/subjects/${unique('order')}/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schemaType: 'PROTOBUF', schema }),
    })
    const { id } = (await registered.json()) as { id: number }
    const made = await client.call<{ id: string }>('POST', '/v1/streams', { name: unique('orders'), schema_id: id })
    expect(made.status).toBe(201)
    const { body } = await client.call<{ schema: object }>('GET', `/v1/streams/${made.body.id}`)
    expect(body.schema).toEqual({ id: 'integer?' })
  })
})

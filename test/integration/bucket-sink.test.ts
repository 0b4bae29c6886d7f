/** Records as objects: each record is in exactly one object, in the folder that the key template gives. */
import { DuckDBInstance } from '@duckdb/node-api'
import kafkajs from 'kafkajs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { bucket, connect, openS3, stream } from '../harness/connectors.ts'
import { createStream, write } from '../harness/pipelines.ts'
import { killProcessors } from '../harness/processes.ts'
import { exactProducer } from '../harness/exact-producer.ts'

let client: Client
let s3: ReturnType<typeof openS3>
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
  s3 = openS3()
})
afterAll(() => s3.close())

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))

describe('a bucket as a sink', () => {
  it('gets every record once as ndjson through kills, in objects named by their offsets', async () => {
    const prefix = `${unique('out')}/`
    const from = await createStream(client, { n: 'integer' }, { partitions: 2 })
    await connect(
      client,
      stream(from.id),
      [],
      bucket({ prefix, key: 'p={partition}', compression: 'zstd', object_bytes: 5000, interval_ms: 300 }),
    )
    const total = 3000
    for (let at = 0; at < total; at += 500) {
      await write(client, from.id, numbers(at, at + 500))
      if (at === 1000) await killProcessors()
    }
    const records = async () => {
      const found: number[] = []
      for (const key of (await s3.keys(prefix)).sort())
        for (const line of zstdDecompressSync(await s3.get(key))
          .toString('utf8')
          .trimEnd()
          .split('\n'))
          found.push(JSON.parse(line).n)
      return found
    }
    await eventually('all records are in objects', async () => (await records()).length >= total, 60_000)
    expect((await records()).sort((a, b) => a - b)).toEqual(numbers(0, total).map(({ n }) => n))
    for (const key of await s3.keys(prefix)) expect(key.slice(prefix.length)).toMatch(/^p=[01]\/pl_[^/]+-[01]-\d{20}-\d{20}\.ndjson\.zst$/)
  })

  it('gets Parquet objects that DuckDB reads back as the same records', async () => {
    const prefix = `${unique('parquet')}/`
    const from = await createStream(client, { n: 'integer', f: 'number', s: 'string', b: 'boolean', at: 'datetime', o: 'object?' })
    await connect(client, stream(from.id), [], bucket({ prefix, format: 'parquet', interval_ms: 300 }))
    await write(client, from.id, [
      { n: 1, f: 1.25, s: 'é"', b: true, at: '2026-01-02T03:04:05.678Z', o: { a: [1] } },
      { n: 9007199254740991, f: -0.5, s: '', b: false, at: '1999-12-31T23:59:59.000Z' },
    ])
    const [key] = await eventually('an object', async () => {
      const keys = await s3.keys(prefix)
      return keys.length > 0 && keys
    })
    const file = join(service().logFolder, 'read-back.parquet')
    await writeFile(file, await s3.get(key!))
    const duck = await (await DuckDBInstance.create(':memory:')).connect()
    const rows = (
      await duck.runAndReadAll(`SELECT n, f, s, b, epoch_ms("at") AS "at", o FROM '${file}' ORDER BY f DESC`)
    ).getRowObjectsJson()
    expect(rows).toEqual([
      { n: '1', f: 1.25, s: 'é"', b: true, at: String(Date.UTC(2026, 0, 2, 3, 4, 5, 678)), o: '{"a":[1]}' },
      { n: '9007199254740991', f: -0.5, s: '', b: false, at: String(Date.UTC(1999, 11, 31, 23, 59, 59)), o: null },
    ])
  })

  it('gets every record in the folder of the record’s own time, through kills', async () => {
    const prefix = `${unique('by-time')}/`
    const name = `${unique('orders')} / 2`
    // Longer than the records' age: the broker deletes records by their own time.
    const from = await createStream(client, { n: 'integer' }, { partitions: 2, name, retention_ms: 300_000_000_000 })
    await connect(client, stream(from.id), [], bucket({ prefix, key: '{stream}/dt={date}/h={hour}', object_bytes: 4000, interval_ms: 300 }))
    const producer = exactProducer(new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }))
    await producer.connect()
    const first = Date.parse('2026-02-27T21:10:00Z')
    const timeOf = (n: number) => first + (n % 97) * 1_800_000
    const total = 2000
    for (let at = 0; at < total; at += 400) {
      const messages = numbers(at, at + 400).map(({ n }) => ({
        partition: n % 2,
        value: Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), Buffer.from(`{"n":${n}}`)]),
        timestamp: String(timeOf(n)),
      }))
      await producer.send({ topic: from.topic, messages })
      if (at === 800) await killProcessors()
    }
    await producer.disconnect()
    const found = async () => {
      const records: [number, string][] = []
      for (const key of await s3.keys(prefix))
        for (const line of Buffer.from(await s3.get(key))
          .toString()
          .trimEnd()
          .split('\n'))
          records.push([JSON.parse(line).n, key.slice(prefix.length, key.lastIndexOf('/'))])
      return records.sort(([a], [b]) => a - b)
    }
    await eventually('all records are in objects', async () => (await found()).length >= total, 60_000)
    const folder = name.replace(' / ', '-')
    expect(await found()).toEqual(
      numbers(0, total).map(({ n }) => {
        const [date, time] = new Date(timeOf(n)).toISOString().split('T') as [string, string]
        return [n, `${folder}/dt=${date}/h=${time.slice(0, 2)}`]
      }),
    )
  })
})

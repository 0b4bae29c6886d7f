/**
 * External sinks under the same faults: a table and a bucket, each fed by its own pipeline from one stream with its own load. In the end
 * each must hold every record once and in order per key, and each poison record must have one dead letter per pipeline.
 */
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import type { Kafka } from 'kafkajs'
import pg from 'pg'
import type { Launched } from '../../deploy/local/launcher.ts'
import { isFolder } from '../../deploy/local/bucket.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { createBits } from './bits.ts'
import { until, type Api } from './client.ts'
import { isPoison, KEYS_PER_PARTITION, recordAt, startLoad, type Load } from './load.ts'
import { readCommitted } from './reader.ts'

/** Unique to this run: a database or bucket given from outside may hold other runs' data. */
const tableOf = ({ env }: Launched): string => `chaos_rows_${env.DPS_PREFIX!.replaceAll(/\W/g, '_')}`
const prefixOf = ({ env }: Launched): string => `${env.DPS_PREFIX}/`
const PARTITIONS = 4
const PAGE_ROWS = 50_000

type Kind = 'table' | 'bucket'
/** Without an S3 server (it is built with Go) the bucket is left out: a folder has no answers that could be lost. */
export type Externals = { topic: string; schemaId: number; pipelines: Partial<Record<Kind, string>> }

/** The faults of one sink: all counts but `records` are zero when it is correct. */
export type ExternalVerdict = {
  records: number
  lost: number
  duplicated: number
  out_of_order: number
  ghosts: number
  letters_missing: number
  /** Dead letters beyond the first of the same record, on the topic: nothing is redriven here, so one failure makes one letter. */
  letters_duplicated: number
}

export const isExactOutside = ({ lost, duplicated, out_of_order, ghosts, letters_missing, letters_duplicated }: ExternalVerdict): boolean =>
  lost + duplicated + out_of_order + ghosts + letters_missing + letters_duplicated === 0

/** `poisonId` is the SmartModule that fails poison records. */
export async function createExternals(api: Api, launched: Launched, poisonId: string): Promise<Externals> {
  const { stack } = launched
  if (!stack.warehouseUrl) throw new Error('chaos needs its own database')
  const body = { name: 'chaos-outside', description: '', schema: { n: 'integer', key: 'string', bad: 'boolean?' }, partitions: PARTITIONS }
  const { id } = await until('the stream of the external sinks', 60_000, () => api<{ id: string }>('POST', '/streams', body))
  const { topic, schema_id } = await api<{ topic: string; schema_id: number }>('GET', `/streams/${id}`)
  const warehouse = new pg.Client({ connectionString: stack.warehouseUrl })
  await warehouse.connect()
  await warehouse.query(`CREATE TABLE ${tableOf(launched)} (id bigserial, n int NOT NULL, key text NOT NULL)`)
  await warehouse.end()
  const create = async (kind: Kind, sink: Record<string, unknown>) => {
    const { pipeline_id } = await api<{ pipeline_id: string }>('POST', '/pipelines', {
      name: `chaos-${kind}`,
      source: { connector_id: 'conn_stream', config: { stream_id: id } },
      processors: [{ module_id: poisonId, config: {} }],
      sink,
      tasks: 2,
    })
    return pipeline_id
  }
  const objects = { prefix: prefixOf(launched), bucket: stack.bucket.name, interval_ms: 3000 }
  return {
    topic,
    schemaId: schema_id,
    pipelines: {
      table: await create('table', { connector_id: 'conn_table', config: { table: tableOf(launched), batch_size: 1000 } }),
      ...(isFolder(stack.bucket) ? {} : { bucket: await create('bucket', { connector_id: 'conn_storage_bucket', config: objects }) }),
    },
  }
}

export const startExternalLoad = (
  cluster: Cluster,
  kafka: Kafka,
  { topic, schemaId }: Externals,
  recordsPerSecond: number,
): Promise<Load> => startLoad({ cluster, kafka, topic, schemaId, recordsPerSecond, partitions: PARTITIONS, abortedEveryMs: 11_000 })

/** Judges the records of a sink one by one, given in order per key; `end` adds what is missing, and judges the dead letters. */
export function createJudge(acknowledged: readonly number[]) {
  const seen = acknowledged.map(createBits)
  const lastN = new Map<string, number>()
  const verdict = { records: 0, lost: 0, duplicated: 0, out_of_order: 0, ghosts: 0, letters_missing: 0, letters_duplicated: 0 }
  return {
    take(key: string, n: number): void {
      const [partition = -1, ordinal = -1] = key.slice(1).split('-').map(Number)
      const index = n * KEYS_PER_PARTITION + ordinal
      if (n < 0 || !(index < (acknowledged[partition] ?? 0)) || recordAt(partition, index).key !== key || isPoison(n)) verdict.ghosts++
      else if (!seen[partition]!.add(index)) verdict.duplicated++
      else if (n < (lastN.get(key) ?? -1)) verdict.out_of_order++
      lastN.set(key, Math.max(n, lastN.get(key) ?? -1))
      verdict.records++
    },
    /** `deadLettered`: each record's dead letters in the topic. `listed`: how many the API lists; it hides copies of the same failure. */
    end(deadLettered: ReadonlyMap<string, number>, listed: number): ExternalVerdict {
      let poison = 0
      for (const [partition, count] of acknowledged.entries())
        for (let index = 0; index < count; index++) {
          const { key, n } = recordAt(partition, index)
          if (isPoison(n)) {
            poison++
            if (!deadLettered.has(`${key}/${n}`)) verdict.letters_missing++
          } else if (!seen[partition]!.has(index)) verdict.lost++
        }
      // Exactly the poison records have a dead letter.
      verdict.letters_missing += Math.abs(poison - deadLettered.size) + Math.abs(poison - listed)
      for (const letters of deadLettered.values()) verdict.letters_duplicated += letters - 1
      return verdict
    },
  }
}

async function eachRow(launched: Launched, take: (key: string, n: number) => void): Promise<void> {
  const client = new pg.Client({ connectionString: launched.stack.warehouseUrl })
  await client.connect()
  try {
    for (let after = '0'; ;) {
      const { rows } = await client.query<{ id: string; n: number; key: string }>(
        `SELECT id, n, key FROM ${tableOf(launched)} WHERE id > $1 ORDER BY id LIMIT ${PAGE_ROWS}`,
        [after],
      )
      if (rows.length === 0) return
      for (const { key, n } of rows) take(key, n)
      after = rows.at(-1)!.id
    }
  } finally {
    await client.end()
  }
}

/** Object names hold the partition and the first offset, so name order keeps each partition's order. */
async function eachObjectLine(launched: Launched, take: (key: string, n: number) => void): Promise<void> {
  const { bucket } = launched.stack
  if (isFolder(bucket)) return
  const { endpoint, access_key: accessKeyId, secret_key: secretAccessKey, name: Bucket } = bucket
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } })
  try {
    for (let token: string | undefined; ;) {
      const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix: prefixOf(launched), ContinuationToken: token }))
      for (const { Key } of page.Contents ?? []) {
        const text = await (await client.send(new GetObjectCommand({ Bucket, Key }))).Body!.transformToString()
        for (const line of text.split('\n').filter(Boolean)) {
          const { key, n } = JSON.parse(line) as { key: string; n: number }
          take(key, n)
        }
      }
      token = page.NextContinuationToken
      if (!page.IsTruncated) return
    }
  } finally {
    client.destroy()
  }
}

/** Waits until each sink has everything, then judges what it holds. */
export async function judgeExternals(
  api: Api,
  cluster: Cluster,
  launched: Launched,
  externals: Externals,
  load: Load,
  say: (line: string) => void,
): Promise<Partial<Record<Kind, ExternalVerdict>>> {
  const { pipelines } = externals
  const acknowledged = load.acknowledged()
  const readers: Record<Kind, (take: (key: string, n: number) => void) => Promise<void>> = {
    table: (take) => eachRow(launched, take),
    bucket: (take) => eachObjectLine(launched, take),
  }
  const verdicts: Partial<Record<Kind, ExternalVerdict>> = {}
  for (const kind of ['table', 'bucket'] as const) {
    const id = pipelines[kind]
    if (id === undefined) continue
    const written = acknowledged.reduce((sum, count) => sum + count, 0)
    await until(`the ${kind} has everything`, 90_000, async () => {
      const { totals } = await api<{ totals: Record<string, number> }>('GET', `/pipelines/${id}/accounting`)
      return totals.in === written && totals.in_flight === 0
    }).catch((error: Error) => say(`${error.message}: missing records count as lost`))
    const judge = createJudge(acknowledged)
    await readers[kind](judge.take)
    const { total } = await api<{ total: number }>('GET', `/pipelines/${id}/dead-letters?page_size=1`)
    verdicts[kind] = judge.end(await letteredOf(cluster, externals, id), total)
  }
  return verdicts
}

const N = /"n":(-?\d+)/

/** How many dead letters each record has in the pipeline's topic, by `key/n`. */
async function letteredOf(cluster: Cluster, { topic }: Externals, pipelineId: string): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  const accountPart = topic.slice(0, topic.lastIndexOf('.'))
  await readCommitted(cluster, `${accountPart}.${pipelineId}.dead-letters`, (_partition, _offset, key, bytes) => {
    const record = `${key}/${N.exec(bytes.toString('latin1', 5))?.[1]}`
    found.set(record, (found.get(record) ?? 0) + 1)
  })
  return found
}

/**
 * Connectors (`SUITE=connectors`): a bucket of ndjson into a stream; a stream into a table, compared with COPY and INSERT by hand; a stream
 * into a bucket, compared with the pump; a table's changes, compared with pg_recvlogical. All parts are local, and outputs are counted.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import type { Kafka } from 'kafkajs'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Home } from '../../deploy/local/home.ts'
import { startBucket } from '../../deploy/local/bucket.ts'
import { createWarehouse, NATIVE_FOLDER, startPostgres } from '../../deploy/local/postgres.ts'
import { ensureTopics } from '../../shared/kafka/admin/admin.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { serviceNames, type PipelineDefinition } from '../../shared/model/definition.ts'
import { formatTextOf } from '../../shared/model/stream-formats.ts'
import { openCodec } from '../../shared/codecs/codecs.ts'
import { ON_ERROR_DEFAULT } from '../../shared/model/policies.ts'
import { startContender, type Run } from './child-runs.ts'
import { startBenchProcessor, type BenchProcessor, type BenchProcessorOptions } from './processor.ts'
import { runPipeline } from './processor-runs.ts'
import { PARTITIONS, RECORD_COUNT, recordOf } from './records.ts'
import { resources } from './resources.ts'

const run = promisify(execFile)
const PREFIX = 'connectors'
const OBJECTS = 100
/** The size of all objects together. */
const OBJECT_BYTES = Number(process.env.BUCKET_BYTES || 1 << 30)
const CHANGES = 500_000
const INSERT_ROWS = 200_000
const INSERT_BATCH = 500
const INSERT_REPEATS = 4
const FIELDS = { id: 'integer', user: 'string', amount: 'integer', text: 'string', ts: 'datetime' }
const TABLE = `(id bigint, "user" text, amount bigint, text text, ts timestamptz)`
/** The first run of each is a warm-up and does not count, because pipelines run for weeks. */
const REPEATS = 6
const CONVERSIONS = 100_000

type Options = Omit<BenchProcessorOptions, 'prefix'> & {
  kafka: Kafka
  cluster: Cluster
  inputTopic: string
  home: Home
  say: (line: string) => void
}
type Speed = { records_per_second: number; cpu_seconds_per_million: number | null }

const speedOf = ({ records, seconds, cpuSeconds }: Pick<Run, 'records' | 'seconds'> & { cpuSeconds?: number }): Speed => ({
  records_per_second: Math.round(records / seconds),
  cpu_seconds_per_million: cpuSeconds === undefined ? null : Math.round((cpuSeconds / records) * 1e8) / 100,
})
const measured = <T>(runs: T[]): T[] => runs.slice(1)
const median = <T extends { seconds: number }>(runs: T[]): T => runs.toSorted((a, b) => a.seconds - b.seconds)[runs.length >> 1]!
const sinkOf = (connector_id: string, config: Record<string, unknown>): PipelineDefinition['sink'] => ({
  kind: 'connector',
  connector_id,
  config,
  fields: FIELDS,
  on_error: ON_ERROR_DEFAULT,
})

export async function measureConnectors(options: Options): Promise<Record<string, unknown>> {
  const { kafka, cluster, inputTopic, home, say } = options
  const [postgres, bucket] = [await startPostgres(home), await startBucket(home, say)]
  const warehouseUrl = await createWarehouse(postgres.url)
  const warehouse = new pg.Client({ connectionString: warehouseUrl })
  await warehouse.connect()
  const processor = await startBenchProcessor({
    ...options,
    prefix: PREFIX,
    env: {
      WAREHOUSE_URL: warehouseUrl,
      BUCKET_ENDPOINT: bucket.endpoint,
      BUCKET_ACCESS_KEY: bucket.access_key,
      BUCKET_SECRET_KEY: bucket.secret_key,
    },
  })
  const s3 = new S3Client({
    endpoint: bucket.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: bucket.access_key, secretAccessKey: bucket.secret_key },
  })
  const outcome: Record<string, unknown> = {}
  const told = (name: string, speed: Speed, more = '') => {
    outcome[name] = speed
    const cpu = speed.cpu_seconds_per_million === null ? '' : `${speed.cpu_seconds_per_million.toFixed(2)} CPU-s/million`
    say(`${name.padEnd(28)} ${speed.records_per_second.toLocaleString('en').padStart(10)} records/s  ${cpu} ${more}`)
  }
  try {
    for (const format of ['avro', 'protobuf'] as const) {
      outcome[`${format}_ns_per_record`] = conversionNs(format)
      say(`${format}: ${JSON.stringify(outcome[`${format}_ns_per_record`])} ns a record`)
    }

    // Stream → table, COPY and INSERT by hand, in turns.
    const copied: Run[] = []
    const byCopy: { records: number; seconds: number }[] = []
    const rows = copyRows()
    for (let round = 0; round < REPEATS; round++) {
      await warehouse.query(`DROP TABLE IF EXISTS bench; CREATE TABLE bench ${TABLE}`)
      byCopy.push(await copyByHand(warehouse, rows))
      await warehouse.query(`DROP TABLE bench; CREATE TABLE bench ${TABLE}`)
      copied.push(
        await runPipeline(kafka, cluster, [processor], [], {
          inputTopic,
          outputTopic: `to-table-${round}`,
          partitions: PARTITIONS,
          sink: sinkOf('conn_table', { table: 'bench' }),
        }),
      )
      const { rows: counted } = await warehouse.query('SELECT count(*)::int AS c, count(DISTINCT id)::int AS d FROM bench')
      if (counted[0].c !== RECORD_COUNT || counted[0].d !== RECORD_COUNT) throw new Error(`the table has ${JSON.stringify(counted[0])}`)
    }
    const byInsert: typeof byCopy = []
    for (let round = 0; round < INSERT_REPEATS; round++) {
      await warehouse.query(`TRUNCATE bench`)
      byInsert.push(await insertByHand(warehouse))
    }
    const inserted = median(measured(byInsert))
    const ours = speedOf(median(measured(copied)))
    const copy = speedOf(median(measured(byCopy)))
    told('copy_by_hand', copy)
    told(`insert_${INSERT_BATCH}_by_hand`, speedOf(inserted))
    told('stream_to_table', ours)
    outcome.table_of_copy = ratio(ours, copy)
    outcome.table_of_insert = ratio(ours, speedOf(inserted))
    say(`stream → table: ${outcome.table_of_copy} of COPY, ${outcome.table_of_insert} × INSERT of ${INSERT_BATCH} rows`)

    // Stream → bucket and the pump, in turns.
    const [broker] = options.brokers as [string]
    const pump = startContender(join(import.meta.dirname, 'pump.ts'), [broker, inputTopic])
    const pumped: Run[] = []
    const stored: Run[] = []
    for (let round = 0; round < REPEATS; round++) {
      await ensureOutput(kafka, `connectors-pump-${round}`)
      pumped.push(await pump.run(`connectors-pump-${round}`))
      stored.push(
        await runPipeline(kafka, cluster, [processor], [], {
          inputTopic,
          outputTopic: `to-bucket-${round}`,
          partitions: PARTITIONS,
          sink: sinkOf('conn_storage_bucket', {
            bucket: bucket.name,
            prefix: `out-${round}/`,
            compression: 'zstd',
            object_bytes: 8 << 20,
            interval_ms: 200,
          }),
        }),
      )
    }
    pump.close()
    told('pump', speedOf(median(measured(pumped))))
    told('stream_to_bucket_zstd', speedOf(median(measured(stored))))
    outcome.bucket_of_pump = ratio(speedOf(median(measured(stored))), speedOf(median(measured(pumped))))
    const { KeyCount } = await s3.send(new ListObjectsV2Command({ Bucket: bucket.name, Prefix: 'out-0/' }))
    say(`stream → bucket: ${outcome.bucket_of_pump} of the pump (which writes half of the bytes); ${KeyCount} objects a run`)

    const perObject = Math.floor(OBJECT_BYTES / OBJECTS / 160)
    const body = Array.from({ length: perObject }, (_, id) => JSON.stringify(recordOf(id))).join('\n')
    for (let object = 0; object < OBJECTS; object++)
      await s3.send(new PutObjectCommand({ Bucket: bucket.name, Key: `in/part-${object}.ndjson`, Body: body }))
    const source = { connector_id: 'conn_storage_bucket', config: { bucket: bucket.name, prefix: 'in/' } }
    told(
      'bucket_to_stream',
      speedOf(await runSource(options, processor, 'pl_bucket', source, perObject * OBJECTS)),
      `(${OBJECTS} objects, ${Math.round((body.length * OBJECTS) / 1e6)} MB)`,
    )

    await warehouse.query(`CREATE TABLE changing (id int PRIMARY KEY, text text, amount int)`)
    const replication = { connector_id: 'conn_table', config: { table: 'changing' } }
    const change = () =>
      warehouse.query(`INSERT INTO changing SELECT n, 'lorem ipsum dolor sit amet ' || n, n % 100 FROM generate_series(1, ${CHANGES}) n`)
    const changes = speedOf(await runSource(options, processor, 'pl_changes', replication, CHANGES, change))
    told('replication_to_stream', changes)
    const received = await receiveLogical(warehouse, warehouseUrl)
    if (received) {
      told('pg_recvlogical', speedOf(received))
      outcome.replication_of_recvlogical = ratio(changes, speedOf(received))
    } else say('pg_recvlogical is not among the Postgres binaries here: not measured')
    return outcome
  } finally {
    s3.destroy()
    await processor.close()
    await warehouse.end().catch(() => {})
    await bucket.child?.stop()
    await postgres.child.stop()
  }
}

/** What the conversion of a stream that is not JSON costs a chain: nanoseconds per record on one core. */
function conversionNs(format: 'avro' | 'protobuf'): { to_json: number; from_json: number } {
  const codec = openCodec(format, { text: formatTextOf(format, FIELDS), references: [] })
  const texts = Array.from({ length: CONVERSIONS }, (_, id) => JSON.stringify(recordOf(id)))
  const values = texts.map((text) => codec.fromJson(text))
  const timed = (work: () => void): number => {
    work()
    const from = performance.now()
    work()
    return Math.round(((performance.now() - from) * 1e6) / CONVERSIONS)
  }
  return {
    to_json: timed(() => values.forEach((value) => void codec.toJson(value))),
    from_json: timed(() => texts.forEach((text) => void codec.fromJson(text))),
  }
}

const ratio = (a: Speed, b: Speed): number => Math.round((a.records_per_second / b.records_per_second) * 100) / 100

async function ensureOutput(kafka: Kafka, topic: string): Promise<void> {
  const admin = kafka.admin()
  await admin.connect()
  await ensureTopics(admin, [{ topic, partitions: PARTITIONS, replicationFactor: 1, config: { 'retention.ms': '-1' } }])
  await admin.disconnect()
}

/** What a client with prepared rows would send. */
function copyRows(): Buffer[] {
  return Array.from({ length: RECORD_COUNT / 1000 }, (_, block) =>
    Buffer.from(
      Array.from({ length: 1000 }, (__, index) => {
        const { id, user, amount, text, ts } = recordOf(block * 1000 + index)
        return `${id}\t${user}\t${amount}\t${text}\t${ts}\n`
      }).join(''),
    ),
  )
}

async function copyByHand(client: pg.Client, rows: Buffer[]): Promise<{ records: number; seconds: number }> {
  const from = performance.now()
  await pipeline(Readable.from(rows, { objectMode: false }), client.query(copyFrom('COPY bench FROM STDIN')))
  return { records: RECORD_COUNT, seconds: (performance.now() - from) / 1000 }
}

async function insertByHand(client: pg.Client): Promise<{ records: number; seconds: number }> {
  const from = performance.now()
  for (let at = 0; at < INSERT_ROWS; at += INSERT_BATCH) {
    const values: unknown[] = []
    const places = Array.from({ length: INSERT_BATCH }, (_, row) => {
      const { id, user, amount, text, ts } = recordOf(at + row)
      values.push(id, user, amount, text, ts)
      return `($${row * 5 + 1}, $${row * 5 + 2}, $${row * 5 + 3}, $${row * 5 + 4}, $${row * 5 + 5})`
    })
    await client.query(`INSERT INTO bench VALUES ${places.join(', ')}`, values)
  }
  return { records: INSERT_ROWS, seconds: (performance.now() - from) / 1000 }
}

/** Runs an external source into a stream; `change` makes the records once the source is being read. */
async function runSource(
  { kafka, cluster }: Options,
  processor: BenchProcessor,
  id: string,
  source: { connector_id: string; config: Record<string, unknown> },
  records: number,
  change?: () => Promise<unknown>,
): Promise<Run> {
  const names = serviceNames(PREFIX)
  const [intake, sink, dead] = [names.intakeTopic('acc_bench', id), `${id}-sink`, `${id}-dead`] as const
  const admin = kafka.admin()
  await admin.connect()
  const topic = (name: string, partitions: number, config = {}) => ({ topic: name, partitions, replicationFactor: 1, config })
  await ensureTopics(admin, [
    topic(intake, PARTITIONS),
    topic(sink, PARTITIONS),
    topic(dead, PARTITIONS),
    topic(names.seenTopic('acc_bench', id), 1, { 'cleanup.policy': 'compact' }),
  ])
  await admin.disconnect()
  const definition: PipelineDefinition = {
    ...processor.definition(id, [], { source: intake, sink, deadLetters: dead }),
    source: { kind: 'connector', topic: intake, partitions: PARTITIONS, ...source },
  }
  const layout = (await cluster.describeTopic(intake))!
  await cluster.ensureStartOffsets(definition.group_id, layout)
  await cluster.ensureStartOffsets(names.intakeGroup(id), layout)
  const before = resources(processor.pid)
  let from = performance.now()
  await processor.publish(definition, 'running')
  if (change) {
    await new Promise((resolve) => setTimeout(resolve, 4000))
    await change()
    from = performance.now()
  }
  const partitions = layout.leaders.map((_, partition) => partition)
  // The offsets of the chain's input count markers too; those of the intake's group count records.
  for (let done = 0; done < records;) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const read = await cluster.committedOffsets(names.intakeGroup(id), intake, partitions)
    done = [...read.values()].reduce((sum, { offset }) => sum + Number(offset), 0)
    if (performance.now() - from > 180_000) throw new Error(`${id} did not finish: ${done} of ${records}`)
  }
  const ends = await cluster.offsets(layout, partitions, 'latest')
  for (let isBehind = true; isBehind;) {
    const committed = await cluster.committedOffsets(definition.group_id, intake, partitions)
    isBehind = partitions.some((partition) => (committed.get(partition)?.offset ?? 0n) + 2n < (ends.get(partition) ?? 0n))
    if (isBehind) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const seconds = (performance.now() - from) / 1000
  const after = resources(processor.pid)
  await processor.publish(definition, 'stopped')
  return { records, seconds, cpuSeconds: after.cpuSeconds - before.cpuSeconds, rssMib: after.rssMib }
}

/** The same changes through Postgres' own client; undefined where it is not installed. */
async function receiveLogical(client: pg.Client, url: string): Promise<{ records: number; seconds: number } | undefined> {
  const binary = join(NATIVE_FOLDER, 'bin', 'pg_recvlogical')
  if (!existsSync(binary)) return undefined
  await client.query(`CREATE PUBLICATION bench_received FOR TABLE changing`)
  await client.query(`SELECT pg_create_logical_replication_slot('bench_received', 'pgoutput')`)
  await client.query(`UPDATE changing SET amount = amount + 1`)
  const { rows } = await client.query<{ lsn: string }>('SELECT pg_current_wal_lsn() AS lsn')
  const from = performance.now()
  await run(
    binary,
    [
      '-d',
      url,
      '--slot',
      'bench_received',
      '--start',
      '--endpos',
      rows[0]!.lsn,
      '-o',
      'proto_version=1',
      '-o',
      'publication_names=bench_received',
      '-f',
      '/dev/null',
    ],
    { timeout: 120_000 },
  )
  return { records: CHANGES, seconds: (performance.now() - from) / 1000 }
}

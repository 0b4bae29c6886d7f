/**
 * `make bench SUITE=product`: the time that a customer waits and the CPU that they pay for, from `POST /pipelines` until the last of a
 * million records is visible to a read-committed reader, with batches as ordinary producers send them. It is compared with thin programs
 * written for this one job and timed from their start. They take turns, three times each (REPEATS), over a million records (RECORDS),
 * after a round that does not count: a broker and a service that have just started are slower than those that customers meet. For each
 * batch size, one output of each is verified record by record. CPU is that of the processor or of the thin program; the control plane's
 * is not included.
 */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { launch, type Launched } from '../../deploy/local/launcher.ts'
import { createKafka, ensureTopics } from '../../shared/kafka/admin/admin.ts'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { encodeBatch, stampProducer } from '../../shared/kafka/protocol/record-batch.ts'
import { produceBatches } from '../../shared/kafka/wire/produce.ts'
import { median, round2 } from './contenders.ts'
import { measureBetween, type Latency } from './latency.ts'
import { framed, isKept, PARTITIONS, RECORD_COUNT, recordOf } from './records.ts'
import { resources } from './resources.ts'
import { buildThinPrograms, type Thin } from './thin/build.ts'
import { verifyOutput } from './verify.ts'
import { untilVisible } from './witness.ts'

const REPEATS = Number(process.env.REPEATS || 3)
const BATCH_KIB = [2, 16, 256]
const RUN_MS_MAX = 180_000
const VALUE_BYTES = 200
const RATES = [10_000, 100_000]
const LATENCY_SECONDS = 20
const SCHEMA = { id: 'integer', user: 'string', amount: 'number', text: 'string', ts: 'datetime' }
const STEPS = [
  { name: 'dps/filter', config: { field: 'amount', operator: 'gte', value: 50 } },
  { name: 'dps/map-fields', config: { uppercase: ['text'] } },
]

export type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>
type Timed = { seconds: number; firstSeconds: number; cpuSeconds: number }
type Stream = { id: string; topic: string; schemaId: number }

async function logIn(launched: Launched): Promise<Call> {
  const { api_key, api_secret } = await launched.createAccount('Bench', 'enterprise')
  const json = { 'content-type': 'application/json' }
  const call = async <T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> => {
    const answer = await fetch(`${launched.apiUrl}/v1${path}`, {
      method,
      headers: { ...json, ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
  const { access_token } = await call<{ access_token: string }>('POST', '/auth/token', { api_key, api_secret })
  return (method, path, body) => call(method, path, body, { authorization: `Bearer ${access_token}` })
}

/** Writes batches of about `kib` KB, as a producer does that hardly waits for more records. */
async function fill(cluster: Cluster, { topic, schemaId }: Stream, kib: number): Promise<void> {
  const layout = (await cluster.describeTopic(topic))!
  const connections = cluster.openConnections(`fill-${kib}`)
  const connection = await connections.leader(layout.leaders[0]!)
  const perBatch = Math.max(1, Math.floor((kib << 10) / VALUE_BYTES))
  const perPartition = RECORD_COUNT / PARTITIONS
  try {
    for (let from = 0; from < perPartition; from += perBatch) {
      const partitions = Array.from({ length: PARTITIONS }, (_, partition) => {
        const count = Math.min(perBatch, perPartition - from)
        const records = Array.from({ length: count }, (_, offsetDelta) => {
          const record = recordOf((from + offsetDelta) * PARTITIONS + partition)
          const value = framed(JSON.stringify(record), schemaId)
          return { offsetDelta, timestampDelta: BigInt(offsetDelta), key: Buffer.from(record.user), value, headers: [] }
        })
        const batch = encodeBatch(records, BigInt(Date.now()), 0)
        stampProducer(batch, -1n, -1, -1)
        return { partition, batch }
      })
      const answers = await produceBatches(connection, null, [{ topic, partitions }])
      const refused = answers.find(({ errorCode }) => errorCode !== 0)
      if (refused) throw new Error(`${topic}: produce answered ${refused.errorCode}`)
    }
  } finally {
    await connections.close()
  }
}

export async function measureProduct(say: (line: string) => void) {
  const programs = await buildThinPrograms()
  for (const { name, reason } of programs) if (reason) say(`${name}: not measured, ${reason}`)
  const launched = await launch({
    processors: 1,
    way: 'processes',
    // A broker with the JVM flags of a server, the same for all.
    kafka: { serverFlags: true },
    say: () => {},
    prefix: 'product',
    env: { LOG_LEVEL: 'warn' },
  })
  const brokers = launched.env.KAFKA_BROKERS!.split(',')
  const cluster = openCluster({ brokers, clientId: 'bench' })
  const kafka = createKafka(brokers, 'bench')
  const admin = kafka.admin()
  await admin.connect()
  try {
    const call = await logIn(launched)
    const pid = launched.processors[0]!.pid()!
    const kept = Array.from({ length: RECORD_COUNT }, (_, id) => recordOf(id)).filter(isKept).length
    const upper = (id: number) => ({ ...recordOf(id), text: recordOf(id).text.toUpperCase() })
    const verified = new Set<string>()

    async function createStream(name: string): Promise<Stream> {
      const { id } = await call<{ id: string }>('POST', '/streams', { name, schema: SCHEMA, partitions: PARTITIONS })
      const { topic, schema_id } = await call<{ topic: string; schema_id: number }>('GET', `/streams/${id}`)
      return { id, topic, schemaId: schema_id }
    }

    async function createPipeline(name: string, source: Stream, sink: Stream): Promise<string> {
      const { pipeline_id } = await call<{ pipeline_id: string }>('POST', '/pipelines', {
        name,
        source: { connector_id: 'conn_stream', config: { stream_id: source.id } },
        processors: STEPS.map((step) => ({ module_id: step.name, config: step.config })),
        sink: { connector_id: 'conn_stream', config: { stream_id: sink.id } },
      })
      return pipeline_id
    }

    async function verify(who: string, topic: string): Promise<void> {
      if (verified.has(who)) return
      await verifyOutput(kafka, topic, { count: kept, recordAt: upper })
      verified.add(who)
    }

    async function runProduct(source: Stream, label: string): Promise<Timed> {
      const sink = await createStream(`out-${label}`)
      const before = resources(pid).cpuSeconds
      const from = performance.now()
      const pipelineId = await createPipeline(`run-${label}`, source, sink)
      let cpuSeconds = 0
      const onMove = () => (cpuSeconds = resources(pid).cpuSeconds - before)
      const { firstAt, lastAt } = await untilVisible(cluster, sink.topic, kept, RUN_MS_MAX, onMove)
      await verify(`product, ${label.split('-')[0]} KB`, sink.topic)
      await call('DELETE', `/pipelines/${pipelineId}`)
      // The pipeline's tasks may still be leaving.
      for (let tries = 0; ; tries++) {
        const gone = await call('DELETE', `/streams/${sink.id}`).then(
          () => true,
          () => false,
        )
        if (gone || tries >= 50) break
        await sleep(200)
      }
      return { seconds: (lastAt - from) / 1000, firstSeconds: (firstAt - from) / 1000, cpuSeconds }
    }

    async function runThin({ name, path }: Thin, source: Stream, label: string): Promise<Timed> {
      const topic = `thin-${label}`
      await ensureTopics(admin, [{ topic, partitions: PARTITIONS, replicationFactor: 1, config: { 'retention.ms': '-1' } }])
      const from = performance.now()
      const child = spawn(path!, [brokers.join(','), source.topic, topic, topic], { stdio: ['ignore', 'ignore', 'inherit'] })
      const ended = new Promise<never>((_resolve, reject) => {
        child.once('error', reject)
        child.once('exit', (code) => reject(new Error(`${name} ended with code ${code} before its work was done`)))
      })
      ended.catch(() => {})
      launched.stack.home.reaper.watch(child.pid!)
      try {
        let cpuSeconds = 0
        const onMove = () => ({ cpuSeconds } = resources(child.pid!))
        const { firstAt, lastAt } = await Promise.race([untilVisible(cluster, topic, kept, RUN_MS_MAX, onMove), ended])
        await verify(`${name}, ${label.split('-')[0]} KB`, topic)
        return { seconds: (lastAt - from) / 1000, firstSeconds: (firstAt - from) / 1000, cpuSeconds }
      } finally {
        child.kill('SIGKILL')
        await ended.catch(() => {})
        await admin.deleteTopics({ topics: [topic] })
      }
    }

    const found: Record<string, Record<string, { seconds: number; cpu_seconds_per_million: number; times_ours?: number }>> = {}
    for (const kib of BATCH_KIB) {
      const source = await createStream(`in-${kib}`)
      await fill(cluster, source, kib)
      const runs = new Map<string, Timed[]>()
      // Round 0 does not count.
      for (let round = 0; round <= REPEATS; round++) {
        const contestants: [string, () => Promise<Timed>][] = [
          ['product', () => runProduct(source, `${kib}-${round}`)],
          ...programs
            .filter(({ path }) => path)
            .map((thin, at): [string, () => Promise<Timed>] => [thin.name, () => runThin(thin, source, `${kib}-${round}-${at}`)]),
        ]
        for (const [name, run] of contestants) {
          const timed = await run()
          if (round > 0) runs.set(name, [...(runs.get(name) ?? []), timed])
          say(
            `batches of ${kib} KB, ${round > 0 ? `${round}/${REPEATS}` : 'warm-up'} ${name.padEnd(28)} ${timed.seconds.toFixed(2)} s (the first after ${timed.firstSeconds.toFixed(2)} s) ${timed.cpuSeconds.toFixed(2)} CPU-s`,
          )
        }
      }
      const ours = median(runs.get('product')!.map(({ seconds }) => seconds))
      found[`${kib}_kb`] = Object.fromEntries(
        [...runs].map(([name, timed]) => {
          const seconds = median(timed.map((each) => each.seconds))
          const cpu = (median(timed.map((each) => each.cpuSeconds)) * 1e6) / RECORD_COUNT
          return [name, { seconds: round2(seconds), cpu_seconds_per_million: round2(cpu), times_ours: round2(seconds / ours) }]
        }),
      )
      await call('DELETE', `/streams/${source.id}`)
    }
    say('\nmedian of the runs: seconds, CPU seconds per million, times as long as ours')
    for (const [size, rows] of Object.entries(found))
      for (const [name, { seconds, cpu_seconds_per_million, times_ours }] of Object.entries(rows))
        say(
          `${size.padEnd(8)} ${name.padEnd(28)} ${seconds.toFixed(2).padStart(7)} ${cpu_seconds_per_million.toFixed(2).padStart(7)} ${String(times_ours).padStart(7)}`,
        )

    const latency_ms: Record<string, Latency> = {}
    for (const rate of RATES) {
      const [source, sink] = [await createStream(`steady-in-${rate}`), await createStream(`steady-out-${rate}`)]
      await createPipeline(`steady-${rate}`, source, sink)
      const layouts = [(await cluster.describeTopic(source.topic))!, (await cluster.describeTopic(sink.topic))!] as const
      await sleep(2000)
      const latency = await measureBetween(cluster, ...layouts, rate, LATENCY_SECONDS, source.schemaId)
      latency_ms[rate] = latency
      say(`latency at ${rate.toLocaleString('en')}/s: p50 ${latency.p50} ms, p99 ${latency.p99} ms, max ${latency.max} ms`)
    }
    return { runs: found, latency_ms }
  } finally {
    await admin.disconnect()
    await cluster.close()
    await launched.close()
  }
}

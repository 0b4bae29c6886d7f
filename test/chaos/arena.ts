/**
 * Where chaos happens: three brokers behind proxies, three processors, two control planes and their stores, all real processes; one
 * pipeline of two steps with eight partitions and three tasks, and two pipelines that end in a table and in a bucket.
 */
import type { Kafka } from 'kafkajs'
import { freePorts } from '../../deploy/local/ports.ts'
import { launch, type Launched } from '../../deploy/local/launcher.ts'
import type { Service } from '../../deploy/local/service.ts'
import { createKafka } from '../../shared/kafka/admin/admin.ts'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { patientCluster } from './ask-again.ts'
import { openApi, until, type Api } from './client.ts'
import { createExternals, type Externals } from './externals.ts'
import { openProxy, type Proxy } from './proxy.ts'

export const PARTITIONS = 8

/** Fails the records that the load marks as bad. */
const POISON_MODULE = `import { Record, Path, Kind } from 'dps'
const path = new Path('bad')
export function filter(record: Record): bool {
  if (record.find(path).kind != Kind.Missing) record.fail('poison', 66)
  return true
}`

let poison: Promise<Buffer> | undefined
/** Compiled once: that keeps this process, which also runs the proxies and the clients, for seconds. */
export const poisonBinary = (): Promise<Buffer> => (poison ??= compileSmartModule(POISON_MODULE).then((bytes) => Buffer.from(bytes)))

export type Arena = {
  launched: Launched
  cluster: Cluster
  kafka: Kafka
  proxies: Proxy[]
  controlPlanes: Service[]
  api: Api
  externals: Externals
  pipeline: { id: string; sourceTopic: string; sinkTopic: string; deadLetterTopic: string; schemaId: number; moduleIds: string[] }
  /** The last revision that the API has accepted. */
  revision: number
  kills: number
  say(line: string): void
  close(): Promise<void>
}

export async function openArena(prefix: string, say: (line: string) => void): Promise<Arena> {
  const proxyPorts = await freePorts(3)
  const proxies: Proxy[] = []
  const targets = new Map<number, number>()
  for (const port of proxyPorts) proxies.push(await openProxy(port, () => targets.get(port) ?? 1))
  const launched = await launch({
    processors: 0,
    // Chaos kills the parts, so they must be processes that we have started.
    way: 'processes',
    kafka: { count: 3, proxyPorts },
    prefix,
    env: { REPLICATION_FACTOR: '3', LOG_LEVEL: 'info' },
    processorEnv: { KAFKA_BROKERS: proxyPorts.map((port) => `127.0.0.1:${port}`).join(',') },
    say,
  })
  try {
    const { stack } = launched
    if (!stack.kafka) throw new Error('chaos needs its own brokers: unset KAFKA_BROKERS')
    for (const [index, node] of stack.kafka.nodes.entries()) targets.set(proxyPorts[index]!, node.proxiedPort)
    await Promise.all([launched.addProcessor(), launched.addProcessor(), launched.addProcessor()])
    const cluster = patientCluster(openCluster({ brokers: stack.kafkaBrokers, clientId: 'chaos' }))
    const kafka = createKafka(stack.kafkaBrokers, 'chaos-oracle')
    const second = await launched.addControlPlane()
    const api = await openApi(launched, [launched.apiUrl, second.apiUrl])
    const pipeline = await createPipeline(api)
    const externals = await createExternals(api, launched, pipeline.moduleIds[1]!)
    return {
      launched,
      cluster,
      kafka,
      proxies,
      controlPlanes: [launched.controlPlane, second.service],
      api,
      pipeline,
      externals,
      revision: 1,
      kills: 0,
      say,
      async close() {
        await cluster.close().catch(() => {})
        await launched.close()
        await Promise.allSettled(proxies.map((proxy) => proxy.close()))
      },
    }
  } catch (error) {
    await launched.close()
    await Promise.allSettled(proxies.map((proxy) => proxy.close()))
    throw error
  }
}

/** Step 1 marks each record with the revision, step 2 fails the poison records. */
export const stepsOf = (moduleIds: string[], revision: number) => [
  { module_id: moduleIds[0]!, config: { set: { rev: revision } } },
  { module_id: moduleIds[1]!, config: {} },
]

async function createPipeline(api: Api): Promise<Arena['pipeline']> {
  const stream = async (name: string) => {
    const fields = { n: 'integer', key: 'string', bad: 'boolean?', rev: 'integer?' }
    const body = { name, description: '', schema: fields, partitions: PARTITIONS }
    // While the brokers have only just started, the API may answer 503; any client has to retry then.
    const { id } = await until(`the stream ${name}`, 60_000, () => api<{ id: string }>('POST', '/streams', body))
    return api<{ id: string; topic: string; schema_id: number }>('GET', `/streams/${id}`)
  }
  const source = await stream('chaos-source')
  const sink = await stream('chaos-sink')
  const { modules } = await api<{ modules: { id: string }[] }>('GET', `/smartmodules?name=${encodeURIComponent('dps/map-fields')}`)
  const own = await api<{ id: string }>('POST', '/smartmodules', {
    name: 'chaos-poison',
    wasm_binary: (await poisonBinary()).toString('base64'),
    config: { input_format: 'json', output_format: 'json' },
  })
  const moduleIds = [modules[0]!.id, own.id]
  const { pipeline_id: id } = await api<{ pipeline_id: string }>('POST', '/pipelines', {
    name: 'chaos',
    source: { connector_id: 'conn_stream', config: { stream_id: source.id } },
    processors: stepsOf(moduleIds, 1),
    sink: { connector_id: 'conn_stream', config: { stream_id: sink.id } },
    tasks: 3,
  })
  await until(
    'the pipeline runs',
    60_000,
    async () => (await api<{ status: string }>('GET', `/pipelines/${id}/status`)).status === 'running',
  )
  const accountPart = source.topic.slice(0, source.topic.lastIndexOf('.'))
  return {
    id,
    sourceTopic: source.topic,
    sinkTopic: sink.topic,
    deadLetterTopic: `${accountPart}.${id}.dead-letters`,
    schemaId: source.schema_id,
    moduleIds,
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * The local stack: Kafka, Postgres, Redis, a schema registry and a bucket, each resolved by itself in the order given by environment →
 * containers → local processes. Used by the launcher, the tests and the benchmarks. It knows nothing of our services.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEMO_BUCKET, startBucket, type BucketPlace } from './bucket.ts'
import { openReaper, type Child, type Reaper } from './child.ts'
import { startKafka, type KafkaOptions, type LocalKafka } from './kafka.ts'
import { createWarehouse, startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'
import { startRegistry } from './registry.ts'

export type Way = 'given' | 'container' | 'process'

/** A running stack. `pids` holds a part only where it is a process of ours. `close` stops what was started and removes its folder. */
export type Stack = {
  /** The local brokers; undefined where the cluster is somebody else's. */
  kafka: LocalKafka | undefined
  kafkaBrokers: string[]
  databaseUrl: string
  redisUrl: string
  registryUrl: string
  /** For the connectors: somewhere to read objects from and to write tables to. */
  bucket: BucketPlace
  /** Undefined where Postgres is somebody else's and no WAREHOUSE_URL was given. */
  warehouseUrl: string | undefined
  ways: Record<'kafka' | 'postgres' | 'redis' | 'registry' | 'bucket', Way>
  pids: { kafka?: number; postgres?: number; redis?: number; registry?: number; bucket?: number }
  /** Stops a part that is a process of ours and starts it again on its data. */
  restarts: Partial<Record<keyof Stack['ways'], () => Promise<void>>>
  folder: string
  reaper: Reaper
  children: Child[]
  close(): Promise<void>
}

export type StackOptions = {
  /** Values given by environment; such a part is used as it is, never created, never wiped. */
  given?: {
    kafkaBrokers?: string
    databaseUrl?: string
    redisUrl?: string
    registryUrl?: string
    bucket?: BucketPlace
    warehouseUrl?: string
  }
  /** How the local broker, or several of them, are started. */
  kafka?: KafkaOptions
  say?: (line: string) => void
}

/** Reads the given parts from the environment of the launcher or the test run. */
export function givenByEnvironment(): StackOptions['given'] {
  return {
    kafkaBrokers: process.env.KAFKA_BROKERS,
    databaseUrl: process.env.DATABASE_URL,
    redisUrl: process.env.REDIS_URL,
    registryUrl: process.env.SCHEMA_REGISTRY_URL,
    bucket: givenBucket(),
    warehouseUrl: process.env.WAREHOUSE_URL,
  }
}

function givenBucket(): BucketPlace | undefined {
  const { BUCKET_ENDPOINT, BUCKET_ACCESS_KEY = '', BUCKET_SECRET_KEY = '', BUCKET_NAME = DEMO_BUCKET } = process.env
  return BUCKET_ENDPOINT
    ? { endpoint: BUCKET_ENDPOINT, access_key: BUCKET_ACCESS_KEY, secret_key: BUCKET_SECRET_KEY, name: BUCKET_NAME }
    : undefined
}

/** Brings the stack up. When a part fails, what was already started is stopped and nothing is left behind. */
export async function openStack(options: StackOptions = {}): Promise<Stack> {
  const { given = givenByEnvironment()!, say = () => {} } = options
  const folder = await mkdtemp(join(tmpdir(), 'dps-stack-'))
  const reaper = openReaper()
  reaper.watchFolder(folder)
  const stops: (() => Promise<void>)[] = []
  const children: Child[] = []
  const pids: Stack['pids'] = {}
  const restarts: Stack['restarts'] = {}
  let kafka: LocalKafka | undefined
  const allGiven = given.kafkaBrokers && given.databaseUrl && given.redisUrl && given.registryUrl && given.bucket
  const containers = allGiven ? undefined : await import('./containers.ts')
  const useContainers = containers !== undefined && (await containers.hasContainerEngine())

  async function close(): Promise<void> {
    await Promise.allSettled(stops.map((stop) => stop()))
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    reaper.close()
  }

  async function resolve<T extends object>(
    name: keyof Stack['ways'],
    givenPart: T | undefined,
    container: () => Promise<T & { stop(): Promise<void> }>,
    local: () => Promise<T & { readonly child: Child; restart?(): Promise<void> }>,
  ): Promise<{ way: Way; part: T }> {
    if (givenPart) return { way: 'given', part: givenPart }
    if (useContainers) {
      const part = await container()
      stops.push(() => part.stop())
      return { way: 'container', part }
    }
    const part = await local()
    stops.push(() => part.child.stop())
    children.push(part.child)
    if (part.restart) restarts[name] = part.restart
    pids[name] = part.child.pid
    return { way: 'process', part }
  }

  const url = (value: string | undefined) => (value ? { url: value } : undefined)
  const results = await Promise.allSettled([
    resolve(
      'kafka',
      given.kafkaBrokers ? { brokers: given.kafkaBrokers.split(',') } : undefined,
      () => containers!.kafkaContainer(),
      async () => {
        kafka = await startKafka(folder, reaper, options.kafka)
        const {
          brokers,
          children: [first],
        } = kafka
        // All of them, as they are by then: a broker that was killed and restarted is another process.
        const child = { ...first!, stop: async () => void (await Promise.all(kafka!.children.map((each) => each.stop()))) }
        return { brokers, child }
      },
    ),
    resolve(
      'postgres',
      url(given.databaseUrl),
      () => containers!.postgresContainer(),
      () => startPostgres(folder, reaper),
    ),
    resolve(
      'redis',
      url(given.redisUrl),
      () => containers!.redisContainer(),
      () => startRedis(folder, reaper),
    ),
    resolve(
      'registry',
      url(given.registryUrl),
      () => containers!.registryContainer(),
      () => startRegistry(folder, reaper),
    ),
    resolve(
      'bucket',
      given.bucket,
      () => containers!.bucketContainer(),
      () => startBucket(folder, reaper),
    ),
  ])
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) {
    await close()
    throw failed.reason
  }
  const [kafkaPart, postgres, redis, registry, bucket] = results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as [
    { way: Way; part: { brokers: string[] } },
    { way: Way; part: { url: string } },
    { way: Way; part: { url: string } },
    { way: Way; part: { url: string } },
    { way: Way; part: BucketPlace },
  ]
  const warehouseUrl =
    given.warehouseUrl ??
    (postgres.way === 'given'
      ? undefined
      : await createWarehouse(postgres.part.url).catch(async (error: unknown) => {
          await close()
          throw error
        }))
  const stack: Stack = {
    kafka,
    kafkaBrokers: kafkaPart.part.brokers,
    databaseUrl: postgres.part.url,
    redisUrl: redis.part.url,
    registryUrl: registry.part.url,
    bucket: {
      endpoint: bucket.part.endpoint,
      access_key: bucket.part.access_key,
      secret_key: bucket.part.secret_key,
      name: bucket.part.name,
    },
    warehouseUrl,
    ways: { kafka: kafkaPart.way, postgres: postgres.way, redis: redis.way, registry: registry.way, bucket: bucket.way },
    pids,
    restarts,
    folder,
    reaper,
    children,
    close,
  }
  for (const [part, way] of Object.entries(stack.ways)) say(`${part}: ${WAY_TEXT[way]}`)
  return stack
}

const WAY_TEXT: Record<Way, string> = {
  given: 'given by environment',
  container: 'started as a container',
  process: 'started as a local process',
}

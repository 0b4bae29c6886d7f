/**
 * The local stack: Kafka, Postgres, Redis and a schema registry, each resolved by itself in the order given by environment →
 * containers → local processes. Used by the launcher, the tests and the benchmarks. It knows nothing of our services.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReaper, type Child, type Reaper } from './child.ts'
import { startKafka, type KafkaOptions, type LocalKafka } from './kafka.ts'
import { startPostgres } from './postgres.ts'
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
  ways: Record<'kafka' | 'postgres' | 'redis' | 'registry', Way>
  pids: { kafka?: number; postgres?: number; redis?: number; registry?: number }
  /** Stops a part that is a process of ours and starts it again on its data. */
  restarts: Partial<Record<keyof Stack['ways'], () => Promise<void>>>
  folder: string
  reaper: Reaper
  children: Child[]
  close(): Promise<void>
}

export type StackOptions = {
  /** Values given by environment; such a part is used as it is, never created, never wiped. */
  given?: { kafkaBrokers?: string; databaseUrl?: string; redisUrl?: string; registryUrl?: string }
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
  }
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
  const allGiven = given.kafkaBrokers && given.databaseUrl && given.redisUrl && given.registryUrl
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
  ])
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) {
    await close()
    throw failed.reason
  }
  const [kafkaPart, postgres, redis, registry] = results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as [
    { way: Way; part: { brokers: string[] } },
    { way: Way; part: { url: string } },
    { way: Way; part: { url: string } },
    { way: Way; part: { url: string } },
  ]
  const stack: Stack = {
    kafka,
    kafkaBrokers: kafkaPart.part.brokers,
    databaseUrl: postgres.part.url,
    redisUrl: redis.part.url,
    registryUrl: registry.part.url,
    ways: { kafka: kafkaPart.way, postgres: postgres.way, redis: redis.way, registry: registry.way },
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

/**
 * The local stack: Kafka, Postgres, Redis, a schema registry and a bucket. Each is resolved separately: given by environment, else a
 * container, else a local process. Used by the launcher, the tests and the benchmarks. It knows nothing of our services.
 */
import { reasonOf } from '../../shared/errors/reason-of.ts'
import { DEMO_BUCKET, startBucket, type BucketPlace } from './bucket.ts'
import type { Child } from './child.ts'
import { openTemporaryHome, type Home } from './home.ts'
import { startKafka, type KafkaOptions, type LocalKafka } from './kafka.ts'
import { createWarehouse, startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'
import { startRegistry } from './registry.ts'

export type Way = 'given' | 'container' | 'process'
type PartName = 'kafka' | 'postgres' | 'redis' | 'registry' | 'bucket'

/** A running stack. `pids` only has the parts that are our own processes. `close` stops what was started. */
export type Stack = {
  /** The local brokers; undefined if Kafka is a container or was given. */
  kafka: LocalKafka | undefined
  kafkaBrokers: string[]
  databaseUrl: string
  redisUrl: string
  registryUrl: string
  /** For the connectors: a bucket for objects (and `warehouseUrl`, a database for tables). */
  bucket: BucketPlace
  /** Undefined if Postgres was given without a WAREHOUSE_URL. */
  warehouseUrl: string | undefined
  ways: Record<PartName, Way>
  pids: Partial<Record<PartName, number>>
  /** Stops a part that is our own process and starts it again on its data. */
  restarts: Partial<Record<PartName, () => Promise<void>>>
  home: Home
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
  /** Use only this way, without falling back to the other; also set by STACK=containers or STACK=processes. */
  way?: 'containers' | 'processes'
  /** How to start one or more local brokers. If given, Kafka runs as local processes, whatever the other parts are. */
  kafka?: KafkaOptions
  /** The stack's home; a temporary one if left out. `close` closes it. */
  home?: Home
  say?: (line: string) => void
}

/** Reads the given parts from the environment of the launcher or the test run. */
function givenByEnvironment(): StackOptions['given'] {
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

function wayByEnvironment(): StackOptions['way'] {
  const { STACK } = process.env
  if (STACK === undefined || STACK === '') return undefined
  if (STACK === 'containers' || STACK === 'processes') return STACK
  throw new Error('STACK must be "containers" or "processes"; without it, containers are used if an engine answers, else local processes')
}

const firstLineOf = (error: unknown): string => reasonOf(error).split('\n')[0]!.trim()

type LocalPart = { readonly child?: Child; restart?(): Promise<void> }

/** Brings the stack up. If a part fails, what was already started is stopped and nothing is left behind. */
export async function openStack(options: StackOptions = {}): Promise<Stack> {
  const { given = givenByEnvironment()!, say = () => {}, way = wayByEnvironment() } = options
  const home = options.home ?? (await openTemporaryHome())
  const stops: (() => Promise<void>)[] = []
  const children: Child[] = []
  const pids: Stack['pids'] = {}
  const restarts: Stack['restarts'] = {}
  let kafka: LocalKafka | undefined

  async function close(): Promise<void> {
    await Promise.allSettled(stops.map((stop) => stop()))
    await home.close()
  }

  const allGiven = given.kafkaBrokers && given.databaseUrl && given.redisUrl && given.registryUrl && given.bucket
  const containers = allGiven || way === 'processes' ? undefined : await openContainers(home, say)
  if (way === 'containers' && !containers && !allGiven) {
    await close()
    throw new Error('STACK=containers, but no container engine answers: start Docker or Podman, or set DOCKER_HOST')
  }

  /** A part must run in the same way as in earlier starts, else it would not find its data. */
  function assertSameWay(name: PartName, now: Way): void {
    const before = home.known<Way>(`way of ${name}`)
    if (before === undefined || before === now) return
    throw new Error(
      `${name}: the kept data were written by ${WAY_TEXT[before]}, but this start would use ${WAY_TEXT[now]}; make run FRESH=1 deletes the data and starts over`,
    )
  }

  async function resolve<T extends object>(
    name: PartName,
    givenPart: T | undefined,
    container: (() => Promise<T & { stop(): Promise<void> }>) | undefined,
    local: () => Promise<T & LocalPart>,
  ): Promise<T> {
    const take = async (own: Way): Promise<void> => {
      assertSameWay(name, own)
      await home.recall(`way of ${name}`, () => own)
      ways[name] = own
    }
    if (givenPart) {
      await take('given')
      return givenPart
    }
    if (container && home.known(`way of ${name}`) !== 'process') {
      try {
        const part = await container()
        stops.push(() => part.stop())
        await take('container')
        return part
      } catch (error) {
        if (way === 'containers') throw new Error(`${name}: the container did not start: ${String(error)}`, { cause: error })
        say(`${name}: the container did not start (${firstLineOf(error)}); starting a local process instead`)
      }
    }
    assertSameWay(name, 'process')
    const part = await local()
    const { child } = part
    if (child) {
      // The current child: a restart replaces it.
      stops.push(async () => part.child?.stop())
      children.push(child)
      pids[name] = child.pid
    }
    if (part.restart) restarts[name] = () => part.restart!()
    await take('process')
    return part
  }

  const ways = {} as Stack['ways']
  const url = (value: string | undefined) => (value ? { url: value } : undefined)
  const localKafka = async (): Promise<{ brokers: string[] } & LocalPart> => {
    const started = await startKafka(home, options.kafka)
    kafka = started
    const [first] = started.children
    // Stops all brokers as they are at that time: a restarted broker is another process.
    const child = { ...first!, stop: async () => void (await Promise.all(started.children.map((each) => each.stop()))) }
    return { brokers: started.brokers, child }
  }
  const results = await Promise.allSettled([
    resolve(
      'kafka',
      given.kafkaBrokers ? { brokers: given.kafkaBrokers.split(',') } : undefined,
      options.kafka ? undefined : containers?.kafka,
      localKafka,
    ),
    resolve('postgres', url(given.databaseUrl), containers?.postgres, () => startPostgres(home)),
    resolve('redis', url(given.redisUrl), containers?.redis, () => startRedis(home)),
    resolve('registry', url(given.registryUrl), containers?.registry, () => startRegistry(home)),
    resolve<BucketPlace>('bucket', given.bucket, containers?.bucket, () => startBucket(home, say)),
  ])
  try {
    const [kafkaPart, postgres, redis, registry, bucket] = await allOf(results)
    const ownWarehouse = async () => (ways.postgres === 'given' ? undefined : createWarehouse(postgres.url))
    const { endpoint, access_key, secret_key, name } = bucket
    const stack: Stack = {
      kafka,
      kafkaBrokers: kafkaPart.brokers,
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      registryUrl: registry.url,
      bucket: { endpoint, access_key, secret_key, name },
      warehouseUrl: given.warehouseUrl ?? (await ownWarehouse()),
      ways,
      pids,
      restarts,
      home,
      children,
      close,
    }
    for (const [part, own] of Object.entries(ways)) say(`${part}: ${WAY_TEXT[own]}`)
    return stack
  } catch (error) {
    await close()
    throw error
  }
}

async function openContainers(home: Home, say: (line: string) => void) {
  const { containersOf, findContainerEngine, removeLeftovers } = await import('./containers.ts')
  const engine = await findContainerEngine()
  if (engine && home.isKept) await removeLeftovers(engine, home)
  return engine && containersOf(engine, home, say)
}

type Values<T extends readonly PromiseSettledResult<unknown>[]> = {
  -readonly [K in keyof T]: T[K] extends PromiseSettledResult<infer V> ? V : never
}

/** The values of settled results. If any was rejected, throws one error with all reasons. */
async function allOf<const T extends readonly PromiseSettledResult<unknown>[]>(results: T): Promise<Values<T>> {
  const failed = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown)
  if (failed.length === 1) throw failed[0]
  if (failed.length > 1) throw new Error(failed.map((error) => reasonOf(error)).join('\n'))
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as Values<T>
}

const WAY_TEXT: Record<Way, string> = {
  given: 'a service given by environment',
  container: 'a container',
  process: 'a local process',
}

/**
 * The stack's parts as containers, if a container engine answers. The same types as for local processes; testcontainers manages them.
 * Host ports are chosen beforehand, so that a broker knows the address it advertises and addresses survive restarts. Each part is
 * probed from outside with its own kind of client, because health checks of an image do not run on every engine.
 */
import { reasonOf } from '../../shared/errors/reason-of.ts'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PostgreSqlContainer } from '@testcontainers/postgresql'
import { RedisContainer } from '@testcontainers/redis'
import { GenericContainer, getContainerRuntimeClient, ImageName, Wait, type ContainerRuntimeClient } from 'testcontainers'
import { createKafka } from '../../shared/kafka/admin/admin.ts'
import { DEMO_BUCKET, ensureBucket, type BucketPlace } from './bucket.ts'
import { deadline } from './child.ts'
import { portOf, type Home } from './home.ts'
import { newClusterId } from './kafka.ts'
import { postgresAnswers } from './postgres.ts'
import { IMAGES, kafkaSettings, POSTGRES_SETTINGS, postgresArguments, redisArguments, registrySettings } from './settings.ts'

export type ContainerPart<T> = T & { stop(): Promise<void> }

/** An engine that does not answer within this time is not used. */
const ENGINE_MS = 8000
/** A pull that takes longer has stalled, or the connection is too slow to wait for. */
const PULL_MS = 300_000
/** Time for a container to start, and then again for its first answer. */
const START_MS = 90_000

/** Undefined if no container engine answers within a few seconds. */
export async function findContainerEngine(): Promise<ContainerRuntimeClient | undefined> {
  return deadline(ENGINE_MS, getContainerRuntimeClient(), 'the container engine does not answer').catch(() => undefined)
}

/** Pulls an image that the engine does not have. Throws if the engine can't, or takes too long. */
async function ensureImage(engine: ContainerRuntimeClient, name: string, say: (line: string) => void): Promise<void> {
  const image = ImageName.fromString(name)
  if (await deadline(ENGINE_MS, engine.image.exists(image), `the container engine did not answer whether it has the image ${name}`)) return
  say(`pulling the image ${name} (only once)`)
  await deadline(PULL_MS, engine.image.pull(image), `the image ${name} was not pulled within ${PULL_MS / 1000} s`)
}

/** Time for a database to write its data to disk when it is stopped. */
const STOP_MS = 10_000
/** Lines of a container's output that an error quotes. */
const LAST_LINES = 5

/** Starts a container and waits until `probe` no longer throws. A container that comes up too late is stopped. */
async function start(container: GenericContainer, home: Home, probe: () => Promise<unknown>): Promise<() => Promise<void>> {
  let output = ''
  if (home.isKept) container.withLabels({ [HOME_LABEL]: await homeId(home) })
  container
    .withStartupTimeout(START_MS)
    .withLogConsumer((log) => log.on('data', (part) => (output = `${output}${String(part)}`.slice(-4000))))
  const starting = container.start()
  try {
    const started = await deadline(START_MS, starting, `the container did not come up within ${START_MS / 1000} s`)
    for (const until = Date.now() + START_MS; ;) {
      const failure = await probe().then(
        () => undefined,
        (error: unknown) => error,
      )
      if (failure === undefined) return async () => void (await started.stop({ timeout: STOP_MS }))
      if (Date.now() > until) throw failure
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  } catch (error) {
    void starting.then((late) => late.stop()).catch(() => {})
    const lastLines = output.trimEnd().split('\n').slice(-LAST_LINES).join('\n')
    throw new Error(`${reasonOf(error)}\n${lastLines}`, { cause: error })
  }
}

/** `name.of.it` → `NAME_OF_IT`, as images that are configured by environment variables expect it. */
const asEnvironment = (prefix: string, settings: Record<string, string | number | boolean>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`${prefix}${name.toUpperCase().replaceAll('.', '_')}`, String(value)]),
  )

/** Kept data are in a named volume, so that the files belong to the user that the image runs as. */
async function volumes(home: Home, part: string, target: string): Promise<{ source: string; target: string; mode: 'rw' }[]> {
  return home.isKept ? [{ source: await volumeName(home, part), target, mode: 'rw' }] : []
}
const volumeName = async (home: Home, part: string): Promise<string> => `dps-${await homeId(home)}-${part}`
const homeId = (home: Home): Promise<string> => home.recall('id of the volumes', () => randomBytes(6).toString('hex'))
/** The label of containers that belong to a kept home. */
const HOME_LABEL = 'dps-home'

/**
 * Removes containers that a killed start has left running on this home's volumes: two servers on the same data would corrupt it, and in
 * containers neither sees the other. Errors are ignored here: an engine that can't remove containers fails to start them, and says so then.
 */
export async function removeLeftovers(engine: ContainerRuntimeClient, home: Home): Promise<void> {
  const { dockerode } = engine.container
  const label = `${HOME_LABEL}=${await homeId(home)}`
  const removing = async () => {
    for (const { Id } of await dockerode.listContainers({ all: true, filters: { label: [label] } }))
      await dockerode.getContainer(Id).remove({ force: true })
  }
  await deadline(ENGINE_MS, removing(), 'the engine does not list its containers').catch(() => {})
}

/** Removes the volumes of a home that is discarded. */
export async function removeVolumes(engine: ContainerRuntimeClient, id: string): Promise<void> {
  const { Volumes } = await engine.container.dockerode.listVolumes()
  for (const { Name } of Volumes ?? [])
    if (Name.startsWith(`dps-${id}-`)) await engine.container.dockerode.getVolume(Name).remove({ force: true })
}

export type Containers = {
  kafka(): Promise<ContainerPart<{ brokers: string[] }>>
  postgres(): Promise<ContainerPart<{ url: string }>>
  redis(): Promise<ContainerPart<{ url: string }>>
  registry(): Promise<ContainerPart<{ url: string }>>
  bucket(): Promise<ContainerPart<BucketPlace>>
}

export function containersOf(engine: ContainerRuntimeClient, home: Home, say: (line: string) => void): Containers {
  const host = engine.info.containerRuntime.host
  const prepare = async (part: keyof typeof IMAGES, containerPort: number) => {
    await ensureImage(engine, IMAGES[part], say)
    const port = await portOf(home, part)
    return { port, exposed: { container: containerPort, host: port } }
  }
  return {
    async kafka() {
      const { port, exposed } = await prepare('kafka', 9092)
      const container = new GenericContainer(IMAGES.kafka)
        .withExposedPorts(exposed)
        .withEnvironment({
          CLUSTER_ID: await home.recall('cluster id of Kafka', newClusterId),
          ...asEnvironment('KAFKA_', {
            'process.roles': 'broker,controller',
            'node.id': 1,
            'controller.quorum.voters': '1@localhost:9093',
            'controller.listener.names': 'CONTROLLER',
            // The broker writes transaction markers through this listener: the clients' address can't be reached from inside.
            listeners: 'CLIENT://:9092,INTERNAL://:9094,CONTROLLER://:9093',
            'advertised.listeners': `CLIENT://${host}:${port},INTERNAL://localhost:9094`,
            'listener.security.protocol.map': 'CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
            'inter.broker.listener.name': 'INTERNAL',
            'log.dirs': '/var/lib/kafka/data',
            ...kafkaSettings(1),
          }),
        })
        .withBindMounts(await volumes(home, 'kafka', '/var/lib/kafka/data'))
        .withWaitStrategy(Wait.forLogMessage(/./))
      return { brokers: [`${host}:${port}`], stop: await start(container, home, () => kafkaAnswers(`${host}:${port}`)) }
    },
    async postgres() {
      const { port, exposed } = await prepare('postgres', 5432)
      const password = await home.recall('password of Postgres', () => randomBytes(18).toString('base64url'))
      const url = `postgres://postgres:${password}@${host}:${port}/postgres`
      const container = new PostgreSqlContainer(IMAGES.postgres)
        .withUsername('postgres')
        .withDatabase('postgres')
        .withPassword(password)
        .withExposedPorts(exposed)
        .withCommand(['postgres', ...postgresArguments(POSTGRES_SETTINGS)])
        .withBindMounts(await volumes(home, 'postgres', '/var/lib/postgresql'))
        .withWaitStrategy(Wait.forLogMessage('ready to accept connections'))
      return { url, stop: await start(container, home, () => postgresAnswers(url)) }
    },
    async redis() {
      const { port, exposed } = await prepare('redis', 6379)
      const container = new RedisContainer(IMAGES.redis)
        .withExposedPorts(exposed)
        .withCommand(['redis-server', ...redisArguments(home.isKept)])
        .withBindMounts(await volumes(home, 'redis', '/data'))
      return { url: `redis://${host}:${port}`, stop: await start(container, home, async () => {}) }
    },
    async registry() {
      const { port, exposed } = await prepare('registry', 8080)
      const url = `http://${host}:${port}/apis/ccompat/v7`
      const container = new GenericContainer(IMAGES.registry)
        .withExposedPorts(exposed)
        .withEnvironment(asEnvironment('', registrySettings('/data/schemas')))
        .withBindMounts([{ source: await openFolder(home, 'registry'), target: '/data', mode: 'rw' }])
        .withWaitStrategy(Wait.forLogMessage(/./))
      return { url, stop: await start(container, home, () => answersHttp(`${url}/subjects`)) }
    },
    async bucket() {
      const { port, exposed } = await prepare('bucket', 7070)
      const place: BucketPlace = {
        endpoint: `http://${host}:${port}`,
        access_key: await home.recall('access key of the bucket', () => `local-${randomBytes(6).toString('hex')}`),
        secret_key: await home.recall('secret key of the bucket', () => randomBytes(20).toString('hex')),
        name: DEMO_BUCKET,
      }
      const container = new GenericContainer(IMAGES.bucket)
        .withExposedPorts(exposed)
        .withEnvironment({ ROOT_ACCESS_KEY: place.access_key, ROOT_SECRET_KEY: place.secret_key })
        .withCommand(['--port', ':7070', 'posix', '--sidecar', '/tmp', '/mnt'])
        .withBindMounts([...(await volumes(home, 'bucket', '/mnt')), ...(await volumes(home, 'bucket-metadata', '/tmp'))])
        .withWaitStrategy(Wait.forLogMessage(/./))
      return { ...place, stop: await start(container, home, () => ensureBucket(place)) }
    },
  }
}

/** A folder that any user may write to: the registry's image has no folder from which a volume would take its owner. */
async function openFolder(home: Home, part: string): Promise<string> {
  const folder = join(home.folder, part)
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o777)
  return folder
}

async function kafkaAnswers(broker: string): Promise<void> {
  const admin = createKafka([broker], 'probe').admin()
  try {
    await admin.connect()
    await admin.describeCluster()
  } finally {
    await admin.disconnect()
  }
}

async function answersHttp(url: string): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2000) })
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`)
}

/** Kafka in KRaft mode as local processes: one broker, or several on one controller quorum for the tests that kill them. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached, verifyFolder } from './cache.ts'
import { freePorts, startChild, waitUntilUp, type Child, type Reaper } from './child.ts'
import { findJava, runMaven } from './java.ts'

const run = promisify(execFile)
const HERE = import.meta.dirname
const KAFKA_VERSION = '4.1.1'

/** One broker of a local cluster. `restart` starts it again on its data after it was stopped or killed. */
export type LocalBroker = { id: number; child(): Child; restart(): Promise<void>; /** Where a proxy forwards to. */ proxiedPort: number }

/** `proxied` are the addresses of the second listener, where `proxyPorts` were asked for. */
export type LocalKafka = { brokers: string[]; proxied: string[]; nodes: LocalBroker[]; children: Child[] }

export type KafkaOptions = {
  /** Brokers, each with a vote in the controllers' quorum. */
  count?: number
  /** Keeps the JVM's server defaults (for benchmarks) instead of quick-start flags. */
  serverFlags?: boolean
  /** A second listener per broker, advertised at these ports: somebody else listens there and forwards. */
  proxyPorts?: number[]
  /** Further listeners and settings, for tests of TLS and SASL: `{name, protocol, port}` and broker properties. */
  listeners?: { name: string; protocol: string; port: number }[]
  settings?: Record<string, string | number>
  /** SCRAM credentials that the cluster knows from its first start: `SCRAM-SHA-256=[name=…,password=…]`. */
  scram?: string[]
}

/** Downloads (once) and verifies the broker's jars; answers the class path. */
async function kafkaClassPath(): Promise<string> {
  const folder = await cached(`kafka-${KAFKA_VERSION}`, async (target) => {
    process.stdout.write(`downloading Kafka ${KAFKA_VERSION} (43 MB, once)\n`)
    await runMaven(['-f', join(HERE, 'pom.xml'), 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${target}`])
    await verifyFolder(target, join(HERE, 'kafka.sha256'))
  })
  return join(folder, '*')
}

type Place = { id: number; port: number; controllerPort: number; proxiedPort: number }

function properties(place: Place, all: Place[], data: string, { proxyPorts = [], listeners = [], settings = {} }: KafkaOptions): string {
  const own = [
    { name: 'CLIENT', protocol: 'PLAINTEXT', port: place.port },
    ...(proxyPorts.length > 0 ? [{ name: 'PROXIED', protocol: 'PLAINTEXT', port: place.proxiedPort }] : []),
    ...listeners,
  ]
  const replicas = Math.min(3, all.length)
  const at = (name: string, port: number) => `${name}://127.0.0.1:${port}`
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': place.id,
    'controller.quorum.voters': all.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(','),
    listeners: [...own.map(({ name, port }) => at(name, port)), at('CONTROLLER', place.controllerPort)].join(','),
    'advertised.listeners': own.map(({ name, port }) => at(name, name === 'PROXIED' ? proxyPorts[place.id - 1]! : port)).join(','),
    'listener.security.protocol.map': [...own.map(({ name, protocol }) => `${name}:${protocol}`), 'CONTROLLER:PLAINTEXT'].join(','),
    'inter.broker.listener.name': 'CLIENT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': data,
    'auto.create.topics.enable': false,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 8,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': Math.max(1, replicas - 1),
    'min.insync.replicas': Math.max(1, replicas - 1),
    'transaction.state.log.num.partitions': 8,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    'log.cleaner.dedupe.buffer.size': 16 << 20,
    // The control plane publishes modules of up to 10 MiB as records (smartmodule-abi.md, "Limits").
    'message.max.bytes': 16 << 20,
    // With several brokers somebody means to kill one: leaders move within seconds.
    ...(all.length > 1 ? { 'broker.session.timeout.ms': 4000, 'broker.heartbeat.interval.ms': 500 } : {}),
    ...settings,
  })
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')
}

async function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(!socket.destroy().connecting))
    socket.once('error', () => resolve(false))
  })
}

/** 16 random bytes as Kafka prints them; none that the format tool takes for an option, as Kafka's own never are. */
function newClusterId(): string {
  for (;;) {
    const id = randomBytes(16).toString('base64url')
    if (!id.startsWith('-')) return id
  }
}

/** Starts the brokers under `folder`. Throws with a broker's last lines when it does not come up within 60 s. */
export async function startKafka(folder: string, reaper: Reaper, options: KafkaOptions = {}): Promise<LocalKafka> {
  const { count = 1, proxyPorts = [] } = options
  const scram = (options.scram ?? []).flatMap((credential) => ['--add-scram', credential])
  const java = await findJava(17)
  const classPath = await kafkaClassPath()
  const ports = await freePorts(count * 3)
  const places = Array.from({ length: count }, (_, index): Place => {
    const [port, controllerPort, proxiedPort] = ports.slice(index * 3) as [number, number, number]
    return { id: index + 1, port, controllerPort, proxiedPort }
  })
  const clusterId = newClusterId()

  async function prepare(place: Place): Promise<{ file: string; home: string; jvm: string[] }> {
    const home = join(folder, count === 1 ? 'kafka' : `kafka-${place.id}`)
    await mkdir(home, { recursive: true })
    const file = join(home, 'server.properties')
    await writeFile(file, properties(place, places, join(home, 'data'), options))
    await writeFile(join(home, 'log4j2.yaml'), LOG4J)
    const jvm = [
      '-cp',
      classPath,
      `-Dlog4j2.configurationFile=${join(home, 'log4j2.yaml')}`,
      '-Xms256m',
      '-Xmx512m',
      ...(options.serverFlags ? [] : ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']),
    ]
    await run(java, [...jvm, 'kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', file, ...scram], { timeout: 60_000 })
    return { file, home, jvm }
  }

  const nodes = await Promise.all(
    places.map(async (place): Promise<LocalBroker> => {
      const { file, home, jvm } = await prepare(place)
      const logFile = join(folder, count === 1 ? 'kafka.log' : `kafka-${place.id}.log`)
      const start = () => startChild({ name: 'Kafka', command: java, args: [...jvm, 'kafka.Kafka', file], cwd: home, logFile }, reaper)
      let child = await start()
      return {
        id: place.id,
        child: () => child,
        proxiedPort: place.proxiedPort,
        async restart() {
          child = await start()
        },
      }
    }),
  )
  const stopAll = () => Promise.all(nodes.map((node) => node.child().stop()))
  await Promise.all(nodes.map((node, index) => waitUntilUp(node.child(), () => answers(places[index]!.port), 60_000))).catch(
    async (error) => {
      await stopAll()
      throw error
    },
  )
  return {
    brokers: places.map(({ port }) => `127.0.0.1:${port}`),
    proxied: proxyPorts.map((port) => `127.0.0.1:${port}`),
    nodes,
    // As it is when it is asked for: a broker that was restarted is another process.
    get children() {
      return nodes.map((node) => node.child())
    },
  }
}

const LOG4J = `Configuration:
  Appenders:
    Console:
      name: STDOUT
      PatternLayout:
        pattern: "%d %p %c{1} %m%n"
  Loggers:
    Root:
      level: WARN
      AppenderRef:
        ref: STDOUT
`

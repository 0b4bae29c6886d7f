/** Kafka in KRaft mode as local processes: one broker, or several with one controller quorum for tests that kill brokers. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached, verifyFolder } from './cache.ts'
import { startChild, UP_MS, waitUntilUp, type Child } from './child.ts'
import { portOf, type Home } from './home.ts'
import { findJava, runMaven } from './java.ts'
import { freePorts } from './ports.ts'
import { kafkaSettings } from './settings.ts'

const run = promisify(execFile)
const HERE = import.meta.dirname
const KAFKA_VERSION = '4.1.1'

/** One broker of a local cluster. `restart` starts it again on its data after it was stopped or killed. */
export type LocalBroker = { id: number; child(): Child; restart(): Promise<void>; /** Target of a proxy. */ proxiedPort: number }

/** `proxied` are the addresses of the second listener, if `proxyPorts` were given. */
export type LocalKafka = { brokers: string[]; proxied: string[]; nodes: LocalBroker[]; children: Child[] }

export type KafkaOptions = {
  /** Number of brokers, each with a vote in the controllers' quorum. */
  count?: number
  /** Keeps the JVM's server defaults (for benchmarks) instead of quick-start flags. */
  serverFlags?: boolean
  /** A second listener per broker, advertised at these ports: a proxy listens there and forwards. */
  proxyPorts?: number[]
  /** Further listeners and settings, for tests of TLS and SASL: `{name, protocol, port}` and broker properties. */
  listeners?: { name: string; protocol: string; port: number }[]
  settings?: Record<string, string | number>
  /** SCRAM credentials that the cluster knows from its first start: `SCRAM-SHA-256=[name=…,password=…]`. */
  scram?: string[]
}

/** Downloads (once) and verifies the broker's jars; returns their folder. */
export async function kafkaLibraries(): Promise<string> {
  return cached(`kafka-${KAFKA_VERSION}`, async (target) => {
    process.stdout.write(`downloading Kafka ${KAFKA_VERSION} (43 MB, only once)\n`)
    await runMaven(['-f', join(HERE, 'pom.xml'), 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${target}`])
    await verifyFolder(target, join(HERE, 'kafka.sha256'))
  })
}

type NodePorts = { id: number; port: number; controllerPort: number; proxiedPort: number }

function properties(
  node: NodePorts,
  all: NodePorts[],
  data: string,
  { proxyPorts = [], listeners = [], settings = {} }: KafkaOptions,
): string {
  const own = [
    { name: 'CLIENT', protocol: 'PLAINTEXT', port: node.port },
    ...(proxyPorts.length > 0 ? [{ name: 'PROXIED', protocol: 'PLAINTEXT', port: node.proxiedPort }] : []),
    ...listeners,
  ]
  const at = (name: string, port: number) => `${name}://127.0.0.1:${port}`
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': node.id,
    'controller.quorum.voters': all.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(','),
    listeners: [...own.map(({ name, port }) => at(name, port)), at('CONTROLLER', node.controllerPort)].join(','),
    'advertised.listeners': own.map(({ name, port }) => at(name, name === 'PROXIED' ? proxyPorts[node.id - 1]! : port)).join(','),
    'listener.security.protocol.map': [...own.map(({ name, protocol }) => `${name}:${protocol}`), 'CONTROLLER:PLAINTEXT'].join(','),
    'inter.broker.listener.name': 'CLIENT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': data,
    ...kafkaSettings(all.length),
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

/** The ports of earlier starts if they are free, no two the same. */
async function portsOf(home: Home, count: number): Promise<number[]> {
  if (!home.isKept) return freePorts(count)
  const ports: number[] = []
  for (let index = 0; index < count; index++) ports.push(await portOf(home, `Kafka ${index}`))
  return ports
}

/** 16 random bytes as Kafka prints them; never begins with `-`, which the format tool would take for an option (nor do Kafka's own ids). */
export function newClusterId(): string {
  for (;;) {
    const id = randomBytes(16).toString('base64url')
    if (!id.startsWith('-')) return id
  }
}

/** Starts the brokers in `home`. Throws with a broker's last log lines if it does not come up within 60 s. */
export async function startKafka(home: Home, options: KafkaOptions = {}): Promise<LocalKafka> {
  const { count = 1, proxyPorts = [] } = options
  const scram = (options.scram ?? []).flatMap((credential) => ['--add-scram', credential])
  const java = await findJava(17)
  const classPath = join(await kafkaLibraries(), '*')
  const ports = await portsOf(home, count * 3)
  const nodePorts = Array.from({ length: count }, (_, index): NodePorts => {
    const [port, controllerPort, proxiedPort] = ports.slice(index * 3) as [number, number, number]
    return { id: index + 1, port, controllerPort, proxiedPort }
  })
  const clusterId = await home.recall('cluster id of Kafka', newClusterId)

  async function prepare(node: NodePorts): Promise<{ file: string; folder: string; jvm: string[] }> {
    const folder = join(home.folder, nameOf(node))
    await mkdir(folder, { recursive: true })
    const file = join(folder, 'server.properties')
    await writeFile(file, properties(node, nodePorts, join(folder, 'data'), options))
    await writeFile(join(folder, 'log4j2.yaml'), LOG4J)
    const jvm = [
      '-cp',
      classPath,
      `-Dlog4j2.configurationFile=${join(folder, 'log4j2.yaml')}`,
      '-Xms256m',
      '-Xmx512m',
      ...(options.serverFlags ? [] : ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']),
    ]
    await run(java, [...jvm, 'kafka.tools.StorageTool', 'format', '--ignore-formatted', '-t', clusterId, '-c', file, ...scram], {
      timeout: UP_MS,
    })
    return { file, folder, jvm }
  }
  const nameOf = ({ id }: NodePorts): string => (count === 1 ? 'kafka' : `kafka-${id}`)

  const nodes = await Promise.all(
    nodePorts.map(async (node): Promise<LocalBroker> => {
      const { file, folder, jvm } = await prepare(node)
      const logFile = join(home.logs, `${nameOf(node)}.log`)
      const start = () =>
        startChild({ name: 'Kafka', command: java, args: [...jvm, 'kafka.Kafka', file], cwd: folder, logFile }, home.reaper)
      let child = await start()
      return {
        id: node.id,
        child: () => child,
        proxiedPort: node.proxiedPort,
        async restart() {
          child = await start()
        },
      }
    }),
  )
  const stopAll = () => Promise.all(nodes.map((node) => node.child().stop()))
  await Promise.all(nodes.map((node, index) => waitUntilUp(node.child(), () => answers(nodePorts[index]!.port)))).catch(async (error) => {
    await stopAll()
    throw error
  })
  return {
    brokers: nodePorts.map(({ port }) => `127.0.0.1:${port}`),
    proxied: proxyPorts.map((port) => `127.0.0.1:${port}`),
    nodes,
    // A getter, because a restarted broker is another process.
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

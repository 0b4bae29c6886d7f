/** Kafka in KRaft mode as local processes: one broker, or several on one controller quorum for the tests that kill them. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached, verifyFolder } from './cache.ts'
import { freePort, startChild, waitUntilUp, type Child, type Reaper } from './child.ts'
import { findJava, runMaven } from './java.ts'

const run = promisify(execFile)
const HERE = import.meta.dirname
const KAFKA_VERSION = '4.1.1'

export type LocalKafka = { brokers: string[]; children: Child[] }

/** Downloads (once) and verifies the broker's jars; answers the class path. */
async function kafkaClassPath(): Promise<string> {
  const folder = await cached(`kafka-${KAFKA_VERSION}`, async (target) => {
    process.stdout.write(`downloading Kafka ${KAFKA_VERSION} (43 MB, once)\n`)
    await runMaven(['-f', join(HERE, 'pom.xml'), 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${target}`])
    await verifyFolder(target, join(HERE, 'kafka.sha256'))
  })
  return join(folder, '*')
}

function properties(port: number, controllerPort: number, data: string): string {
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `CLIENT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `CLIENT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'CLIENT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': data,
    'auto.create.topics.enable': false,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 8,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 8,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    'log.cleaner.dedupe.buffer.size': 16 << 20,
    // The control plane publishes modules of up to 10 MiB as records (smartmodule-abi.md, "Limits").
    'message.max.bytes': 16 << 20,
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

/**
 * Starts one broker under `folder`. `serverFlags` keeps the JVM's server defaults (for benchmarks) instead of quick-start flags.
 * Throws with the broker's last lines when it does not come up within 60 s.
 */
export async function startKafka(folder: string, reaper: Reaper, serverFlags = false): Promise<LocalKafka> {
  const java = await findJava(17)
  const classPath = await kafkaClassPath()
  const home = join(folder, 'kafka')
  await mkdir(home, { recursive: true })
  const port = await freePort()
  const file = join(home, 'server.properties')
  await writeFile(file, properties(port, await freePort(), join(home, 'data')))
  await writeFile(join(home, 'log4j2.yaml'), LOG4J)
  const jvm = [
    '-cp',
    classPath,
    `-Dlog4j2.configurationFile=${join(home, 'log4j2.yaml')}`,
    '-Xms256m',
    '-Xmx512m',
    ...(serverFlags ? [] : ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']),
  ]
  await run(java, [...jvm, 'kafka.tools.StorageTool', 'format', '-t', randomBytes(16).toString('base64url'), '-c', file], {
    timeout: 60_000,
  })
  const child = await startChild(
    { name: 'Kafka', command: java, args: [...jvm, 'kafka.Kafka', file], cwd: home, logFile: join(folder, 'kafka.log') },
    reaper,
  )
  await waitUntilUp(child, () => answers(port), 60_000).catch(async (error) => {
    await child.stop()
    throw error
  })
  return { brokers: [`127.0.0.1:${port}`], children: [child] }
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

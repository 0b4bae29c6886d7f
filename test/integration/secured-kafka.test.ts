/** A processor on a cluster with TLS and SASL: a record goes through; a wrong password and an untrusted certificate are refused. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inspect, promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { openReaper } from '../../deploy/local/child.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { findJava } from '../../deploy/local/java.ts'
import { temporaryHomeAt } from '../../deploy/local/home.ts'
import { startKafka, type LocalKafka } from '../../deploy/local/kafka.ts'
import { createKafka, ensureTopics } from '../../shared/kafka/admin/admin.ts'
import { openKafkaSecurity, type KafkaSecuritySettings } from '../../shared/kafka/admin/security.ts'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { frame } from '../../shared/model/framing.ts'
import { startBenchProcessor } from '../bench/processor.ts'
import { readCommitted } from '../chaos/reader.ts'
import { eventually } from '../harness/client.ts'
import { exactProducer } from '../harness/exact-producer.ts'

const run = promisify(execFile)
const reaper = openReaper()
let folder: string
let kafka: LocalKafka
let caFile: string
const ports = new Map<string, number>()

/** A key pair for localhost, self-signed: the certificate is its own CA. */
async function makeCertificate(): Promise<{ keystore: string; certificate: string }> {
  const keytool = join(dirname(await findJava(17)), 'keytool')
  const keystore = join(folder, 'broker.p12')
  const common = ['-alias', 'broker', '-keystore', keystore, '-storetype', 'PKCS12', '-storepass', 'changeit']
  const name = ['-dname', 'CN=127.0.0.1', '-ext', 'SAN=IP:127.0.0.1,DNS:localhost', '-validity', '30']
  await run(keytool, ['-genkeypair', ...common, ...name, '-keyalg', 'RSA', '-keysize', '2048'])
  const certificate = join(folder, 'ca.pem')
  await run(keytool, ['-exportcert', '-rfc', ...common, '-file', certificate])
  return { keystore, certificate }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dps-secured-'))
  reaper.watchFolder(folder)
  const { keystore, certificate } = await makeCertificate()
  caFile = certificate
  for (const name of ['TLS', 'PLAINSASL', 'SCRAM']) ports.set(name, await freePort())
  const jaas = (name: string, mechanism: string, login: string) => ({ [`listener.name.${name}.${mechanism}.sasl.jaas.config`]: login })
  kafka = await startKafka(temporaryHomeAt(folder, reaper), {
    listeners: [
      { name: 'TLS', protocol: 'SSL', port: ports.get('TLS')! },
      { name: 'PLAINSASL', protocol: 'SASL_PLAINTEXT', port: ports.get('PLAINSASL')! },
      { name: 'SCRAM', protocol: 'SASL_SSL', port: ports.get('SCRAM')! },
    ],
    settings: {
      'ssl.keystore.location': keystore,
      'ssl.keystore.type': 'PKCS12',
      'ssl.keystore.password': 'changeit',
      'ssl.key.password': 'changeit',
      'listener.name.plainsasl.sasl.enabled.mechanisms': 'PLAIN',
      'listener.name.scram.sasl.enabled.mechanisms': 'SCRAM-SHA-256,SCRAM-SHA-512',
      ...jaas('plainsasl', 'plain', 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="open sesame";'),
      ...jaas('scram', 'scram-sha-256', 'org.apache.kafka.common.security.scram.ScramLoginModule required;'),
      ...jaas('scram', 'scram-sha-512', 'org.apache.kafka.common.security.scram.ScramLoginModule required;'),
    },
    scram: ['SCRAM-SHA-256=[name=alice,password=open-sesame]', 'SCRAM-SHA-512=[name=alice,password=open-sesame]'],
  })
})
afterAll(async () => {
  await Promise.all(kafka?.children.map((child) => child.stop()) ?? [])
  await rm(folder, { recursive: true, force: true })
  reaper.close()
})

const WAYS: [name: string, listener: string, settings: (ca: string) => KafkaSecuritySettings][] = [
  ['TLS', 'TLS', (ca) => ({ tls: true, caFile: ca })],
  ['SASL PLAIN', 'PLAINSASL', () => ({ tls: false, sasl: { mechanism: 'PLAIN', username: 'alice', password: 'open sesame' } })],
  [
    'TLS and SCRAM-SHA-256',
    'SCRAM',
    (ca) => ({ tls: true, caFile: ca, sasl: { mechanism: 'SCRAM-SHA-256', username: 'alice', password: 'open-sesame' } }),
  ],
  [
    'TLS and SCRAM-SHA-512',
    'SCRAM',
    (ca) => ({ tls: true, caFile: ca, sasl: { mechanism: 'SCRAM-SHA-512', username: 'alice', password: 'open-sesame' } }),
  ],
]

const environment = ({ tls, caFile: ca, sasl }: KafkaSecuritySettings): Record<string, string> => ({
  ...(tls ? { KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: ca! } : {}),
  ...(sasl ? { KAFKA_SASL_MECHANISM: sasl.mechanism, KAFKA_SASL_USERNAME: sasl.username, KAFKA_SASL_PASSWORD: sasl.password } : {}),
})

describe('a secured cluster', () => {
  it.each(WAYS)('carries a pipeline over %s', async (name, listener, settingsOf) => {
    const settings = settingsOf(caFile)
    const brokers = [`127.0.0.1:${ports.get(listener)}`]
    const security = openKafkaSecurity(settings, brokers)
    const prefix = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
    const client = createKafka(brokers, 'secured', security.kafkajs)
    const cluster = openCluster({ brokers, clientId: 'secured', connection: security.connection })
    const processor = await startBenchProcessor({
      kafka: client,
      brokers,
      prefix,
      cache: cacheFolder(),
      partitions: 1,
      env: environment(settings),
    })
    try {
      const [source, sink, dead] = [`${prefix}-source`, `${prefix}-sink`, `${prefix}-dead`] as const
      const admin = client.admin()
      const producer = exactProducer(client)
      await Promise.all([admin.connect(), producer.connect()])
      await ensureTopics(
        admin,
        [source, sink, dead].map((topic) => ({ topic, partitions: 1, replicationFactor: 1 })),
      )
      await producer.send({ topic: source, messages: [{ key: 'k', value: frame(7, '{"n":1}') }] })
      const definition = processor.definition(`pl_${prefix}`, [], { source, sink, deadLetters: dead })
      await cluster.ensureStartOffsets(definition.group_id, (await cluster.describeTopic(source))!)
      await processor.publish(definition, 'running')
      const values = await eventually('the record has come through', async () => {
        const found: string[] = []
        await readCommitted(cluster, sink, (_partition, _offset, _key, value) => found.push(value.toString('utf8', 5)))
        return found.length > 0 && found
      })
      expect(values).toEqual(['{"n":1}'])
      await Promise.all([admin.disconnect(), producer.disconnect()])
    } finally {
      await processor.close()
      await cluster.close()
    }
  })

  /** The error with all its causes. */
  const refusalBy = async (cluster: Cluster) => inspect(await cluster.describeTopic('any').catch((error: unknown) => error), { depth: 9 })

  it('is unreachable with a wrong password, and without the CA of its certificate', async () => {
    const wrong = openKafkaSecurity({ tls: false, sasl: { mechanism: 'PLAIN', username: 'alice', password: 'wrong' } }, [])
    const refused = openCluster({
      brokers: [`127.0.0.1:${ports.get('PLAINSASL')}`],
      clientId: 'x',
      connection: wrong.connection,
    })
    expect(await refusalBy(refused)).toMatch(/authentication/i)
    await refused.close()
    const blind = openKafkaSecurity({ tls: true }, ['127.0.0.1:1'])
    const unknown = openCluster({
      brokers: [`127.0.0.1:${ports.get('TLS')}`],
      clientId: 'x',
      connection: blind.connection,
    })
    expect(await refusalBy(unknown)).toMatch(/self-signed certificate|unable to .* certificate/i)
    await unknown.close()
    expect(await readFile(caFile, 'utf8')).toContain('BEGIN CERTIFICATE')
  })
})

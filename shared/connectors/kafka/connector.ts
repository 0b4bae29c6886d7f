/** The connector `kafka`: a topic of another Kafka cluster, as a source or as a sink. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'
import { HttpUrl } from '../http-url.ts'
import { Secret } from '../secret.ts'

const Place = {
  brokers: z
    .array(z.string().regex(/^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):\d{1,5}$/, 'must be host:port'))
    .min(1)
    .max(20)
    .meta({ title: 'Brokers', examples: [['kafka.example.com:9092']] }),
  topic: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,249}$/, 'must be the name of a topic')
    .meta({ title: 'Topic' }),
  tls: z
    .strictObject({ ca: z.string().max(100_000).optional().describe('PEM of a private authority') })
    .optional()
    .describe('encrypted connections; {} for publicly trusted authorities')
    .meta({ title: 'TLS' }),
  sasl: z
    .strictObject({
      mechanism: z.enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']),
      username: z.string().min(1).max(500),
      password: Secret,
    })
    .optional()
    .meta({ title: 'SASL' }),
}

const Registry = z.strictObject({
  url: HttpUrl,
  username: z.string().min(1).max(500).optional(),
  password: Secret.optional(),
})
/** Where another schema registry is, validated. */
export type RegistryConfig = z.output<typeof Registry>

/** Config of a topic of another cluster as a source, as requests give it. */
export const KafkaSourceConfig = z.strictObject({
  ...Place,
  registry: Registry.optional()
    .describe('schema registry of the other cluster: values in Avro, Protobuf and JSON Schema become JSON')
    .meta({ title: 'Registry' }),
  start: z.enum(['earliest', 'latest']).default('earliest').meta({ title: 'Start' }),
  framed: z
    .boolean()
    .default(false)
    .describe('values are JSON after a schema registry’s five bytes, which are removed; not needed with a registry')
    .meta({ title: 'Framed' }),
})
/** A validated config with its defaults filled in. */
export type KafkaSourceConfig = z.output<typeof KafkaSourceConfig>

/** Config of a topic of another cluster as a sink, as requests give it. */
export const KafkaSinkConfig = z
  .strictObject({
    ...Place,
    schema_id: z
      .number()
      .int()
      .min(1)
      .max(0x7fffffff)
      .optional()
      .describe('id in the other cluster’s registry that values are framed with; without it they get no frame')
      .meta({ title: 'Schema id' }),
    registry: Registry.optional()
      .describe('schema registry of the other cluster: values are written in the format of schema_id, which may be Avro or Protobuf')
      .meta({ title: 'Registry' }),
  })
  .refine(({ registry, schema_id }) => registry === undefined || schema_id !== undefined, {
    path: ['schema_id'],
    message: 'is required with a registry',
  })
/** A validated config with its defaults filled in. */
export type KafkaSinkConfig = z.output<typeof KafkaSinkConfig>

/** The connector’s entry in the catalogue. */
export const kafkaConnector: Connector = {
  id: 'conn_kafka',
  name: 'kafka',
  description: 'Reads a topic of another Kafka cluster, each record once; writes records to one, at least once.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  place: { members: ['brokers', 'topic'], called: (text) => text('topic') },
  source: direction({
    config: KafkaSourceConfig,
    open: async () => (await import('./source.ts')).openKafkaSource,
    check: async () => (await import('./other-cluster.ts')).checkOtherCluster,
  }),
  sink: direction({
    config: KafkaSinkConfig,
    open: async () => (await import('./sink.ts')).openKafkaSink,
    check: async () => (await import('./other-cluster.ts')).checkOtherCluster,
  }),
}

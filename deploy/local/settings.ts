/** The settings of each part of the local stack, the same for a container and for a local process. */

/** The images of the containers; a missing one is pulled. */
export const IMAGES = {
  kafka: 'apache/kafka:4.1.1',
  postgres: 'postgres:18-alpine',
  redis: 'redis:7-alpine',
  registry: 'apicurio/apicurio-registry:3.3.3',
  bucket: 'versity/versitygw:v1.8.0',
} as const

/** Properties of a broker in a cluster of `brokers`. */
export function kafkaSettings(brokers: number): Record<string, string | number | boolean> {
  const replicas = Math.min(3, brokers)
  return {
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
    // A transaction that begins while the previous one still ends retries after this time; the default of 20 ms would dominate latency.
    'add.partitions.to.txn.retry.backoff.ms': 1,
    'log.cleaner.dedupe.buffer.size': 16 << 20,
    // The control plane publishes modules of up to 10 MiB as records (docs/limits.md).
    'message.max.bytes': 16 << 20,
    // Tests start several brokers to kill one: leaders must move within seconds.
    ...(brokers > 1 ? { 'broker.session.timeout.ms': 4000, 'broker.heartbeat.interval.ms': 500 } : {}),
  }
}

export const POSTGRES_SETTINGS: Record<string, string | number> = {
  max_connections: 200,
  // For tables as sources: logical replication.
  wal_level: 'logical',
  max_replication_slots: 20,
  max_wal_senders: 20,
  synchronous_commit: 'on',
  fsync: 'on',
}

/** Arguments of the Postgres server: `-c name=value` for each setting. */
export const postgresArguments = (settings: Record<string, string | number>): string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])

/** A temporary Redis only counts requests and needs no disk; one with kept data writes its append-only file every second. */
export const redisArguments = (isKept: boolean): string[] => ['--save', '', '--appendonly', isKept ? 'yes' : 'no']

/** Properties of the schema registry; `file` is the path of its store, without an extension. */
export const registrySettings = (file: string): Record<string, string> => ({
  // Without WRITE_DELAY=0 a kill loses schemas that were acknowledged.
  'apicurio.datasource.url': `jdbc:h2:file:${file};WRITE_DELAY=0`,
  'apicurio.rules.global.compatibility': 'BACKWARD',
})

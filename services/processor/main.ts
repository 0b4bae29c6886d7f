/**
 * The processor: composition root. config → cluster → lanes → definitions → fleet → supervisor → operations server → drain.
 * It needs only Kafka; the control plane and its Postgres may be down.
 */
import { randomUUID } from 'node:crypto'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { connectorDefaultsOf, kafkaSecurityOf, loadProcessorConfig } from '../../shared/config/config.ts'
import { createKafka, ensureServiceTopics } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { openKafkaSecurity } from '../../shared/kafka/admin/security.ts'
import { serviceNames } from '../../shared/model/definition.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { createSecretBox } from '../../shared/secrets/envelope.ts'
import { watchLiveness } from '../../shared/telemetry/liveness.ts'
import { createLogger } from '../../shared/telemetry/log.ts'
import { openOperationsServer } from '../../shared/telemetry/operations-server.ts'
import { withRetries } from '../../shared/telemetry/with-retries.ts'
import { createBufferPool } from './lane/buffer-pool.ts'
import { registerTaskMetrics } from './metrics.ts'
import { openPhases } from './phases.ts'
import { openDeclined, type Declined } from './supervisor/declined.ts'
import { openDefinitions } from './supervisor/definitions.ts'
import { openFleet } from './supervisor/fleet.ts'
import { openObserver, type Observer } from './supervisor/observer.ts'
import { openSupervisor, type Supervisor } from './supervisor/supervisor.ts'
import { openByteBudget } from './task/byte-budget.ts'

const config = loadProcessorConfig()
const log = createLogger('processor', config.LOG_LEVEL)
/** Longer than any single turn of the event loop may take. */
const STILL_MS_MAX = 30_000
watchLiveness(STILL_MS_MAX)
const now = () => Date.now()
const processorId = config.PROCESSOR_ID ?? `processor-${randomUUID()}`
const names = serviceNames(config.DPS_PREFIX)
const warn = (what: string) => (error: Error) => log.warn({ reason: error.message }, what)

/** Transactions V2 (KIP-890, Kafka 4.0). At level 1 the broker refuses a later round although EndTxn has answered 0. */
const TRANSACTION_VERSION_MIN = 2

const security = openKafkaSecurity(kafkaSecurityOf(config), config.KAFKA_BROKERS)
const cluster = openCluster({ brokers: config.KAFKA_BROKERS, clientId: processorId, connection: security.connection, now })
await withRetries(log, 'waiting for Kafka', async () => {
  const version = await cluster.finalisedFeature('transaction.version')
  if (version < TRANSACTION_VERSION_MIN) {
    log.fatal(
      `the Kafka cluster's feature transaction.version is ${version}; at least 2 is needed (Kafka 4.0 or newer: kafka-features.sh upgrade --feature transaction.version=2)`,
    )
    process.exit(1)
  }
  const admin = createKafka(config.KAFKA_BROKERS, processorId, security.kafkajs).admin()
  await admin.connect()
  await ensureServiceTopics(admin, names, config.REPLICATION_FACTOR).finally(() => admin.disconnect())
})

/** Buffers of fetched bytes: transferred to a lane with a round, returned once the lane has run them. */
const inputs = createBufferPool(config.FETCH_BUDGET_BYTES)
const phases = await openPhases(config.DPS_FAULTS)
const lanes = phases.openLanes({
  inputs,
  count: config.LANES,
  kernel: await WebAssembly.compile(await kernelBinary(config.DPS_CACHE)),
  callTimeoutMs: config.CALL_TIMEOUT_MS,
  now,
  onLost: (reason) => log.warn({ reason }, 'a lane was replaced'),
})

let supervisor: Supervisor | undefined
let observer: Observer | undefined
let declined: Declined | undefined
const definitions = openDefinitions(
  cluster,
  names.definitions,
  createSecretBox(config.SECRETS_KEYS),
  () => supervisor?.reconcile(),
  warn('definitions'),
)
await definitions.caughtUp
const fleet = await withRetries(log, 'joining the fleet', () =>
  openFleet({
    cluster,
    brokers: config.KAFKA_BROKERS,
    name: names.fleet,
    processorId,
    sessionTimeoutMs: config.SESSION_TIMEOUT_MS,
    onChange: () => supervisor?.reconcile(),
    onError: warn('fleet'),
  }),
)
declined = openDeclined(cluster, names.fleet, processorId, now, () => supervisor?.reconcile(), warn('declined tasks'))
await declined.caughtUp
supervisor = openSupervisor({
  declined,
  phases,
  processorId,
  brokers: config.KAFKA_BROKERS,
  cluster,
  definitions,
  fleet,
  lanes,
  budget: openByteBudget(config.FETCH_BUDGET_BYTES),
  fetch: phases.createFetch(inputs.take),
  roundBytesMax: config.ROUND_BYTES_MAX,
  sessionTimeoutMs: config.SESSION_TIMEOUT_MS,
  names,
  connectorDefaults: connectorDefaultsOf(config),
  now,
  log: (level, message, fields) => log[level](fields, message),
  onChange: () => observer?.notify(),
})
const { observed } = supervisor
observer = openObserver(cluster, names.observed, observed, now, warn('publishing observations'))
supervisor.reconcile()

const metrics = new Registry()
collectDefaultMetrics({ register: metrics })
registerTaskMetrics(metrics, observed)
new Gauge({
  name: 'dps_fleet_members',
  help: 'Processors in the last stable view of the fleet',
  registers: [metrics],
  collect() {
    this.set(fleet.members().length)
  },
})
new Gauge({
  name: 'dps_lanes',
  help: 'Lanes at work; more than configured while slow SmartModules have lanes to themselves',
  registers: [metrics],
  collect() {
    this.set(lanes.count())
  },
})
const operations = await openOperationsServer(config.METRICS_HOST, config.METRICS_PORT, metrics, async () =>
  fleet.members().includes(processorId) ? [] : ['not in the fleet yet'],
)
log.info({ processor_id: processorId, metrics_port: operations.port }, 'processor up')
process.send?.({ type: 'up', metrics_port: operations.port })

let draining: Promise<void> | undefined
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void (draining ??= drain(signal)))

/** D7: stop fetching, finish the round, commit, leave the groups. */
async function drain(signal: string): Promise<void> {
  log.info({ signal }, 'draining')
  // Leave the fleet first, so that other processors have joined the groups before this one's tasks leave them.
  supervisor?.drain()
  await fleet.close()
  await supervisor?.close()
  await observer?.close()
  await declined?.close()
  await definitions.close()
  await lanes.close()
  await operations.close()
  await cluster.close()
  process.exit(0)
}

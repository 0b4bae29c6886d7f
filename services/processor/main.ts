/**
 * The processor's entry: config → cluster → definitions → fleet → runners → probes server → drain. Accounts' code and connections are
 * in the runners, which are processes of their own (`runner/main.ts`). It needs only Kafka; the control plane and its Postgres may be down.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { collectDefaultMetrics, Registry } from 'prom-client'
import {
  connectorDefaultsOf,
  kafkaSecurityOf,
  loadProcessorConfig,
  childEnvironment,
  ownHostsOf,
  runnerMemoryBytesOf,
} from '../../shared/config/config.ts'
import { addressRulesOf } from '../../shared/connectors/address-guard.ts'
import { createKafka, ensureServiceTopics } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { openKafkaSecurity } from '../../shared/kafka/admin/security.ts'
import { serviceNames } from '../../shared/model/definition.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import { createSecretBox } from '../../shared/secrets/envelope.ts'
import { watchLiveness } from '../../shared/telemetry/liveness.ts'
import { createLogger } from '../../shared/telemetry/log.ts'
import { openProbesServer } from '../../shared/telemetry/probes-server.ts'
import { withRetries } from '../../shared/waiting/with-retries.ts'
import { registerMetrics } from './metrics.ts'
import { createBlame } from './supervisor/blame.ts'
import { createCpuMeter } from './supervisor/cpu-meter.ts'
import { openDeclined } from './supervisor/declined.ts'
import { openDefinitions } from './supervisor/definitions.ts'
import { openFailedChains } from './supervisor/failed-chains.ts'
import type { FleetTopic } from './supervisor/fleet-records.ts'
import { openFleet } from './supervisor/fleet.ts'
import { groupAccounts } from './supervisor/group-accounts.ts'
import { openLogRelay } from './supervisor/log-relay.ts'
import { openObserver, type Observer } from './supervisor/observer.ts'
import { openSupervisor, type Supervisor } from './supervisor/supervisor.ts'
import { openVerdicts } from './supervisor/verdicts.ts'

const config = loadProcessorConfig()
const log = createLogger('processor', config.LOG_LEVEL)
watchLiveness()
const CPU_LOOK_MS = 5000
const now = () => Date.now()
const processorId = config.PROCESSOR_ID ?? `processor-${randomUUID()}`
const names = serviceNames(config.DPS_PREFIX)
const warn = (what: string) => (error: Error) => log.warn({ reason: error.message }, what)

/** Transactions V2 (KIP-890, Kafka 4.0). At level 1 the broker refuses a later round although EndTxn has answered 0. */
const TRANSACTION_VERSION_MIN = 2

const security = openKafkaSecurity(kafkaSecurityOf(config), config.KAFKA_BROKERS)
const cluster = openCluster({ brokers: config.KAFKA_BROKERS, clientId: processorId, connection: security.connection })
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
// Compiled once and cached, before several runners would do so at once.
await kernelBinary(config.DPS_CACHE)

let supervisor: Supervisor | undefined
let observer: Observer | undefined

/** Longer than the rest of a start takes; an operator's stop kills after ten seconds. */
const START_REST_MAX_MS = 8000
const up = Promise.withResolvers<void>()
let draining: Promise<void> | undefined
// From here on it may be a member of the fleet: one that ends without leaving holds its tasks up until its session ends.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void (draining ??= drain(signal)))

const reconcile = () => supervisor?.reconcile()
const definitions = openDefinitions(cluster, names.definitions, createSecretBox(config.SECRETS_KEYS), reconcile, warn('definitions'))
await definitions.caughtUp
const fleet = await withRetries(log, 'joining the fleet', () =>
  openFleet({
    cluster,
    brokers: config.KAFKA_BROKERS,
    name: names.fleet,
    processorId,
    sessionTimeoutMs: config.SESSION_TIMEOUT_MS,
    onChange: reconcile,
    onError: warn('fleet'),
  }),
)
const fleetTopic = (what: string): FleetTopic => ({ cluster, topic: names.fleet, now, onChange: reconcile, onError: warn(what) })
const declined = openDeclined(fleetTopic('declined tasks'), processorId)
const verdicts = openVerdicts(fleetTopic('verdicts'))
const failedChains = openFailedChains(fleetTopic('failed chains'))
await Promise.all([declined.caughtUp, verdicts.caughtUp, failedChains.caughtUp])
const logs = openLogRelay(cluster, names.logs, processorId, now, warn('lines of pipelines were not written'))
const connectorDefaults = {
  ...connectorDefaultsOf(config),
  addresses: await addressRulesOf(config.ALLOW_PRIVATE_ADDRESSES, ownHostsOf(config), log),
}
supervisor = openSupervisor({
  declined,
  verdicts,
  failedChains,
  blame: createBlame(groupAccounts(config.ISOLATION, config.RUNNER_ACCOUNTS)),
  definitions,
  fleet,
  settings: {
    processorId,
    brokers: config.KAFKA_BROKERS,
    security: kafkaSecurityOf(config),
    prefix: config.DPS_PREFIX,
    cacheFolder: config.DPS_CACHE,
    lanes: config.LANES,
    roundBytesMax: config.ROUND_BYTES_MAX,
    fetchBudgetBytes: config.FETCH_BUDGET_BYTES,
    callTimeoutMs: config.CALL_TIMEOUT_MS,
    sessionTimeoutMs: config.SESSION_TIMEOUT_MS,
    logLevel: config.LOG_LEVEL,
    ...(config.DPS_FAULTS === undefined ? {} : { faults: config.DPS_FAULTS }),
  },
  // Most of a runner's start is compiling, unless one before it has.
  env: { NODE_COMPILE_CACHE: join(config.DPS_CACHE, 'node'), ...childEnvironment() },
  connectorDefaults,
  memoryBytesMax: runnerMemoryBytesOf(config),
  now,
  log: (level, message, fields) => log[level](fields, message),
  onChange: () => observer?.notify(),
  onLogs: logs.add,
})
const { observed } = supervisor
// Each process counts from zero, also under an id that another one had before.
const meter = createCpuMeter(`${processorId}/${randomUUID()}`, now)
const cpuLooks = setInterval(() => supervisor && meter.look(supervisor.usage()), CPU_LOOK_MS)
observer = openObserver(cluster, names.observed, observed, meter.counts, now, warn('publishing observations'))
supervisor.reconcile()

const metrics = new Registry()
collectDefaultMetrics({ register: metrics })
registerMetrics(metrics, observed, () => fleet.members().length, supervisor.usage)
const probes = await openProbesServer(config.METRICS_HOST, config.METRICS_PORT, metrics, async () => {
  if (!fleet.isCurrent()) return ['kafka is unreachable']
  return fleet.members().includes(processorId) ? [] : ['not in the fleet yet']
})
log.info({ processor_id: processorId, metrics_port: probes.port }, 'processor up')
process.send?.({ type: 'up', metrics_port: probes.port })

up.resolve()

/** D7: leave the fleet, then end the runners, which finish their rounds (`runner/main.ts`). */
async function drain(signal: string): Promise<void> {
  log.info({ signal }, 'draining')
  setTimeout(() => up.reject(new Error('the start takes too long')), START_REST_MAX_MS).unref()
  await up.promise.catch(() => process.exit(1))
  // Leave the fleet first, so that other processors have joined the groups before this one's tasks leave them.
  clearInterval(cpuLooks)
  supervisor?.drain()
  await fleet.close()
  await supervisor?.close()
  await observer?.close()
  await logs.close()
  await Promise.all([declined.close(), verdicts.close(), failedChains.close(), definitions.close()])
  await probes.close()
  await cluster.close()
  process.exit(0)
}

/** The control plane's composition root: config → clients → stores → app → listen → drain. The control plane runs no pipelines. */
import { ping } from './store/locks.ts'
import { once } from 'node:events'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { collectDefaultMetrics, Registry as MetricsRegistry } from 'prom-client'
import {
  childEnvironment,
  connectorDefaultsOf,
  kafkaSecurityOf,
  loadControlPlaneConfig,
  oidcOf,
  ownHostsOf,
} from '../../shared/config/config.ts'
import { addressRulesOf } from '../../shared/connectors/address-guard.ts'
import { createKafka, ensureServiceTopics } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { openKafkaSecurity } from '../../shared/kafka/admin/security.ts'
import { openSharedAdmin } from '../../shared/kafka/admin/shared-admin.ts'
import { serviceNames } from '../../shared/model/definition.ts'
import { openRegistry } from './registry/registry.ts'
import { createSecretBox } from '../../shared/secrets/envelope.ts'
import { countAccounts } from './store/accounts.ts'
import { migrate, openDatabase } from './store/database.ts'
import { openDatabaseWatch } from './store/database-watch.ts'
import { watchLiveness } from '../../shared/telemetry/liveness.ts'
import { createLogger } from '../../shared/telemetry/log.ts'
import { openProbesServer } from '../../shared/telemetry/probes-server.ts'
import { withRetries } from '../../shared/waiting/with-retries.ts'
import { createApp } from './app.ts'
import { createHttpServer } from './http/http-server.ts'
import { measureRequests } from './http/metrics.ts'
import { installBuiltIns } from './start/built-ins.ts'
import { createCredentials } from './access/credentials.ts'
import type { Deps } from './deps.ts'
import { startProjector } from './projector/projector.ts'
import { settleJob } from './jobs/jobs.ts'
import { createDeadLetterProjection } from './dead-letters/projection.ts'
import { startLedgerProjection } from './projector/ledger.ts'
import { createProjectionNotifier } from './projector/notify-projections.ts'
import { startPublisher } from './publisher/publisher.ts'
import { rewrapSecrets } from './start/rewrap-secrets.ts'
import { openProvider } from './sign-in/provider.ts'
import { startReconciler } from './reconciler/reconciler.ts'
import { followLogs } from './logs/follow-logs.ts'
import { followHistory } from './history/follow-history.ts'
import { reasonOf } from '../../shared/errors/reason-of.ts'
import { createOverviewFeed } from './overview-feed/overview-feed.ts'
import { glancesOf } from './overview-feed/glances.ts'
import { showJob } from './routes/jobs.ts'
import { listMovingJobs } from './store/jobs.ts'
import { createHistoryBook } from './history/history-book.ts'
import { createLogBook } from './logs/log-book.ts'
import { createStreamData } from './stream-data/stream-data.ts'
import { ensureWarehouseRoles } from './definitions/warehouse-roles.ts'
import { openWorkshop } from './workshop/workshop.ts'
import { createRunTurns } from './tail/run-turns.ts'
import { createTailPacer } from './tail/tail.ts'
import { createPacer } from './concurrency/pacing.ts'
import { openSourceReader } from './trace/source-records.ts'

const config = loadControlPlaneConfig()
const log = createLogger('control-plane', config.LOG_LEVEL)
watchLiveness()
const now = () => Date.now()
const names = serviceNames(config.DPS_PREFIX)

const databaseWatch = openDatabaseWatch(config.DATABASE_URL)
const db = openDatabase(config.DATABASE_URL, undefined, databaseWatch.lostAt)
await withRetries(log, 'waiting for Postgres', () => migrate(db))
await installBuiltIns(db, config.DPS_CACHE)

const security = openKafkaSecurity(kafkaSecurityOf(config), config.KAFKA_BROKERS)
const kafka = createKafka(config.KAFKA_BROKERS, 'control-plane', security.kafkajs)
const admin = openSharedAdmin(kafka)
const withAdmin = admin.during
const cluster = openCluster({ brokers: config.KAFKA_BROKERS, clientId: 'control-plane', connection: security.connection })
await withRetries(log, 'waiting for Kafka', () => withAdmin((client) => ensureServiceTopics(client, names, config.REPLICATION_FACTOR)))

// Commands fail at once while Redis is unreachable, so that the limiter counts in memory.
const redis = new Redis(config.REDIS_URL, {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  commandTimeout: 500,
  retryStrategy: (times) => Math.min(times * 200, 2000),
})
redis.on('error', (error) => log.warn({ reason: error.message }, 'Redis is unreachable: rate limits are counted in memory'))

const secretBox = createSecretBox(config.SECRETS_KEYS)
await rewrapSecrets(db, secretBox)
const registry = openRegistry(config.SCHEMA_REGISTRY_URL)
const streamData = createStreamData(db, cluster, now)
const publisher = startPublisher({ db, kafka, log }, names.definitions, `${config.DPS_PREFIX}.publisher`)
const warnOf = (what: string) => (error: Error) => log.warn({ reason: error.message }, what)
const deadLetters = createDeadLetterProjection(db, cluster, warnOf('dead letters: projection failed, will be tried again'))
const sourceReader = openSourceReader(cluster)
const ledger = await withRetries(log, 'starting the ledger', () => startLedgerProjection({ db, cluster, log }, names.ledger))
// Most of a workshop's start is compiling, unless one before it has.
const workshop = openWorkshop({
  count: config.WORKSHOPS,
  env: { NODE_COMPILE_CACHE: join(config.DPS_CACHE, 'node'), ...childEnvironment() },
})
const logs = createLogBook(now)
const logsTail = followLogs(cluster, names.logs, logs, warnOf('the logs of pipelines were not read'))
const history = createHistoryBook(now)
const historyTail = followHistory(cluster, names.observed, history, warnOf('the history of pipelines was not read'))
const deps: Deps = {
  logs,
  history,
  runTurns: createRunTurns(),
  readPacer: createPacer(),
  pushPacer: createPacer(),
  tailPacer: createTailPacer(),
  overviewFeed: createOverviewFeed({
    look: async (accountId, known, since) => ({
      pipelines: await glancesOf(db, accountId),
      jobs: (await listMovingJobs(db, accountId, known, since)).map((row) => ({
        ...showJob(row),
        created_at: row.created_at.toISOString(),
        updated_at: row.updated_at.toISOString(),
      })),
    }),
    onFailure: (error) => log.warn({ reason: reasonOf(error) }, 'pipelines were not looked at for those that listen to events'),
  }),
  logsRead: logsTail.caughtUp,
  deadLetters,
  sourceReader,
  catchUpLedger: ledger.catchUp,
  cacheFolder: config.DPS_CACHE,
  db,
  databaseWatch,
  kafka,
  withAdmin,
  cluster,
  registry,
  names,
  replicationFactor: config.REPLICATION_FACTOR,
  credentials: createCredentials({ jwtKeys: config.JWT_KEYS, secretHashKey: config.SECRET_HASH_KEY }),
  secretBox,
  connectorDefaults: {
    ...connectorDefaultsOf(config),
    addresses: await addressRulesOf(config.ALLOW_PRIVATE_ADDRESSES, ownHostsOf(config), log),
  },
  workshop,
  adoption: { patterns: config.ADOPTABLE_TOPICS, prefix: config.DPS_PREFIX },
  streamData,
  log,
  notifyPublisher: publisher.notify,
}
const notifyProjections = createProjectionNotifier(deps)
const projector = await withRetries(log, 'starting the projector', () =>
  startProjector(deps, names.observed, ({ pipelineIds, endedJobs }) => {
    notifyProjections(pipelineIds)
    for (const { id, status, reason } of endedJobs)
      settleJob(deps, id, status, reason).catch((error: unknown) =>
        log.warn({ id, reason: reasonOf(error) }, 'a job will be settled later'),
      )
  }),
)
const reconciler = startReconciler(deps)
ensureWarehouseRoles(deps).catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'the warehouse’s roles were not looked at'))
const { bucket, per_account, warehouse_url } = deps.connectorDefaults
const isShared = (warehouse_url !== undefined && !per_account.warehouse) || (bucket !== undefined && !per_account.bucket)
if (isShared && (await countAccounts(db)) > 1)
  log.warn('several accounts share the warehouse or the bucket, and see each other there: WAREHOUSE_PER_ACCOUNT, BUCKET_PER_ACCOUNT')

const provider = oidcOf(config)
const { app, close: closeStreams } = createApp(deps, redis, {
  prefix: config.DPS_PREFIX,
  tokenRequestsPerMinute: config.TOKEN_REQUESTS_PER_MINUTE,
  trustedProxies: config.TRUSTED_PROXIES,
  plainHttp: config.CONSOLE_PLAIN_HTTP,
  provider: provider && openProvider(provider),
})
const server = createHttpServer(app.callback(), {
  trustedProxies: config.TRUSTED_PROXIES,
  connectionsPerAddress: config.CONNECTIONS_PER_ADDRESS,
  log,
})
server.listen(config.PORT, config.HOST)
await once(server, 'listening')
const address = server.address()
const port = typeof address === 'object' && address !== null ? address.port : config.PORT

const metrics = new MetricsRegistry()
collectDefaultMetrics({ register: metrics })
server.on('request', measureRequests(metrics))
const probes = await openProbesServer(config.METRICS_HOST, config.METRICS_PORT, metrics, async () => {
  const checks: [string, Promise<unknown>][] = [
    ['postgres', databaseWatch.during(() => ping(db))],
    ['kafka', cluster.describeTopic(names.definitions)],
  ]
  const results = await Promise.allSettled(checks.map(([, check]) => check))
  return checks.flatMap(([name], index) => (results[index]!.status === 'rejected' ? [`${name} is unreachable`] : []))
})
log.info({ port, metrics_port: probes.port }, 'control plane up')
process.send?.({ type: 'up', port, metrics_port: probes.port })

let draining: Promise<void> | undefined
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void (draining ??= drain()))

async function drain(): Promise<void> {
  server.close()
  await closeStreams()
  server.closeIdleConnections()
  await Promise.race([once(server, 'close'), new Promise((resolve) => setTimeout(resolve, 5000))])
  await Promise.allSettled([
    reconciler.close(),
    projector.close(),
    publisher.close(),
    databaseWatch.close(),
    streamData.close(),
    ledger.close(),
    deadLetters.close(),
    sourceReader.close(),
    logsTail.close(),
    historyTail.close(),
    workshop.close(),
  ])
  await Promise.allSettled([probes.close(), admin.close(), cluster.close(), db.destroy()])
  redis.disconnect()
  process.exit(0)
}

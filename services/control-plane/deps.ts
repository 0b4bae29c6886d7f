/** The dependencies of handlers and background loops, created once in `main.ts`. Each function picks the few that it needs. */
import type { Kafka } from 'kafkajs'
import type { OperatorDefaults } from '../../shared/connectors/connector.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import type { AdoptionRules } from '../../shared/model/adoption.ts'
import type { ServiceNames } from '../../shared/model/definition.ts'
import type { Scope, AccountType } from '../../shared/model/limits.ts'
import type { Registry } from './registry/registry.ts'
import type { Database, Queryable } from './store/database.ts'
import type { DatabaseWatch } from './store/database-watch.ts'
import type { Logger } from '../../shared/telemetry/log.ts'
import type { KafkaAdmin } from '../../shared/kafka/admin/admin.ts'
import type { SecretBox } from '../../shared/secrets/envelope.ts'
import type { Credentials } from './access/credentials.ts'
import type { DeadLetterProjection } from './dead-letters/projection.ts'
import type { SourceReader } from './trace/source-records.ts'
import type { Contract, Events } from '../../shared/api/contract.ts'
import type { RawRecords } from './http/raw-records.ts'
import type { Begun } from './store/idempotency.ts'
import type { ActiveSession } from './store/members.ts'
import type { OverviewFeed } from './overview-feed/overview-feed.ts'
import type { HistoryBook } from './history/history-book.ts'
import type { LogBook } from './logs/log-book.ts'
import type { Workshop } from './workshop/workshop.ts'
import type { RunTurns } from './tail/run-turns.ts'
import type { Pacer } from './concurrency/pacing.ts'
import type { StreamData } from './stream-data/stream-data.ts'

export type Deps = {
  db: Database
  databaseWatch: DatabaseWatch
  kafka: Kafka
  /** Runs `work` with a connected admin client; the client is replaced after an error. */
  withAdmin<T>(work: (admin: KafkaAdmin) => Promise<T>): Promise<T>
  cluster: Cluster
  registry: Registry
  names: ServiceNames
  replicationFactor: number
  credentials: Credentials
  secretBox: SecretBox
  connectorDefaults: OperatorDefaults
  /** Child processes for accounts' code, servers and schemas. */
  workshop: Workshop
  adoption: AdoptionRules
  streamData: StreamData
  deadLetters: DeadLetterProjection
  sourceReader: SourceReader
  logs: LogBook
  history: HistoryBook
  runTurns: RunTurns
  /** Of requests that read records; pushes have their own, because reads must not delay pushes. */
  readPacer: Pacer
  pushPacer: Pacer
  /** Of tails, whose looks wait for each other and begin again by themselves. */
  tailPacer: Pacer
  overviewFeed: OverviewFeed
  /** Resolves once the log book has what was there when this process started. */
  logsRead: Promise<void>
  /** Waits until the ledger's projection has caught up with its topic. */
  catchUpLedger(): Promise<void>
  cacheFolder: string
  log: Logger
  /** Wakes the publisher after rows were added to the outbox. */
  notifyPublisher(): void
}

/**
 * A write under an Idempotency-Key. `begun`: the producer with which an earlier request under the key has begun to write; `begin` stores
 * this request's producer before it writes. `keep` stores the answer in the same transaction as the resource, where a repeat could not
 * find what the first one has made.
 */
export type KeyedWrite = {
  begun: Begun | undefined
  begin(what: Begun): Promise<void>
  keep(trx: Queryable, reply: Reply): Promise<void>
}

/** Who makes a request: the account, and its key or member; with what operations need of the request besides its input. */
export type Caller = {
  accountId: string
  accountType: AccountType
  /** The key's id, or the member's where one is signed in. */
  actorId: string
  scopes: readonly Scope[]
  /** The If-Match header, if given. */
  ifMatch?: string
  /** The body's records as received, for operations that pass them on. */
  records?: RawRecords
  /** The body's text, for operations that use members of it byte for byte. */
  text?: string
  /** Set for requests with an Idempotency-Key. */
  keyed?: KeyedWrite
  /** The session, if a member is signed in. */
  session?: ActiveSession & { tokenHash: Buffer }
  /** Counts failures to prove who one is, and refuses after too many. */
  guarded?: <T>(work: () => Promise<T>) => Promise<T>
  /** Runs an operation that is a part of the request, as each change of a manifest is, with its own entry in the audit log. */
  audited?: Audited
}

/** `resourceId`: of the resource that the operation changes; undefined where it creates one. */
export type Audited = (contract: Contract, resourceId: string | undefined, work: () => Promise<Reply>) => Promise<Reply>

/** What a handler returns. */
export type Reply = { status: number; body?: unknown; headers?: Record<string, string>; events?: Events }

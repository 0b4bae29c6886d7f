/** Postgres through knex: the connection, the migrations, and which errors mean that Postgres is away. */
import { setTimeout as sleep } from 'node:timers/promises'
import knex, { type Knex } from 'knex'
import * as initial from './migrations/0001-initial.ts'
import * as delivery from './migrations/0002-delivery.ts'
import * as connectors from './migrations/0003-connectors.ts'
import * as streamSchemas from './migrations/0004-stream-schemas.ts'
import * as adoptedStreams from './migrations/0005-adopted-streams.ts'
import * as fencing from './migrations/0006-fencing.ts'
import * as streamIndex from './migrations/0007-stream-index.ts'
import * as accounts from './migrations/0008-accounts.ts'
import * as sources from './migrations/0009-sources.ts'
import * as canaries from './migrations/0010-canaries.ts'
import * as moduleTests from './migrations/0011-module-tests.ts'
import * as taskRoles from './migrations/0012-task-roles.ts'
import * as manifestSets from './migrations/0013-manifest-sets.ts'
import * as members from './migrations/0014-members.ts'
import * as canaryShare from './migrations/0015-canary-share.ts'
import * as membersPerAccount from './migrations/0016-members-per-account.ts'
import * as topicOfDeadLetters from './migrations/0017-topic-of-dead-letters.ts'
import * as quarantinedVersions from './migrations/0018-quarantined-versions.ts'
import * as patternOfDeadLetters from './migrations/0019-pattern-of-dead-letters.ts'

/** A pool of connections to Postgres. */
export type Database = Knex
/** An open transaction. */
export type Transaction = Knex.Transaction
/** A connection or a transaction: what most queries run on. */
export type Queryable = Knex | Knex.Transaction

const MIGRATIONS = [
  { name: '0001-initial', migration: initial },
  { name: '0002-delivery', migration: delivery },
  { name: '0003-connectors', migration: connectors },
  { name: '0004-stream-schemas', migration: streamSchemas },
  { name: '0005-adopted-streams', migration: adoptedStreams },
  { name: '0006-fencing', migration: fencing },
  { name: '0007-stream-index', migration: streamIndex },
  { name: '0008-accounts', migration: accounts },
  { name: '0009-sources', migration: sources },
  { name: '0010-canaries', migration: canaries },
  { name: '0011-module-tests', migration: moduleTests },
  { name: '0012-task-roles', migration: taskRoles },
  { name: '0013-manifest-sets', migration: manifestSets },
  { name: '0014-members', migration: members },
  { name: '0015-canary-share', migration: canaryShare },
  { name: '0016-members-per-account', migration: membersPerAccount },
  { name: '0017-topic-of-dead-letters', migration: topicOfDeadLetters },
  { name: '0018-quarantined-versions', migration: quarantinedVersions },
  { name: '0019-pattern-of-dead-letters', migration: patternOfDeadLetters },
]

/**
 * A pool of at most `connectionsMax` connections. A query waits at most 5 s for a free one. None that was opened before `lostAt` is handed
 * out again: behind a network that has dropped it without a word, each query would wait for its whole time limit.
 */
export function openDatabase(url: string, connectionsMax = 20, lostAt: () => number = () => 0): Database {
  const openedAt = new WeakMap<object, number>()
  return knex({
    client: 'pg',
    // Postgres ends a statement first: the client only stops waiting, and the pool would hand out a connection that is still at work.
    connection: { connectionString: url, connectionTimeoutMillis: 3000, statement_timeout: 14_000, query_timeout: 15_000 },
    pool: {
      min: 0,
      max: connectionsMax,
      afterCreate(connection: object, done: () => void) {
        openedAt.set(connection, performance.now())
        done()
      },
      validate: (connection: object) => (openedAt.get(connection) ?? 0) >= lostAt(),
    },
    acquireConnectionTimeout: 5000,
  })
}

/** Brings the schema up to date; safe when several processes start at once (knex takes a lock). */
export async function migrate(database: Database): Promise<void> {
  await database.migrate.latest({
    migrationSource: {
      getMigrations: () => Promise.resolve(MIGRATIONS),
      getMigrationName: ({ name }: (typeof MIGRATIONS)[number]) => name,
      getMigration: ({ migration }: (typeof MIGRATIONS)[number]) => Promise.resolve(migration),
    },
  })
}

const UNIQUE_VIOLATION = '23505'

/** True for a violation of a unique index (PostgreSQL error 23505). */
export function isUniqueViolation(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === UNIQUE_VIOLATION
}

const REPEATED_MAX = 3
const PAUSE_MS = 50
/** Postgres has ended one of several transactions that waited for each other, or could not be put in an order. */
const REPEATABLE = new Set(['40P01', '40001'])

/**
 * A transaction that is done again where Postgres has ended it for the sake of another, up to three times: requests lock the same rows in
 * different orders. What `work` does besides the database must be harmless when it is repeated.
 */
export async function inTransaction<T>(database: Database, work: (trx: Transaction) => Promise<T>): Promise<T> {
  for (let repeated = 0; ; repeated++) {
    try {
      return await database.transaction(work)
    } catch (error) {
      const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
      if (typeof code !== 'string' || !REPEATABLE.has(code) || repeated === REPEATED_MAX) throw error
      await sleep(PAUSE_MS * (repeated + Math.random()))
    }
  }
}

const AWAY = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  // A statement took longer than it may.
  '57014',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08000',
  '08001',
  '08003',
  '08006',
])

/** True for errors that mean Postgres is away or shutting down, not that a query is wrong. */
export function isDatabaseAway(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, name, message } = error as { code?: unknown; name?: unknown; message?: unknown }
  if (typeof code === 'string' && AWAY.has(code)) return true
  if (name === 'KnexTimeoutError') return true
  return typeof message === 'string' && /Connection terminated|timeout expired|Query read timeout|connection.*closed/i.test(message)
}

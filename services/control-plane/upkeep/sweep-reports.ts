/**
 * Writes tombstones for what deleted pipelines and jobs left on `dps.observed` and `dps.ledger`, and for counts of CPU seconds of
 * processors that have ended: compaction keeps the last record of each key for ever. Both are read through four times a day. Ids are never
 * reused, so a late tombstone replaces nothing that counts; what a processor still reports then is swept the next time.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { appendRecords } from '../../../shared/kafka/append.ts'
import { followTopic } from '../../../shared/kafka/follow.ts'
import { isCpuUseKey } from '../../../shared/model/observed.ts'
import { hourOf } from '../../../shared/model/times.ts'
import { listLiveRuns } from '../store/jobs.ts'
import { cpuUseIn } from '../projector/reports-in.ts'
import type { Deps } from '../deps.ts'
import { oncePerInterval } from './once-per-interval.ts'

const EVERY_MS = 6 * 3_600_000
/** Counts of earlier hours have been projected. */
const COUNTS_KEPT_MS = 24 * 3_600_000
/** Keys of one batch: far below the broker's limit of 1 MiB. */
const BATCH_KEYS = 1000

type SweepDeps = Pick<Deps, 'db' | 'cluster' | 'names'>

/** What the reconciler calls on every pass; it does its work four times a day. Ends early once `isClosed`. */
export const createReportSweeper = (deps: SweepDeps & Pick<Deps, 'log'>, isClosed: () => boolean) =>
  oncePerInterval(
    EVERY_MS,
    () => Promise.resolve([deps.names.observed, deps.names.ledger]),
    (topic) =>
      sweepReports(deps, topic, isClosed).catch((error: unknown) =>
        deps.log.warn({ topic, reason: reasonOf(error) }, 'a topic was not swept'),
      ),
  )

/** Appends a tombstone for each key of the topic whose pipeline or job is gone, and for each old count. */
export async function sweepReports(deps: SweepDeps, topic: string, isClosed = () => false): Promise<void> {
  const { db, cluster } = deps
  const keys = await keysOf(deps, topic, isClosed)
  if (keys.size === 0 || isClosed()) return
  const connections = cluster.openConnections('sweeper')
  try {
    const all = [...keys]
    for (let at = 0; at < all.length && !isClosed(); at += BATCH_KEYS) {
      const part = all.slice(at, at + BATCH_KEYS)
      const live = await listLiveRuns(db, [...new Set(part.map(runIn))])
      const gone = part.filter((key) => isCpuUseKey(key) || !live.has(runIn(key)))
      const tombstones = gone.map((key) => ({ key, value: null }))
      if (gone.length > 0) await appendRecords(cluster, connections, topic, tombstones, Date.now())
    }
  } finally {
    await connections.close().catch(() => {})
  }
}

const isOld = ({ hour }: { hour: string }): boolean => hour < hourOf(Date.now() - COUNTS_KEPT_MS)

/** Keys of both topics start with the run's id. */
const runIn = (key: string): string => key.slice(0, key.indexOf('/'))

/** Keys of runs that the topic holds a value of, and of old counts. */
async function keysOf({ cluster }: SweepDeps, topic: string, isClosed: () => boolean): Promise<Set<string>> {
  const keys = new Set<string>()
  const failed = Promise.withResolvers<never>()
  const following = followTopic({
    cluster,
    topic,
    purpose: 'sweep',
    from: 0n,
    onRecords(records) {
      for (const { key, value } of records) {
        if (value !== null && (isCpuUseKey(key) ? cpuUseIn({ key, value }).some(isOld) : key.includes('/'))) keys.add(key)
        else keys.delete(key)
      }
      if (isClosed()) failed.reject(new Error('the control plane ends'))
    },
    onError: failed.reject,
  })
  try {
    await Promise.race([following.caughtUp, failed.promise])
  } finally {
    await following.close()
  }
  return keys
}

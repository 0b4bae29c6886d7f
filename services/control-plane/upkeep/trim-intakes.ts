/**
 * Intake topics keep unhandled records for ever, and handled ones for a week, for explain and replay. Once an hour, older handled records
 * are deleted here.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { findAnyPipeline, listPerhapsSourced } from '../store/pipelines.ts'
import type { Deps } from '../deps.ts'
import { oncePerInterval } from './once-per-interval.ts'

const EVERY_MS = 3_600_000
const KEPT_MS = 7 * 24 * 3_600_000

/** What the reconciler calls on every pass; it does its work once an hour. */
export function createIntakeTrimmer({ db, cluster, withAdmin, log }: Pick<Deps, 'db' | 'cluster' | 'withAdmin' | 'log'>) {
  // Definitions are read one at a time: those of all accounts together may be gigabytes.
  async function trimIntakeOf(id: string): Promise<void> {
    const definition = (await findAnyPipeline(db, id))?.definition
    if (definition?.source.kind !== 'connector') return
    await trimIntake({ cluster, withAdmin }, definition.group_id, definition.source.topic, Date.now() - KEPT_MS)
  }
  return oncePerInterval(
    EVERY_MS,
    () => listPerhapsSourced(db),
    (id) => trimIntakeOf(id).catch((error: unknown) => log.debug({ id, reason: reasonOf(error) }, 'an intake topic was not trimmed')),
  )
}

/** Deletes records that are committed and older than a time. */
export async function trimIntake(
  { cluster, withAdmin }: Pick<Deps, 'cluster' | 'withAdmin'>,
  groupId: string,
  topic: string,
  olderThanMs: number,
): Promise<void> {
  const layout = await cluster.describeTopic(topic)
  if (!layout) return
  const partitions = [...layout.leaders.keys()]
  const committed = await cluster.committedOffsets(groupId, topic, partitions)
  const young = await cluster.offsets(layout, partitions, olderThanMs)
  const ends = partitions.flatMap((partition) => {
    const handled = committed.get(partition)?.offset ?? 0n
    // -1: every record is older.
    const first = young.get(partition) ?? -1n
    const until = first < 0n || first > handled ? handled : first
    return until > 0n ? [{ partition, offset: String(until) }] : []
  })
  if (ends.length === 0) return
  await withAdmin(async (admin) => {
    // kafkajs 2.2.4 only knows the leaders of topics that it was asked about before.
    await admin.fetchTopicOffsets(topic)
    await admin.deleteTopicRecords({ topic, partitions: ends })
  })
}

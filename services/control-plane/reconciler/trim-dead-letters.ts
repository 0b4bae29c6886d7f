/** Dead letters beyond an account's quotas are deleted, the oldest first, from the topic and from its projection; looked at once an hour. */
import { findAccount } from '../store/accounts.ts'
import { deleteTrimmed, listTrims, listWithDeadLetters } from '../store/dead-letter-upkeep.ts'
import { findAnyPipeline } from '../store/pipelines.ts'
import { quotasOfAccount } from '../store/quotas.ts'
import type { Deps } from '../deps.ts'
import { oncePerInterval } from './once-per-interval.ts'

const EVERY_MS = 3_600_000

type TrimDeps = Pick<Deps, 'db' | 'withAdmin' | 'log'>

/** What the reconciler calls on every pass; it does its work once an hour. */
export const createDeadLetterTrimmer = (deps: TrimDeps) =>
  oncePerInterval(
    EVERY_MS,
    () => listWithDeadLetters(deps.db),
    (accountId) =>
      trimDeadLetters(deps, accountId).catch((error: unknown) =>
        deps.log.warn({ account_id: accountId, reason: String(error) }, 'dead letters were not trimmed'),
      ),
  )

/** Trims the dead letters of one account to its quotas. */
export async function trimDeadLetters({ db, withAdmin, log }: TrimDeps, accountId: string): Promise<void> {
  const account = await findAccount(db, accountId)
  if (!account) return
  const { dead_letter_bytes, dead_letter_days } = quotasOfAccount(account)
  const trims = await listTrims(db, accountId, dead_letter_bytes, dead_letter_days)
  for (const [pipelineId, own] of Map.groupBy(trims, ({ pipeline_id }) => pipeline_id)) {
    const topic = (await findAnyPipeline(db, pipelineId))?.definition.dead_letter_topic
    if (topic === undefined) continue
    // Rows first: a redrive that comes between the two finds the topic still whole.
    const partitions = await db.transaction(async (trx) => {
      const kept: { partition: number; offset: string }[] = []
      for (const trim of own) kept.push({ partition: trim.letter_partition, offset: await deleteTrimmed(trx, trim) })
      return kept
    })
    await withAdmin(async (admin) => {
      // kafkajs 2.2.4 only knows the leaders of topics that it was asked about before.
      await admin.fetchTopicOffsets(topic)
      await admin.deleteTopicRecords({ topic, partitions })
    }).catch((error: unknown) => log.warn({ id: pipelineId, reason: String(error) }, 'a dead-letter topic was not trimmed'))
  }
}

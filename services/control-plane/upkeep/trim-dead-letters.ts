/** Once an hour, deletes dead letters beyond an account's quotas, oldest first, from the topic and from its projection. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { findAccount } from '../store/accounts.ts'
import { deleteTrimmed, listKept, listTrims, listWithDeadLetters } from '../store/dead-letter-upkeep.ts'
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
        deps.log.warn({ account_id: accountId, reason: reasonOf(error) }, 'dead letters were not trimmed'),
      ),
  )

/** Trims the dead letters of one account to its quotas. */
export async function trimDeadLetters({ db, withAdmin, log }: TrimDeps, accountId: string): Promise<void> {
  const account = await findAccount(db, accountId)
  if (!account) return
  const { dead_letter_bytes, dead_letter_days } = quotasOfAccount(account)
  const trims = await listTrims(db, accountId, dead_letter_bytes, dead_letter_days)
  for (const trim of trims) {
    const deleteSome = () => db.transaction((trx) => deleteTrimmed(trx, trim))
    while (await deleteSome());
  }
  // Compared with the topics each time, so that what a broker did not do once is done the next time.
  const kept = await listKept(db, accountId)
  for (const [pipelineId, own] of Map.groupBy(kept, ({ pipeline_id }) => pipeline_id)) {
    const topic = (await findAnyPipeline(db, pipelineId))?.definition.dead_letter_topic
    if (topic === undefined) continue
    await withAdmin(async (admin) => {
      // Also because kafkajs 2.2.4 only knows the leaders of topics that it was asked about before.
      const lows = new Map((await admin.fetchTopicOffsets(topic)).map(({ partition, low }) => [partition, BigInt(low)]))
      const partitions = own
        .filter(({ letter_partition, from }) => BigInt(from) > (lows.get(letter_partition) ?? 0n))
        .map(({ letter_partition: partition, from: offset }) => ({ partition, offset }))
      if (partitions.length > 0) await admin.deleteTopicRecords({ topic, partitions })
    }).catch((error: unknown) => log.warn({ id: pipelineId, reason: reasonOf(error) }, 'a dead-letter topic was not trimmed'))
  }
}

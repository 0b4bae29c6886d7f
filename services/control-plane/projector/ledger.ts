/** `dps.ledger` → Postgres: which revision handled which offsets; rows and position in one database transaction. */
import { followTopic } from '../../../shared/kafka/follow.ts'
import { LedgerEntry } from '../../../shared/model/definition.ts'
import { getProjectorPosition, saveLedger, setProjectorPosition } from '../store/pipelines.ts'
import type { Deps } from '../deps.ts'

const NAME = 'ledger'
const POLL_MS = 20

export type LedgerProjection = {
  /** Waits, for a few seconds at most, until everything now in the topic is in Postgres. */
  catchUp(): Promise<void>
  close(): Promise<void>
}

export async function startLedgerProjection(
  { db, cluster, log }: Pick<Deps, 'db' | 'cluster' | 'log'>,
  topic: string,
): Promise<LedgerProjection> {
  let projected = await getProjectorPosition(db, NAME)
  const following = followTopic({
    cluster,
    topic,
    purpose: 'ledger',
    from: projected,
    async onRecords(records, nextOffset) {
      await db.transaction(async (trx) => {
        for (const { value } of records) {
          const entry = LedgerEntry.safeParse(value && JSON.parse(value.toString('utf8')))
          if (entry.success) await saveLedger(trx, entry.data)
        }
        await setProjectorPosition(trx, NAME, nextOffset)
      })
    },
    onPosition: (position) => (projected = position),
    onError: (error) => log.warn({ reason: error.message }, 'ledger: will try again'),
  })
  return {
    async catchUp() {
      const layout = await cluster.describeTopic(topic)
      const end = layout && (await cluster.offsets(layout, [0], 'latest')).get(0)
      for (let waited = 0; end !== undefined && projected < end && waited < 5000; waited += POLL_MS)
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    },
    close: () => following.close(),
  }
}

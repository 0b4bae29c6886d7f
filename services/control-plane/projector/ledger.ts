/** `dps.ledger` → Postgres: which revision handled which offsets; rows and position in one database transaction. */
import { followTopic } from '../../../shared/kafka/follow.ts'
import { parseJson } from '../../../shared/kafka/parse-json.ts'
import { LedgerEntry } from '../../../shared/model/definition.ts'
import { getProjectorPosition, saveLedger, setProjectorPosition } from '../store/observed.ts'
import { unavailable } from '../service-error.ts'
import type { Deps } from '../deps.ts'

const NAME = 'ledger'
const POLL_MS = 20
const DEADLINE_MS = 8000

export type LedgerProjection = {
  /** Waits until everything now in the topic is in Postgres. Throws if that takes longer than the deadline. */
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
          const entry = LedgerEntry.safeParse(parseJson(value))
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
      const deadline = performance.now() + DEADLINE_MS
      while (end !== undefined && projected < end) {
        // What is known so far may name an earlier revision.
        if (performance.now() > deadline) throw unavailable('the ledger of revisions, which is catching up with its topic,')
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      }
    },
    close: () => following.close(),
  }
}

/** Fills the history book from the topic of observations: from what it still holds, and then as tasks report. */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { followTopic, type Following } from '../../../shared/kafka/follow.ts'
import { reportsIn } from '../projector/reports-in.ts'
import type { HistoryBook } from './history-book.ts'

export function followHistory(cluster: Cluster, topic: string, book: HistoryBook, onError: (error: Error) => void): Following {
  let isCaughtUp = false
  const following = followTopic({
    cluster,
    topic,
    purpose: 'history',
    from: 0n,
    onRecords(records) {
      for (const report of records.flatMap(reportsIn)) book.add(report, isCaughtUp)
    },
    onError,
  })
  void following.caughtUp.then(() => (isCaughtUp = true))
  return following
}

/** Fills the log book from the logs topic: from its start, and then as lines come. */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { parseJson } from '../../../shared/kafka/parse-json.ts'
import { followTopic, type Following } from '../../../shared/kafka/follow.ts'
import { LogEntry } from '../../../shared/model/logs.ts'
import type { LogBook } from './log-book.ts'

export function followLogs(cluster: Cluster, topic: string, book: LogBook, onError: (error: Error) => void): Following {
  return followTopic({
    cluster,
    topic,
    purpose: 'logs',
    from: 0n,
    onRecords(records) {
      for (const { key, value, offset } of records) {
        const parsed = LogEntry.safeParse(parseJson(value))
        if (parsed.success) book.add(key, { offset, entry: parsed.data })
      }
    },
    onError,
  })
}

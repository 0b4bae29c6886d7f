/**
 * Records of one kind on `dps.fleet`, the newest of each key: every processor writes and reads them. What could not be written is written
 * at the next chance.
 */
import type { ZodType } from 'zod'
import { appendRecords } from '../../../shared/kafka/append.ts'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { followTopic } from '../../../shared/kafka/follow.ts'
import { parseJson } from '../../../shared/kafka/parse-json.ts'
import { singleRun } from './single-run.ts'

export type FleetRecords<Value> = {
  /** By key, without the prefix. */
  readonly values: ReadonlyMap<string, Value>
  /** The value counts here at once, and for the others once it is written. */
  put(key: string, value: Value): void
  remove(key: string): void
  /** Writes what could not be written so far. */
  write(): void
  caughtUp: Promise<void>
  close(): Promise<void>
}

/** What records of every kind are opened with. */
export type FleetTopic = {
  cluster: Cluster
  topic: string
  now: () => number
  onChange: () => void
  onError: (error: Error) => void
}
export type FleetRecordsOptions<Value> = FleetTopic & {
  /** Names the connections. */
  purpose: string
  /** What the keys of this kind begin with. */
  prefix: string
  schema: ZodType<Value>
}

/** Far below the topic's largest batch. */
const WRITTEN_AT_ONCE_MAX = 1000

export function openFleetRecords<Value>(options: FleetRecordsOptions<Value>): FleetRecords<Value> {
  const { cluster, topic, purpose, prefix, schema, now, onChange, onError } = options
  const values = new Map<string, Value>()
  const connections = cluster.openConnections(purpose)
  const following = followTopic({
    cluster,
    topic,
    purpose,
    from: 0n,
    onRecords(records) {
      for (const { key, value } of records) {
        if (!key.startsWith(prefix)) continue
        const parsed = schema.safeParse(parseJson(value))
        if (parsed.success) values.set(key.slice(prefix.length), parsed.data)
        else values.delete(key.slice(prefix.length))
      }
      onChange()
    },
    onError,
  })
  /** By key; null for a tombstone. */
  const unwritten = new Map<string, Buffer | null>()
  const { run } = singleRun(async () => {
    while (unwritten.size > 0) {
      const entries = [...unwritten].slice(0, WRITTEN_AT_ONCE_MAX)
      const records = entries.map(([key, value]) => ({ key: `${prefix}${key}`, value }))
      await appendRecords(cluster, connections, topic, records, now())
      // Another value may have come meanwhile.
      for (const [key, value] of entries) if (unwritten.get(key) === value) unwritten.delete(key)
    }
  }, onError)

  return {
    values,
    put(key, value) {
      values.set(key, value)
      unwritten.set(key, Buffer.from(JSON.stringify(value)))
      void run()
    },
    remove(key) {
      values.delete(key)
      unwritten.set(key, null)
    },
    write: () => void run(),
    caughtUp: following.caughtUp,
    async close() {
      await following.close()
      await connections.close().catch(() => {})
    },
  }
}

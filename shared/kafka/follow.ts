/** Reads one of the service's one-partition topics and follows it: definitions, observations, the ledger, logs and others. */
import { errorOf } from '../errors/reason-of.ts'
import type { Cluster } from './cluster.ts'
import type { AbortedTransaction } from './protocol/aborted.ts'
import { batchesIn, sectionOf } from './protocol/batches-in.ts'
import { decodeRecords } from './protocol/record-batch.ts'
import { fetchBatches } from './wire/fetch.ts'
import { kafkaErrorName } from './wire/error-codes.ts'

/** One record of the topic; a missing key is an empty string, `value` is null for a tombstone. */
export type FollowedRecord = { offset: bigint; key: string; value: Buffer | null }

/** What to follow, from where, and the callbacks that receive it. */
export type FollowOptions = {
  cluster: Cluster
  topic: string
  purpose: string
  /** First offset wanted; the topic's first offset if this one is before it or past the end. */
  from: bigint
  /** Of one fetch. */
  bytesMax?: number
  /** Called in offset order with all records of one fetch; the next fetch waits for it. After an error the same offset is read again. */
  onRecords: (records: FollowedRecord[], nextOffset: bigint) => Promise<void> | void
  /** Called after every advance, also past transaction markers alone. */
  onPosition?: (nextOffset: bigint) => void
  onError: (error: Error) => void
  /** `caughtUp` also waits for transactions open at the start: the marker of a committed one may not have reached this topic yet. */
  waitsForOpen?: boolean
}

/** A topic that is being followed. `close` ends it and waits for the last callback. */
export type Following = {
  /** Resolves once `onRecords` has received all records that existed at the start. */
  caughtUp: Promise<void>
  close(): Promise<void>
}

const BYTES_MAX = 32 << 20
/** The broker answers at once when there is something, and nothing else waits for this connection: short waits only cost requests. */
const WAIT_MS = 2000
const BACKOFF_MAX_MS = 5000

/** Reads the topic until closed; errors go to `onError` and are retried, also while the topic does not exist. */
export function followTopic(options: FollowOptions): Following {
  const { cluster, topic, bytesMax = BYTES_MAX } = options
  const connections = cluster.openConnections(options.purpose)
  const caughtUp = Promise.withResolvers<void>()
  let closed = false
  let position = options.from

  async function followOnce(): Promise<void> {
    const layout = await cluster.describeTopic(topic)
    if (!layout) throw new Error(`topic ${topic} does not exist yet`)
    const earliest = (await cluster.offsets(layout, [0], 'earliest')).get(0) ?? 0n
    const end = (await cluster.offsets(layout, [0], options.waitsForOpen ? 'written' : 'latest')).get(0) ?? 0n
    if (position < earliest || position > end) position = earliest
    while (!closed) {
      if (position >= end) caughtUp.resolve()
      const answer = await fetchBatches(await connections.leader(layout.leaders[0]!), {
        topicId: layout.topicId,
        partitions: [{ partition: 0, offset: position, bytesMax }],
        waitMs: WAIT_MS,
        bytesMin: 1,
        bytesMax,
      })
      const fetched = answer.partitions[0]
      const errorCode = answer.errorCode || (fetched?.errorCode ?? 0)
      if (errorCode !== 0) throw new Error(`fetching ${topic}: ${kafkaErrorName(errorCode)}`)
      if (!fetched?.bytes) continue
      const { records, nextOffset } = recordsOf(fetched.bytes, position, fetched.aborted)
      if (records.length > 0) await options.onRecords(records, nextOffset)
      position = nextOffset
      options.onPosition?.(position)
    }
  }

  async function follow(): Promise<void> {
    for (let backoffMs = 100; !closed; backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)) {
      const before = position
      try {
        await followOnce()
      } catch (error) {
        if (closed) return
        options.onError(errorOf(error))
        if (position > before) backoffMs = 100
        await new Promise((resolve) => setTimeout(resolve, backoffMs))
      }
    }
  }
  const following = follow()

  return {
    caughtUp: caughtUp.promise,
    async close() {
      closed = true
      await connections.close().catch(() => {})
      await following
    },
  }
}

/** The records from `position` on, without those of aborted transactions, and the offset after the last whole batch. */
function recordsOf(bytes: Buffer, position: bigint, aborted: AbortedTransaction[]): { records: FollowedRecord[]; nextOffset: bigint } {
  const records: FollowedRecord[] = []
  let nextOffset = position
  for (const batch of batchesIn(bytes, aborted)) {
    nextOffset = batch.nextOffset
    for (const { offsetDelta, key, value } of batch.isData ? decodeRecords(sectionOf(batch), batch.header.recordCount) : []) {
      const offset = batch.header.baseOffset + BigInt(offsetDelta)
      if (offset >= position) records.push({ offset, key: key?.toString('utf8') ?? '', value })
    }
  }
  return { records, nextOffset }
}

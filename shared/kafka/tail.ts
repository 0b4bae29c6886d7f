/** Reads a one-partition topic of ours from its beginning and follows it: definitions in the processors, observations in the control plane. */
import type { Cluster } from './cluster.ts'
import { createAbortedFilter, type AbortedTransaction } from './protocol/aborted.ts'
import { inflate } from './protocol/compression.ts'
import { BATCH_HEADER_BYTES, COMPRESSION_MASK, CONTROL, decodeRecords, readBatchHeader } from './protocol/record-batch.ts'
import { fetchBatches } from './wire/fetch.ts'
import { kafkaErrorName } from './wire/error-codes.ts'

export type TailRecord = { offset: bigint; key: string; value: Buffer | null }

export type TailOptions = {
  cluster: Cluster
  topic: string
  purpose: string
  /** First offset wanted; the topic's first one when it lies before that. */
  from: bigint
  /** Called in order, with all records of one answer; the next fetch waits for it. An error is retried from the same place. */
  onRecords: (records: TailRecord[], nextOffset: bigint) => Promise<void> | void
  /** Called whenever the tail has moved on, over markers too. */
  onPosition?: (nextOffset: bigint) => void
  onError: (error: Error) => void
  /** `caughtUp` waits for transactions that were open at the start too: one that was committed may not be marked here yet. */
  waitsForOpen?: boolean
}

export type Tail = {
  /** Resolves when everything that was there at the start has been handed over. */ caughtUp: Promise<void>
  close(): Promise<void>
}

const BYTES_MAX = 32 << 20
const BACKOFF_MAX_MS = 5000

export function openTail(options: TailOptions): Tail {
  const { cluster, topic } = options
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
        partitions: [{ partition: 0, offset: position, bytesMax: BYTES_MAX }],
        waitMs: 500,
        bytesMin: 1,
        bytesMax: BYTES_MAX,
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
        options.onError(error instanceof Error ? error : new Error(String(error)))
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

/** Decodes whole batches from `position` on; what an aborted transaction left does not count. */
function recordsOf(bytes: Buffer, position: bigint, aborted: AbortedTransaction[]): { records: TailRecord[]; nextOffset: bigint } {
  const records: TailRecord[] = []
  let nextOffset = position
  const isAborted = createAbortedFilter(aborted)
  for (let at = 0, header = readBatchHeader(bytes, 0); header !== undefined; at += header.size, header = readBatchHeader(bytes, at)) {
    nextOffset = header.baseOffset + BigInt(header.lastOffsetDelta) + 1n
    if (isAborted(header) || (header.attributes & CONTROL) !== 0) continue
    const section = inflate(header.attributes & COMPRESSION_MASK, bytes.subarray(at + BATCH_HEADER_BYTES, at + header.size))
    for (const { offsetDelta, key, value } of decodeRecords(section, header.recordCount)) {
      const offset = header.baseOffset + BigInt(offsetDelta)
      if (offset >= position) records.push({ offset, key: key?.toString('utf8') ?? '', value })
    }
  }
  return { records, nextOffset }
}

/** What the splits of a source have seen, in a compacted topic of the pipeline: for sources whose position is a set of keys. */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { TRANSACTIONAL, encodeBatch } from '../../../shared/kafka/protocol/record-batch.ts'
import type { SourceRead } from '../../../shared/connectors/source.ts'
import { followTopic } from '../../../shared/kafka/follow.ts'
import { inTime } from '../../../shared/telemetry/in-time.ts'
import type { OutputBatch } from '../lane/messages.ts'
import { isLong } from './split-position.ts'
import type { SplitRead } from './split-reader.ts'

const keyOf = (split: number, key: string): string => `${split}/${key}`
const POSITION_KEY = /^position\/(\d+)$/

/** By split: the entries seen, and the positions too long for a commit's metadata. */
export type Seen = { entries: Map<number, Map<string, string>>; positions: Map<number, string> }

/** Reads everything committed so far. */
export async function readSeen(cluster: Cluster, topic: string, splits: readonly number[]): Promise<Seen> {
  const positions = new Map<number, string>()
  const seen = new Map(splits.map((split) => [split, new Map<string, string>()]))
  let failure: Error | undefined
  const following = followTopic({
    cluster,
    topic,
    purpose: 'seen',
    from: 0n,
    waitsForOpen: true,
    onRecords(records) {
      for (const { key, value } of records) {
        const place = POSITION_KEY.exec(key)
        if (place && value) positions.set(Number(place[1]), value.toString('utf8'))
        const slash = key.indexOf('/')
        const own = seen.get(Number(key.slice(0, slash)))
        if (value === null) own?.delete(key.slice(slash + 1))
        else own?.set(key.slice(slash + 1), value.toString('utf8'))
      }
    },
    onError: (error) => (failure = error),
  })
  const late = () => failure ?? new Error(`${topic} could not be read within ${READ_MAX_MS / 1000} s`)
  await inTime(following.caughtUp, READ_MAX_MS, late).finally(() => following.close())
  return { entries: seen, positions }
}

const READ_MAX_MS = 60_000

/** Takes over what a read that was committed has seen. */
export function remember(seen: Map<string, string>, { seen: entries = [] }: SourceRead): void {
  for (const { key, value } of entries) {
    if (value === null) seen.delete(key)
    else seen.set(key, value)
  }
}

/** A position beside the entries may be long, so a batch stays well below what a topic accepts by default (`max.message.bytes`, 1 MiB). */
const BATCH_BYTES_MAX = 500_000
/** Most bytes of a record beside its key and value. */
const RECORD_OVERHEAD = 30

type Entry = { key: Buffer; value: Buffer | null }
const sizeOf = ({ key, value }: Entry): number => key.length + (value?.length ?? 0) + RECORD_OVERHEAD

/** The seen entries and long positions of `reads`, for their transaction, in batches that the topic accepts. */
export function seenBatches(reads: readonly SplitRead[], nowMs: number): OutputBatch[] {
  const last = new Map(reads.map(({ split, read }) => [split, read.position]))
  const long = [...last].filter(([, position]) => isLong(position)).map(([split, value]) => ({ key: `position/${split}`, value }))
  const entries = reads.flatMap(({ split, read }) => (read.seen ?? []).map(({ key, value }) => ({ key: keyOf(split, key), value })))
  const batches: Entry[][] = []
  let room = 0
  for (const { key, value } of [...entries, ...long]) {
    const entry = { key: Buffer.from(key), value: value === null ? null : Buffer.from(value) }
    if (batches.length === 0 || sizeOf(entry) > room) {
      batches.push([])
      room = BATCH_BYTES_MAX
    }
    batches.at(-1)!.push(entry)
    room -= sizeOf(entry)
  }
  return batches.map((records) => {
    const rows = records.map((entry, offsetDelta) => ({ ...entry, offsetDelta, timestampDelta: 0n, headers: [] }))
    const batch = encodeBatch(rows, BigInt(nowMs), TRANSACTIONAL)
    return { partition: 0, bytes: batch.buffer as ArrayBuffer, length: batch.length, records: rows.length }
  })
}

/** What the splits of a source have seen, in a compacted topic of the pipeline: for sources whose position is a set of keys. */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { TRANSACTIONAL, encodeBatch } from '../../../shared/kafka/protocol/record-batch.ts'
import { createSeenEntries, type SeenEntries } from '../../../shared/connectors/seen-entries.ts'
import type { SourceRead } from '../../../shared/connectors/source.ts'
import { followTopic, type FollowedRecord } from '../../../shared/kafka/follow.ts'
import { Interrupted } from '../interruption.ts'
import type { OutputBatch } from '../lane/messages.ts'
import { assertKept, isLong } from './split-position.ts'
import type { SplitRead } from './split-reader.ts'

const keyOf = (split: number, key: string): string => `${split}/${key}`
const POSITION_KEY = /^position\/(\d+)$/

function parseKey(keyInTopic: string): { split: number; key: string } {
  const slash = keyInTopic.indexOf('/')
  return { split: Number(keyInTopic.slice(0, slash)), key: keyInTopic.slice(slash + 1) }
}

/** By split: the entries seen, and the positions too long for a commit's metadata. */
export type Seen = { entries: Map<number, SeenEntries>; positions: Map<number, string> }

/** Reads everything committed so far. */
export async function readSeen(cluster: Cluster, topic: string, splits: readonly number[]): Promise<Seen> {
  const positions = new Map<number, string>()
  const entries = new Map(splits.map((split) => [split, createSeenEntries()]))
  await readTopic(cluster, topic, (records) => {
    for (const { key: keyInTopic, value } of records) {
      const position = POSITION_KEY.exec(keyInTopic)
      if (position && value) positions.set(Number(position[1]), value.toString('utf8'))
      const { split, key } = parseKey(keyInTopic)
      if (value === null) entries.get(split)?.delete(key)
      else entries.get(split)?.set(key, value.toString('utf8'))
    }
  })
  return { entries, positions }
}

const WAIT_MAX_MS = 60_000
/** How often it is asked whether the rest is wanted. */
const LOOK_MS = 200
/** Of one fetch, because its records take several times as much on the heap. */
const FETCH_BYTES = 4 << 20

/** Reads what the topic holds, fetch by fetch, as long as `isWanted`. Rejects with what `onRecords` throws, and if nothing arrives. */
async function readTopic(
  cluster: Cluster,
  topic: string,
  onRecords: (records: FollowedRecord[]) => Promise<void> | void,
  isWanted = () => true,
): Promise<void> {
  const ended = Promise.withResolvers<void>()
  let failure: Error | undefined
  let hasThrown = false
  const onLate = () =>
    ended.reject(new Interrupted('brokers_away', failure?.message ?? `${topic} gives nothing for ${WAIT_MAX_MS / 1000} s`))
  let timer = setTimeout(onLate, WAIT_MAX_MS)
  const following = followTopic({
    cluster,
    topic,
    purpose: 'seen',
    from: 0n,
    bytesMax: FETCH_BYTES,
    waitsForOpen: true,
    async onRecords(records) {
      clearTimeout(timer)
      if (hasThrown) return
      try {
        await onRecords(records)
      } catch (error) {
        // Not thrown on: the follower would read the same records again.
        hasThrown = true
        ended.reject(error)
      }
    },
    onPosition() {
      clearTimeout(timer)
      timer = setTimeout(onLate, WAIT_MAX_MS)
    },
    onError: (error) => (failure = error),
  })
  const looking = setInterval(() => isWanted() || ended.resolve(), LOOK_MS)
  try {
    await Promise.race([following.caughtUp, ended.promise])
  } finally {
    clearInterval(looking)
    await following.close()
    clearTimeout(timer)
  }
}

/** Entries that are forgotten in one commit. */
const FORGOTTEN_AT_ONCE = 5000

/**
 * Removes the entries that a source no longer needs; `before`: by split, the time up to which. Their keys are in the topic alone, so it is
 * read again. `remove` commits the removal of some of a split's entries.
 */
export async function forget(
  cluster: Cluster,
  topic: string,
  entries: ReadonlyMap<number, SeenEntries>,
  before: ReadonlyMap<number, number>,
  remove: (split: number, keys: string[]) => Promise<void>,
  isWanted: () => boolean,
): Promise<void> {
  const due = [...before].filter(([split, time]) => entries.get(split)!.isForgettingDue(time))
  if (due.length === 0) return
  await readTopic(
    cluster,
    topic,
    async (records) => {
      const found = records.map(({ key }) => parseKey(key))
      for (const [split, time] of due) {
        const isStale = (each: { split: number; key: string }) => each.split === split && entries.get(split)!.isBefore(each.key, time)
        // A key may come several times until the topic is compacted.
        const keys = [...new Set(found.filter(isStale).map(({ key }) => key))]
        for (let from = 0; from < keys.length && isWanted(); from += FORGOTTEN_AT_ONCE)
          await remove(split, keys.slice(from, from + FORGOTTEN_AT_ONCE))
      }
    },
    isWanted,
  )
}

/** Takes over what a read that was committed has seen. */
export function remember(seen: SeenEntries, { seen: entries = [] }: SourceRead): void {
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

/**
 * The seen entries and long positions of `reads`, for their transaction, in batches that the topic accepts. Throws `failed` for a position
 * that is too long for one.
 */
export function seenBatches(reads: readonly SplitRead[], nowMs: number): OutputBatch[] {
  const last = new Map(reads.map(({ split, read }) => [split, read.position]))
  const long = [...last].filter(([, position]) => isLong(position)).map(([split, value]) => ({ key: `position/${split}`, value }))
  for (const { value } of long) assertKept(value)
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

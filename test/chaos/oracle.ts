/**
 * The oracle: what was acknowledged to the writer against what a reader at read-committed sees of the sink and of the dead letters, with
 * order per key. The reader is kafkajs: it shares no code with the service.
 */
import type { Kafka } from 'kafkajs'
import { isPoison, KEYS_PER_PARTITION, recordAt } from './load.ts'

export type Verdict = {
  records: number
  lost: number
  duplicated: number
  out_of_order: number
  /** Records that nobody wrote, or of aborted transactions. */
  ghosts: number
  /** Dead letters of records that are no poison, or poison in the sink. */
  misplaced: number
  dead_letters: number
  /** By partition, the first index that each revision handled, from the records' own mark. */
  borders: Map<number, Map<number, number>>
  /** Revisions that came after a later one. */
  revisions_out_of_order: number
}

export const isExact = ({ lost, duplicated, out_of_order, ghosts, misplaced, revisions_out_of_order }: Verdict): boolean =>
  lost + duplicated + out_of_order + ghosts + misplaced + revisions_out_of_order === 0

/** A reader that has polled so often without a record, and waited so long, has come to the end. */
const IDLE_FETCHES = 5
const IDLE_MS = 3000

/** Calls `onRecord` for every record of the topic, at read-committed. kafkajs shows no batch of markers alone: the end is where nothing comes. */
async function readTopic(
  kafka: Kafka,
  topic: string,
  deadlineMs: number,
  onRecord: (partition: number, key: string, value: string) => void,
): Promise<void> {
  const consumer = kafka.consumer({
    groupId: `oracle-${topic}-${Math.random().toString(36).slice(2)}`,
    readUncommitted: false,
    maxBytesPerPartition: 4 << 20,
    maxBytes: 16 << 20,
    maxWaitTimeInMs: 300,
  })
  const deadline = Date.now() + deadlineMs
  let lastAt = Date.now()
  let fetches = 0
  try {
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    consumer.on(consumer.events.FETCH, () => void fetches++)
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        for (const { key, value } of batch.messages) onRecord(batch.partition, key?.toString() ?? '', value?.toString('utf8', 5) ?? '')
        lastAt = Date.now()
        fetches = 0
      },
    })
    while (fetches < IDLE_FETCHES || Date.now() - lastAt < IDLE_MS) {
      if (Date.now() > deadline) throw new Error(`${topic} could not be read within ${deadlineMs / 1000} s`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  } finally {
    await consumer.disconnect()
  }
}

const N = /"n":(-?\d+)/
const REV = /"rev":(\d+)/

/** `acknowledged` are records by partition of the source; sink and dead letters have the same partitions. */
export async function judge(
  kafka: Kafka,
  sinkTopic: string,
  deadLetterTopic: string,
  acknowledged: number[],
  deadlineMs: number,
): Promise<Verdict> {
  const verdict: Verdict = {
    records: acknowledged.reduce((sum, count) => sum + count, 0),
    lost: 0,
    duplicated: 0,
    out_of_order: 0,
    ghosts: 0,
    misplaced: 0,
    dead_letters: 0,
    borders: new Map(),
    revisions_out_of_order: 0,
  }
  const total = acknowledged.map((count) => new Uint8Array(count))
  const seenDead = acknowledged.map((count) => new Uint8Array(count))
  const lastN = new Map<string, number>()
  const lastRev = new Map<number, number>()

  function indexOf(partition: number, key: string, n: number): number {
    const index = n * KEYS_PER_PARTITION + Number(key.slice(key.indexOf('-') + 1))
    if (n < 0 || !(index < (acknowledged[partition] ?? 0)) || recordAt(partition, index).key !== key) return -1
    return index
  }

  await readTopic(kafka, sinkTopic, deadlineMs, (partition, key, value) => {
    const n = Number(N.exec(value)?.[1] ?? -1)
    const index = indexOf(partition, key, n)
    if (index < 0) return void verdict.ghosts++
    if (isPoison(n)) return void verdict.misplaced++
    if (total[partition]![index] !== 0) return void verdict.duplicated++
    total[partition]![index] = 1
    if (n < (lastN.get(key) ?? -1)) verdict.out_of_order++
    else lastN.set(key, n)
    const rev = Number(REV.exec(value)?.[1] ?? 0)
    if (rev < (lastRev.get(partition) ?? 0)) verdict.revisions_out_of_order++
    else if (rev > (lastRev.get(partition) ?? 0)) {
      lastRev.set(partition, rev)
      const borders = verdict.borders.get(partition) ?? new Map<number, number>()
      verdict.borders.set(partition, borders.set(rev, index))
    }
  })
  await readTopic(kafka, deadLetterTopic, deadlineMs, (partition, key, value) => {
    const n = Number(N.exec(value)?.[1] ?? -1)
    const index = indexOf(partition, key, n)
    if (index < 0) return void verdict.ghosts++
    if (!isPoison(n)) return void verdict.misplaced++
    if (seenDead[partition]![index] !== 0) return void verdict.duplicated++
    seenDead[partition]![index] = 1
    verdict.dead_letters++
  })
  for (const [partition, count] of acknowledged.entries()) {
    for (let index = 0; index < count; index++) {
      const seen = isPoison(recordAt(partition, index).n) ? seenDead : total
      if (seen[partition]![index] === 0) verdict.lost++
    }
  }
  return verdict
}

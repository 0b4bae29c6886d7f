/** Checks the ledger against the data: the first record marked by a revision is at the offset that the ledger gives. */
import { fetchBatches } from '../../shared/kafka/wire/fetch.ts'
import { batchesIn, sectionOf } from '../../shared/kafka/protocol/batches-in.ts'
import { decodeRecords, TRANSACTIONAL } from '../../shared/kafka/protocol/record-batch.ts'
import type { Arena } from './arena.ts'
import { isPoison, KEYS_PER_PARTITION } from './load.ts'
import type { Verdict } from './oracle.ts'

type Ledger = { entries: { partition: number; revision: number; from_offset: number }[] }

/** Index in the load of the first non-poison record at or after a source offset; undefined at the end. */
async function indexAt(arena: Arena, partition: number, offset: number): Promise<number | undefined> {
  const { cluster, pipeline } = arena
  const layout = (await cluster.describeTopic(pipeline.sourceTopic))!
  const connections = cluster.openConnections('ledger-check')
  try {
    for (let position = BigInt(offset); ;) {
      const answer = await fetchBatches(await connections.leader(layout.leaders[partition]!), {
        topicId: layout.topicId,
        partitions: [{ partition, offset: position, bytesMax: 1 << 20 }],
        waitMs: 200,
        bytesMin: 1,
        bytesMax: 1 << 20,
      })
      const bytes = answer.partitions[0]?.bytes
      if (!bytes) return undefined
      let next = position
      for (const batch of batchesIn(bytes)) {
        const { header } = batch
        next = batch.nextOffset
        // The load writes without transactions: every transactional record was aborted.
        if (!batch.isData || (header.attributes & TRANSACTIONAL) !== 0) continue
        for (const { offsetDelta, value } of decodeRecords(sectionOf(batch), header.recordCount)) {
          if (header.baseOffset + BigInt(offsetDelta) < position) continue
          const { n, key } = JSON.parse(value!.toString('utf8', 5)) as { n: number; key: string }
          if (!isPoison(n)) return n * KEYS_PER_PARTITION + Number(key.slice(key.indexOf('-') + 1))
        }
      }
      if (next === position) return undefined
      position = next
    }
  } finally {
    await connections.close().catch(() => {})
  }
}

/** One sentence per wrong ledger entry, and per revision in the data that the ledger lacks. */
export async function wrongBorders(arena: Arena, verdict: Verdict): Promise<string[]> {
  const { entries } = await arena.api<Ledger>('GET', `/pipelines/${arena.pipeline.id}/ledger`)
  const wrong: string[] = []
  for (const [partition, borders] of verdict.borders) {
    const own = entries.filter((entry) => entry.partition === partition).toSorted((a, b) => a.from_offset - b.from_offset)
    for (const [revision, index] of borders) {
      const entry = own.find((each) => each.revision === revision)
      if (!entry) wrong.push(`partition ${partition}: revision ${revision} is in the data but not in the ledger`)
      else if ((await indexAt(arena, partition, entry.from_offset)) !== index)
        wrong.push(
          `partition ${partition}: revision ${revision} begins at record ${index}, not where the ledger says (offset ${entry.from_offset})`,
        )
    }
  }
  return wrong
}

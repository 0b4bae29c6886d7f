/**
 * The upper limit: the bytes of the one-step chain through the same Fetch and Produce requests, without looking at records and without
 * transactions. Every second batch is written, so that as many bytes go out as the filter lets through. Runs as its own process and
 * prints one JSON line per run.
 */
import { openCluster } from '../../shared/kafka/cluster.ts'
import { batchesIn } from '../../shared/kafka/protocol/batches-in.ts'
import { stampProducer } from '../../shared/kafka/protocol/record-batch.ts'
import { fetchBatches } from '../../shared/kafka/wire/fetch.ts'
import { produceBatches } from '../../shared/kafka/wire/produce.ts'
import { RECORD_COUNT } from './records.ts'
import { nextOutput, say } from './child-runs.ts'

const [broker, input] = process.argv.slice(2) as [string, string]
const ROUND_BYTES = 32 << 20
const IN_FLIGHT_MAX = 8

const cluster = openCluster({ brokers: [broker], clientId: 'pump' })
const fetching = cluster.openConnections('fetch')
const producing = cluster.openConnections('produce')

async function run(output: string): Promise<number> {
  const source = (await cluster.describeTopic(input))!
  const target = (await cluster.describeTopic(output))!
  const positions = source.leaders.map(() => 0n)
  const fetchRound = async () =>
    fetchBatches(await fetching.leader(source.leaders[0]!), {
      topicId: source.topicId,
      partitions: positions.map((offset, partition) => ({ partition, offset, bytesMax: ROUND_BYTES / positions.length })),
      waitMs: 500,
      bytesMin: 1,
      bytesMax: ROUND_BYTES,
    })
  let records = 0
  let batches = 0
  const inFlight: Promise<unknown>[] = []
  const connection = await producing.leader(target.leaders[0]!)
  let next = fetchRound()
  while (records < RECORD_COUNT) {
    const answer = await next
    const writes: { partition: number; batch: Buffer }[] = []
    for (const { partition, bytes } of answer.partitions) {
      if (!bytes) continue
      for (const batch of batchesIn(bytes)) {
        positions[partition] = batch.nextOffset
        records += batch.header.recordCount
        if (batches++ % 2 === 0) writes.push({ partition, batch: batch.bytes })
      }
    }
    next = records < RECORD_COUNT ? fetchRound() : next
    for (const write of writes) {
      write.batch.writeBigInt64BE(0n, 0)
      stampProducer(write.batch, -1n, -1, -1)
      inFlight.push(
        produceBatches(connection, null, [{ topic: output, partitions: [write] }]).then((answers) => {
          if (answers.some(({ errorCode }) => errorCode !== 0)) throw new Error(`produce answered ${answers[0]?.errorCode}`)
        }),
      )
      while (inFlight.length > IN_FLIGHT_MAX) await inFlight.shift()
    }
  }
  await Promise.all(inFlight)
  return records
}

for (let output = await nextOutput(); output !== undefined; output = await nextOutput()) {
  const from = performance.now()
  const records = await run(output)
  say({ records, seconds: (performance.now() - from) / 1000 })
}
process.exit(0)

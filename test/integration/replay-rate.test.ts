/** A replay's `records_per_second` over time, by the broker's clock: never more than it allows, and not much less. */
import kafkajs from 'kafkajs'
import { expect, it } from 'vitest'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { useKafka } from '../harness/foreign-topics.ts'
import { limitFromNow, limitMs } from '../harness/machine-speed.ts'
import { createPipeline, createStream, waitForTotal, write } from '../harness/pipelines.ts'
import { makeTopics } from '../harness/topics.ts'

const RATE = 200
const PARTITIONS = 3
const SECONDS = 12
const TOTAL = RATE * SECONDS
/** A second's worth of records is written at once; its share of each partition is rounded up. */
const ROUND_MAX = RATE + PARTITIONS

const client = await loggedIn(service().accounts.other)
const { admin } = await useKafka()

/** When the broker appended each record of a topic that notes it, in milliseconds, the earliest first. */
async function appendTimes(topic: string, count: number): Promise<number[]> {
  const consumer = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }).consumer({
    groupId: unique('witness'),
    readUncommitted: false,
  })
  const times: number[] = []
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ eachMessage: async ({ message }) => void times.push(Number(message.timestamp)) })
    await eventually('the witness has read every record', async () => times.length >= count)
  } finally {
    await consumer.disconnect()
  }
  return times.sort((a, b) => a - b)
}

it('holds from the first record to the last, however many are fetched at once', { timeout: limitMs(180_000) }, async () => {
  const [from, to] = [
    await createStream(client, { n: 'integer' }, { partitions: PARTITIONS }),
    await createStream(client, { n: 'integer' }),
  ]
  const topic = unique('paced')
  const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }]
  await makeTopics(admin, { topic, numPartitions: PARTITIONS, configEntries })
  const target = await client.call<{ id: string }>('POST', '/v1/streams', { name: unique('paced'), topic, schema_id: to.schema_id })
  expect(target.status).toBe(201)
  const id = await createPipeline(client, from.id, [], to.id)
  // A request without keys is one batch of one partition: what one fetch brings is the whole replay.
  for (let part = 0; part < PARTITIONS; part++)
    await write(
      client,
      from.id,
      Array.from({ length: TOTAL / PARTITIONS }, (_, n) => ({ n })),
    )
  await waitForTotal(client, to.id, TOTAL)

  const askedAt = Date.now()
  const body = { sink: { stream_id: target.body.id }, records_per_second: RATE }
  const job = await client.call<{ id: string; total: number }>('POST', `/v1/pipelines/${id}/replay`, body)
  expect([job.status, job.body.total]).toEqual([202, TOTAL])
  const limit = limitFromNow(SECONDS * 2 * 1000)
  await eventually('the replay has ended', async () => (await client.call('GET', `/v1/jobs/${job.body.id}`)).body.status === 'finished')
  const times = await appendTimes(topic, TOTAL)
  expect(times.length).toBe(TOTAL)

  const allowed = (ms: number) => (RATE * ms) / 1000
  const tooMany = times.filter((at, index) => index + 1 > allowed(at - askedAt) + ROUND_MAX)
  expect(tooMany).toEqual([])
  // From any record to any later one. A write that was held up may be followed by the next at once: that makes two rounds.
  let [mostAtOnce, least] = [0, Infinity]
  for (const [index, at] of times.entries()) {
    least = Math.min(least, index - allowed(at))
    mostAtOnce = Math.max(mostAtOnce, index + 1 - allowed(at) - least)
  }
  expect(mostAtOnce).toBeLessThanOrEqual(2 * ROUND_MAX)
  expect(times.at(-1)! - times[0]!).toBeLessThan(limit())
})

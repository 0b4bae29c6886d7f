/** `make republish`, after Postgres was restored from a backup, or the topic of definitions was lost: processors run what Postgres says. */
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../services/control-plane/store/database.ts'
import { definitionKeys, serviceNames } from '../../shared/model/definition.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { deployModule, filterOverN } from '../harness/modules.ts'
import { republish } from '../harness/operator.ts'
import { createPipeline, createStream, readAll, waitForRevision, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { exactProducer } from '../harness/exact-producer.ts'

const NOTHING = { accounts: 0, secrets: 0, pipelines: 0, revisions: 0, jobs: 0, deleted: 0 }
/** A pipeline that another file has stopped or deleted may be sent just then, too. */
const atLeastOne = expect.toSatisfy((count: number) => count >= 1)
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))

let client: Client
let kafka: Kafka
const db = openDatabase(service().databaseUrl, 2)
const names = serviceNames(service().env.DPS_PREFIX!)
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  kafka = new Kafka({ clientId: 'republish-test', brokers: service().brokers, logLevel: logLevel.NOTHING })
})
afterAll(() => db.destroy())

/** Puts values, or tombstones, past the outbox into the topic of definitions. */
async function putOnTopic(entries: { key: string; value: string | null }[]): Promise<void> {
  const producer = exactProducer(kafka)
  await producer.connect()
  await producer.send({ topic: names.definitions, acks: -1, messages: entries.map((each) => ({ ...each, partition: 0 })) })
  await producer.disconnect()
}

async function waitUntilItEnds(id: string): Promise<void> {
  const admin = kafka.admin()
  await admin.connect()
  await eventually('its tasks have ended', async () => {
    const { groups } = await admin.describeGroups([names.runGroup(id)])
    return groups[0]!.members.length === 0
  })
  await admin.disconnect()
}

/** What the publisher still sends, and what other tests leave behind, is over at some time. */
const untilNothingDiffers = () => eventually('nothing differs', async () => JSON.stringify(await republish()) === JSON.stringify(NOTHING))

describe('republishing', () => {
  it('brings back what the topic has lost, and has nothing to do the second time', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const module = await deployModule(client, filterOverN('return value % 2 == 0'))
    const secret = unique('secret')
    expect((await client.call('POST', '/v1/secrets', { name: secret, value: 'x' })).status).toBe(201)
    const id = await createPipeline(client, from.id, [{ name: module.name, config: {} }], to.id)
    await write(client, from.id, numbers(0, 10))
    await waitForTotal(client, to.id, 5)
    await untilNothingDiffers()
    const { sha256 } = await db('smartmodule_versions').where({ smartmodule_id: module.id }).first('sha256')
    const lost = [
      definitionKeys.pipeline(id),
      definitionKeys.revision(id, 1),
      definitionKeys.smartModule(sha256),
      definitionKeys.secret(service().accounts.enterprise.account_id, secret),
    ]
    await putOnTopic(lost.map((key) => ({ key, value: null })))
    await waitUntilItEnds(id)
    await write(client, from.id, numbers(10, 20))
    expect(await republish()).toEqual({ ...NOTHING, secrets: 1, pipelines: atLeastOne, revisions: 1, deleted: expect.any(Number) })
    await waitForTotal(client, to.id, 10)
    await untilNothingDiffers()
  })

  it('makes a revision of what was restored, where processors know a later one', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer', by: 'integer?' })]
    const id = await createPipeline(client, from.id, [{ name: 'dps/map-fields', config: { set: { by: 1 } } }], to.id)
    await waitForStatus(client, id, 'running')
    const backup = await db('pipelines').where({ id }).first()
    const processors = [{ module_id: 'dps/map-fields', config: { set: { by: 2 } } }]
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { processors })).status).toBe(200)
    await waitForRevision(client, id, 2)
    await db.transaction(async (trx) => {
      await trx('pipeline_revisions').where({ pipeline_id: id, revision: 2 }).delete()
      const { revision, attempt, definition, request } = backup
      await trx('pipelines')
        .where({ id })
        .update({ revision, attempt, definition: JSON.stringify(definition), request: JSON.stringify(request) })
    })
    expect(await republish()).toMatchObject({ pipelines: 1 })
    await waitForRevision(client, id, 3)
    await write(client, from.id, numbers(0, 10))
    await waitForTotal(client, to.id, 10)
    expect((await readAll(client, to.id)).map(({ by }) => by)).toEqual(numbers(0, 10).map(() => 1))
    await untilNothingDiffers()
  })

  it('ends what Postgres does not have', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id)
    await waitForStatus(client, id, 'running')
    await untilNothingDiffers()
    const other = `pl_${id.slice(3).split('').toReversed().join('')}`
    const { definition } = await db('pipelines').where({ id }).first('definition')
    const copy = { ...definition, pipeline_id: other, group_id: names.runGroup(other), desired: 'running', attempt: 1, revision: 1 }
    await putOnTopic([{ key: definitionKeys.pipeline(other), value: JSON.stringify(copy) }])
    expect(await republish()).toEqual({ ...NOTHING, pipelines: expect.any(Number), deleted: atLeastOne })
    // It reads the topic, which has the copy no more.
    await untilNothingDiffers()
  })
})

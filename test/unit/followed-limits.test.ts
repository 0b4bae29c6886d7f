/** Which pipelines learn the limit of an adopted topic for a batch, and when processors hear of it. */
import { expect, it } from 'vitest'
import { createAdoptedFollower } from '../../services/control-plane/upkeep/adopted-streams.ts'
import type { PipelineStatus } from '../../shared/model/pipeline-status.ts'
import { definitionOf } from '../harness/definitions.ts'
import { recordedDatabase } from '../harness/recorded-database.ts'

const LIMIT = 100_000

/** A stream whose topic has the limit that the stream knows, and a pipeline into it that knows another one. */
function follower(status: PipelineStatus) {
  const stream = {
    id: 'st_1',
    account_id: 'acc_a',
    topic: 'out',
    format: 'json',
    partitions: 1,
    batch_bytes_max: LIMIT,
    is_compacted: false,
  }
  const pipeline = { id: 'pl_1', status, desired: 'running', revision: 1, attempt: 1, definition: definitionOf('pl_1') }
  const { db, asked } = recordedDatabase((sql) => {
    if (sql.includes('pipeline_uses')) return [{ used_id: stream.id, pipeline_id: pipeline.id }]
    if (/(from|update) "pipelines"/.test(sql)) return [pipeline]
    return sql.includes('from "streams"') ? [stream] : []
  })
  const settings = { 'retention.ms': '1', 'max.message.bytes': String(LIMIT), 'cleanup.policy': 'delete' }
  const configEntries = Object.entries(settings).map(([configName, configValue]) => ({ configName, configValue }))
  const admin = { describeConfigs: async () => ({ resources: [{ configEntries }] }) }
  const warned: unknown[] = []
  const follow = createAdoptedFollower({
    db,
    cluster: { describeTopic: async () => ({ leaders: [1] }) },
    withAdmin: (work: (given: typeof admin) => unknown) => work(admin),
    log: { warn: (fields: unknown) => warned.push(fields) },
    notifyPublisher: () => {},
  } as never)
  return {
    async pass() {
      const from = asked.length
      await follow()
      expect(warned).toEqual([])
      const done = asked.slice(from)
      const has = (start: string) => done.some((sql) => sql.startsWith(start))
      return { isRevised: has('update "pipelines"'), isPublished: has('insert into "outbox"'), isStreamChanged: has('update "streams"') }
    },
  }
}

it('a pipeline that was left behind by an earlier version is revised once', async () => {
  const { pass } = follower('failed')
  expect(await pass()).toEqual({ isRevised: true, isPublished: true, isStreamChanged: false })
  expect(await pass()).toEqual({ isRevised: false, isPublished: false, isStreamChanged: false })
})

it('processors don’t hear of a pipeline before its topics are there', async () => {
  expect(await follower('creating').pass()).toEqual({ isRevised: true, isPublished: false, isStreamChanged: false })
})

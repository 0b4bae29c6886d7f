/** What the operator's endpoints refuse, and with which errors. */
import { beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../services/control-plane/store/database.ts'
import { findRevision, insertRevision, listRevisions } from '../../services/control-plane/store/pipelines.ts'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { createPipeline, createStream, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
let stranger: Client
let pipeline: string
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
  stranger = await loggedIn(service().accounts.enterprise)
  const from = await createStream(client, { n: 'integer' }, { partitions: 2 })
  const to = await createStream(client, { n: 'integer' }, { partitions: 2 })
  pipeline = await createPipeline(client, from.id, [], to.id)
  await waitForStatus(client, pipeline, 'running')
  await write(client, from.id, [{ n: 1 }])
  await waitForTotal(client, to.id, 1)
})

const paths = (details: { path: string }[] | undefined) => details?.map(({ path }) => path)

describe('the operator’s endpoints', () => {
  it.each([
    ['POST', 'dead-letters/redrive', { ids: ['nothing'] }, ['/ids/0']],
    ['POST', 'dead-letters/redrive', { ids: ['dl_0_999999'] }, ['/ids/0']],
    ['POST', 'dead-letters/redrive', { ids: [], filter: { step: 0 } }, ['/ids', '/filter/step', '/filter']],
    ['POST', 'dead-letters/redrive', { filter: { from: 'yesterday' } }, ['/filter/from']],
    ['POST', 'replay', { from: { offsets: { 0: 99 } } }, ['/from/offsets/0']],
    ['POST', 'replay', { from: { timestamp: 5 } }, ['/from/timestamp']],
    ['POST', 'replay', { from: { offsets: { 0: 'x' } } }, ['/from/offsets/0']],
    ['POST', 'replay', { from: 'somewhere' }, ['/from']],
    ['POST', 'replay', { sink: { stream_id: 'st_nothing' } }, ['/sink/stream_id']],
    ['POST', 'replay', { sink: { stream_id: '\0' } }, ['/sink/stream_id']],
    ['POST', 'replay', { records_per_second: 0 }, ['/records_per_second']],
    ['POST', 'preview', { limit: 101 }, ['/limit']],
    ['POST', 'preview', { processors: [{ module_id: 'sm_nothing' }] }, ['/processors/0/module_id']],
    ['GET', 'explain?partition=0', undefined, ['/query/offset']],
    ['GET', 'explain?partition=x&offset=-1', undefined, ['/query/partition', '/query/offset']],
    ['GET', 'dead-letters?status=lost&step=0&page_size=0', undefined, ['/query/page_size', '/query/step', '/query/status']],
    ['GET', 'dead-letters?cursor=eA', undefined, ['/query/cursor']],
    ['GET', 'dead-letters?from=0000-01-01T00:00:00Z', undefined, ['/query/from']],
  ] as const)('answer 400 to %s %s with body %j, naming every member at fault', async (method, path, body, expected) => {
    const answer = await client.call(method, `/v1/pipelines/${pipeline}/${path}`, body)
    expect(answer.status).toBe(400)
    expect(paths(answer.body.error!.details)!.toSorted()).toEqual([...expected].toSorted())
  })

  it.each(['offsets', 'accounting', 'metrics', 'ledger', 'dead-letters', 'status'])(
    'answer 404 for the %s of another account’s pipeline',
    async (path) => {
      expect((await stranger.call('GET', `/v1/pipelines/${pipeline}/${path}`)).status).toBe(404)
      expect((await client.call('GET', `/v1/pipelines/${pipeline}/${path}`)).status).toBe(200)
    },
  )

  it('show the newest revisions of a pipeline, and keep as many as there is room for', async () => {
    const db = openDatabase(service().env.DATABASE_URL!, 1)
    try {
      const [newest] = await listRevisions(db, pipeline)
      const bytes = Buffer.byteLength(JSON.stringify(newest!.definition))
      const later = [2, 3, 4].map((revision) => ({ ...newest!.definition, revision }))
      await db
        .transaction(async (trx) => {
          for (const definition of later) await insertRevision(trx, definition)
          expect((await listRevisions(trx, pipeline)).map(({ revision }) => revision)).toEqual([1, 2, 3, 4])
          expect((await listRevisions(trx, pipeline, Math.floor(2.5 * bytes))).map(({ revision }) => revision)).toEqual([3, 4])
          expect((await findRevision(trx, pipeline, 2))?.definition.revision).toBe(2)
          // One more than there is room for: the oldest go, and the newest stays however large it is.
          const stored = (
            await trx('pipeline_revisions')
              .where({ pipeline_id: pipeline })
              .sum({ sum: trx.raw('pg_column_size(definition)') })
          )[0]
          await insertRevision(trx, { ...later.at(-1)!, revision: 5 }, { bytesMax: Number(stored!.sum), min: 1 })
          expect((await listRevisions(trx, pipeline)).map(({ revision }) => revision).at(-1)).toBe(5)
          expect(await findRevision(trx, pipeline, 1)).toBeUndefined()
          await insertRevision(trx, { ...later.at(-1)!, revision: 6 }, { bytesMax: 1, min: 1 })
          expect((await listRevisions(trx, pipeline)).map(({ revision }) => revision)).toEqual([6])
          const large = { ...newest!.definition, revision: 7, group_id: 'x'.repeat(12 << 20) }
          await expect(insertRevision(trx, large)).rejects.toThrow('more than 12 MiB')
          await trx.rollback()
        })
        .catch((error: unknown) => {
          if (error instanceof Error && !error.message.includes('rejected with non-error')) throw error
        })
    } finally {
      await db.destroy()
    }
  })

  it('refuse an invalid change of a pipeline, and leave it unchanged', async () => {
    const before = (await client.call('GET', `/v1/pipelines/${pipeline}`)).body
    const wrong = await client.call('PATCH', `/v1/pipelines/${pipeline}`, {
      tasks: 3,
      processors: [{ module_id: 'sm_nothing' }],
      on_error: { policy: 'shrug' },
      source: {},
    })
    expect([wrong.status, paths(wrong.body.error!.details)!.toSorted()]).toEqual([400, ['/on_error/policy', '/source']])
    const beyond = await client.call('PATCH', `/v1/pipelines/${pipeline}`, { tasks: 3, processors: [{ module_id: 'sm_nothing' }] })
    expect(paths(beyond.body.error!.details)!.toSorted()).toEqual(['/processors/0/module_id', '/tasks'])
    expect((await client.call('GET', `/v1/pipelines/${pipeline}`)).body).toEqual(before)
    expect((await client.call('PATCH', `/v1/pipelines/${pipeline}`, {})).body).toMatchObject({ revision: 1 })
    expect((await stranger.call('PATCH', `/v1/pipelines/${pipeline}`, { description: 'mine' })).status).toBe(404)
    expect((await client.call('PATCH', `/v1/pipelines/${pipeline}`, { description: 'a\0b' })).status).toBe(400)
  })

  it('plan a change with the faults of the change itself, and write nothing', async () => {
    const before = (await client.call('GET', `/v1/pipelines/${pipeline}`)).body
    const plan = (body: unknown) => client.call('POST', `/v1/pipelines/${pipeline}/plan`, body)
    const beyond = await plan({ tasks: 3, processors: [{ module_id: 'sm_nothing' }] })
    expect([beyond.status, paths(beyond.body.error!.details)!.toSorted()]).toEqual([400, ['/processors/0/module_id', '/tasks']])
    expect((await plan({})).body).toMatchObject({ revision: 1, effect: 'none', differences: [] })
    expect((await plan({ description: 'planned' })).body).toMatchObject({
      revision: 1,
      effect: 'none',
      differences: [{ path: '/description', before: '', after: 'planned' }],
    })
    const filter = { module_id: 'dps/filter', config: { field: 'n', operator: 'gt', value: 1 } }
    const planned = await plan({ processors: [filter] })
    expect(planned.body).toMatchObject({ revision: 2, effect: 'live', differences: [{ path: '/processors' }] })
    expect((await stranger.call('POST', `/v1/pipelines/${pipeline}/plan`, { description: 'mine' })).status).toBe(404)
    expect((await client.call('GET', `/v1/pipelines/${pipeline}`)).body).toEqual(before)
  })

  it('answer 404 for a job of another account and for an unknown job', async () => {
    const job = await client.call<{ id: string }>('POST', `/v1/pipelines/${pipeline}/replay`, { from: { offsets: { 0: 0 } }, to: 'latest' })
    expect(job.status).toBe(202)
    expect((await client.call('GET', `/v1/jobs/${job.body.id}`)).status).toBe(200)
    expect((await stranger.call('GET', `/v1/jobs/${job.body.id}`)).status).toBe(404)
    expect((await stranger.call('POST', `/v1/jobs/${job.body.id}/cancel`)).status).toBe(404)
    expect((await client.call('GET', '/v1/jobs/job_nothing')).status).toBe(404)
    const { body } = await client.call<{ jobs: { id: string }[]; total: number }>('GET', `/v1/jobs?pipeline_id=${pipeline}`)
    expect([body.total, body.jobs[0]!.id]).toEqual([1, job.body.id])
  })

  it('leave nothing behind when a pipeline is deleted, not even its running job', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id)
    await waitForStatus(client, id, 'running')
    await write(
      client,
      from.id,
      Array.from({ length: 500 }, (_, n) => ({ n })),
    )
    await waitForTotal(client, to.id, 500)
    const job = await client.call<{ id: string }>('POST', `/v1/pipelines/${id}/replay`, { from: 'earliest', records_per_second: 1 })
    expect(job.status).toBe(202)
    await eventually('its job runs', async () => {
      const { body } = await client.call<{ status: string }>('GET', `/v1/jobs/${job.body.id}`)
      return body.status === 'running'
    })
    expect((await client.call('DELETE', `/v1/pipelines/${id}`)).status).toBeOneOf([202, 204])
    expect((await client.call('GET', `/v1/pipelines/${id}/offsets`)).status).toBe(404)
    await eventually('its job is gone', async () => (await client.call('GET', `/v1/jobs/${job.body.id}`)).status === 404)
  })
})

/** A record that failed and was redriven: what became of it is explained by the revision that the redrive ran. */
import { expect, it } from 'vitest'
import { eventually, loggedIn, service } from '../harness/client.ts'
import { useDps } from '../harness/command-line.ts'
import { createPipeline, createStream, waitForRevision, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'

const client = await loggedIn(service().accounts.enterprise)
const { dps, json } = await useDps()

type Explained = {
  outcome: string
  revision: number
  handled: boolean
  redriven: boolean
  redrives: { job_id: string; revision: number; outcome: string; at: string }[]
  dead_letter_ids: string[]
  outputs: { value: { json: unknown } }[]
}

it('is explained by the revision that handled it, by that of its redrive, and by any other', async () => {
  const [from, to, other] = [
    await createStream(client, { sum: 'integer', count: 'integer' }, { partitions: 1 }),
    await createStream(client, { sum: 'integer', count: 'integer', mean: 'integer' }, { partitions: 1 }),
    await createStream(client, { sum: 'integer', count: 'integer', mean: 'integer' }, { partitions: 1 }),
  ]
  const meanOf = (mean: string) => [{ module_id: 'dps/cel', config: { set: { mean } } }]
  const id = await createPipeline(client, from.id, [], to.id, { processors: meanOf('value.sum / value.count') })
  await waitForStatus(client, id, 'running')
  await write(client, from.id, [{ sum: 1, count: 0 }])
  const explain = (query = '') =>
    client.call<Explained & { error?: { details: { path: string }[] } }>('GET', `/v1/pipelines/${id}/explain?partition=0&offset=0${query}`)
  await eventually('it is a dead letter', async () => {
    const { handled, outcome } = (await explain()).body
    // Before that, the outcome is what would become of it.
    return handled && outcome === 'dead_letter'
  })
  expect((await explain()).body).toMatchObject({ revision: 1, redriven: false, redrives: [] })
  const fixed = { processors: meanOf('value.count == 0 ? 0 : value.sum / value.count') }
  expect((await client.call('PATCH', `/v1/pipelines/${id}`, fixed)).status).toBe(200)
  await waitForRevision(client, id, 2)
  const job = json<{ id: string; status: string }>(await dps(['dlq', 'redrive', id, '--wait', '-o', 'json']))
  await waitForTotal(client, to.id, 1)

  const { body } = await explain()
  expect(body).toMatchObject({ outcome: 'dead_letter', revision: 1, handled: true, redriven: true, outputs: [] })
  expect(body.redrives).toMatchObject([{ job_id: job.id, revision: 2, outcome: 'redriven' }])
  expect(Math.abs(Date.now() - Date.parse(body.redrives[0]!.at))).toBeLessThan(60_000)
  expect((await explain('&revision=2')).body).toMatchObject({
    outcome: 'delivered',
    revision: 2,
    handled: false,
    outputs: [{ value: { json: { sum: 1, count: 0, mean: 0 } } }],
  })
  expect((await explain('&revision=1')).body).toMatchObject({ outcome: 'dead_letter', revision: 1, handled: true })
  const unknown = await explain('&revision=3')
  expect([unknown.status, unknown.body.error?.details.map(({ path }) => path)]).toEqual([400, ['/query/revision']])

  const told = await dps(['explain', id, '0:0'])
  expect(told.out).toMatch(/redriven since[\s\S]*divide by zero/)
  expect(told.out).toMatch(new RegExp(`the job ${job.id} redrove it by revision 2[\\s\\S]*"mean":0`))
  expect((await dps(['explain', id, '0:0', '--revision', '1'])).out).not.toContain('the job')

  const replay = await dps(['replay', id, '--sink', other.id, '--rate', '1000', '--wait'])
  expect([replay.code, replay.err]).toEqual([0, expect.stringContaining('1 of 1 delivered')])
  await waitForTotal(client, other.id, 1)
  expect((await dps(['list', 'jobs'])).out).toMatch(new RegExp(`${job.id} +redrive +finished .* 100 %  0 `))
})

it('is explained with what a redrive in which it failed again made of it', async () => {
  const [from, to] = [
    await createStream(client, { sum: 'integer', count: 'integer' }, { partitions: 1 }),
    await createStream(client, { sum: 'integer', count: 'integer', mean: 'integer' }, { partitions: 1 }),
  ]
  const meanOf = (mean: string) => ({ processors: [{ module_id: 'dps/cel', config: { set: { mean } } }] })
  const id = await createPipeline(client, from.id, [], to.id, meanOf('value.sum / value.count'))
  await waitForStatus(client, id, 'running')
  await write(client, from.id, [{ sum: 1, count: 0 }])
  const explain = async (query = '') =>
    (await client.call<Explained & { reason: string }>('GET', `/v1/pipelines/${id}/explain?partition=0&offset=0${query}`)).body
  await eventually('it is a dead letter', async () => (await explain()).dead_letter_ids.length === 1)
  const redriveBy = async (revision: number, mean: string): Promise<string> => {
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, meanOf(mean))).status).toBe(200)
    await waitForRevision(client, id, revision)
    return json<{ id: string }>(await dps(['dlq', 'redrive', id, '--wait', '-o', 'json'])).id
  }

  const first = await redriveBy(2, 'value.total / value.count')
  const body = await eventually('the redrive is known to have failed', async () => {
    const explained = await explain()
    return explained.redrives.length === 1 && explained
  })
  expect(body).toMatchObject({ outcome: 'dead_letter', revision: 1, redriven: false, reason: expect.stringContaining('divide by zero') })
  expect(body.redrives).toMatchObject([{ job_id: first, revision: 2, outcome: 'dead_letter' }])
  expect(body.dead_letter_ids).toHaveLength(1)
  const told = await dps(['explain', id, '0:0'])
  expect(told.out).toMatch(/redriven since, and failed again[\s\S]*divide by zero/)
  expect(told.out).toMatch(new RegExp(`the job ${first} redrove it by revision 2[\\s\\S]*no such key`))

  const second = await redriveBy(3, 'value.count == 0 ? 0 : value.sum / value.count')
  await waitForTotal(client, to.id, 1)
  const after = await eventually('it is redriven', async () => {
    const explained = await explain()
    return explained.redriven && explained
  })
  expect(after.redrives).toMatchObject([
    { job_id: first, revision: 2, outcome: 'dead_letter' },
    { job_id: second, revision: 3, outcome: 'redriven' },
  ])
})

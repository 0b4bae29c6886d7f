/** An account's events: everything at first, then what changes, to every client and to no other account. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { JobItem } from '../../shared/api/jobs.ts'
import type { PipelineGlance } from '../../shared/api/overview.ts'
import type { z } from 'zod'
import { eventually, type Client } from '../harness/client.ts'
import { listen, type EventReader } from '../harness/events.ts'
import { openAccount } from '../harness/operator.ts'
import { createPipeline, createStream, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'

type Job = z.output<typeof JobItem>
type Data = Omit<PipelineGlance, 'status'> & Omit<Job, 'status'> & { status: string; pipelines: PipelineGlance[]; jobs: Job[] }

let client: Client
let stranger: Client
beforeAll(async () => {
  client = (await openAccount('enterprise')).client
  stranger = (await openAccount('developer')).client
})

async function setUp() {
  const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
  const id = await createPipeline(client, from.id, [], to.id)
  await waitForStatus(client, id, 'running')
  return { id, from, to }
}

const open = (who = client) => listen<Data>(who, '/v1/events')
const of = (reader: EventReader<Data>, event: string, id: string) =>
  reader.events.filter((each) => each.event === event && each.data.id === id).map(({ data }) => data)

describe('events', () => {
  it('begin with all pipelines, and go on with what changes', async () => {
    const before = await setUp()
    const [one, other, foreign] = [await open(), await open(), await open(stranger)]
    for (const reader of [one, other]) {
      await eventually('a snapshot came', async () => reader.events.length > 0)
      expect(reader.events[0]).toMatchObject({ event: 'snapshot', data: { jobs: [] } })
      expect(reader.events[0]!.data.pipelines.map(({ id }) => id)).toContain(before.id)
    }
    const { id, from, to } = await setUp()
    await eventually('the new pipeline is running', async () => of(one, 'pipeline', id).at(-1)?.status === 'running')
    await write(client, from.id, [{ n: 1 }, { n: 2 }])
    await waitForTotal(client, to.id, 2)
    await client.call('POST', `/v1/pipelines/${id}/pause`)
    for (const reader of [one, other]) await eventually('it is paused', async () => of(reader, 'pipeline', id).at(-1)?.status === 'paused')
    const { job_id } = (await client.call<{ job_id: string }>('POST', `/v1/pipelines/${before.id}/replay`, {})).body
    await eventually('its job has ended', async () => of(one, 'job', job_id).at(-1)?.status === 'finished')
    expect(of(one, 'job', job_id).filter(({ status }) => status === 'finished')).toHaveLength(1)
    await client.call('POST', `/v1/pipelines/${id}/stop`)
    await waitForStatus(client, id, 'stopped')
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await eventually('it is gone', async () => of(one, 'pipeline_deleted', id).length === 1)
    // What did not change is not sent again.
    const texts = of(one, 'pipeline', id).map((each) => JSON.stringify(each))
    expect(texts.filter((text, at) => text === texts[at - 1])).toEqual([])
    expect(foreign.events.map(({ event }) => event)).toEqual(['snapshot'])
    expect(foreign.events[0]!.data.pipelines).toEqual([])
    for (const reader of [one, other, foreign]) reader.close()
  })

  it('begin anew for a client that comes back', async () => {
    const { id } = await setUp()
    const first = await open()
    await eventually('a snapshot came', async () => first.events.length > 0)
    first.close()
    await first.ended
    const second = await open()
    await eventually('a snapshot came', async () => second.events.length > 0)
    expect(second.events[0]!.data.pipelines.map((each) => each.id)).toContain(id)
    second.close()
  })
})

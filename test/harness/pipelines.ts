/** Streams and pipelines for tests, created over HTTP as a client would. */
import { afterAll } from 'vitest'
import { reasonOf } from '../../shared/errors/reason-of.ts'
import { eventually, patiently, service, unique, type Client } from './client.ts'

const made: { client: Client; id: string }[] = []
// Pipelines left running would take CPU time from all later files.
afterAll(async () => {
  await Promise.allSettled(made.splice(0).map(({ client, id }) => client.call('POST', `/v1/pipelines/${id}/stop`)))
})

/** Stops the pipeline once the tests of the file are over, whatever its status by then. */
export function stopAfterwards(client: Client, id: string): string {
  made.push({ client, id })
  return id
}

export type NewStream = { id: string; topic: string; schema_id: number }

export async function createStream(client: Client, schema: Record<string, string>, more: Record<string, unknown> = {}): Promise<NewStream> {
  const created = await patiently(() =>
    client.call<{ id: string }>('POST', '/v1/streams', { name: unique('stream'), description: '', schema, ...more }),
  )
  if (created.status !== 201) throw new Error(`creating a stream answered ${created.status}: ${JSON.stringify(created.body)}`)
  return (await patiently(() => client.call<NewStream>('GET', `/v1/streams/${created.body.id}`))).body
}

export type Step = { name: string; config: Record<string, unknown> }

export async function moduleId(client: Client, name: string): Promise<string> {
  const found = await patiently(() =>
    client.call<{ modules: { id: string }[] }>('GET', `/v1/smartmodules?name=${encodeURIComponent(name)}`),
  )
  const id = found.body.modules[0]?.id
  if (id === undefined) throw new Error(`there is no SmartModule ${name}`)
  return id
}

export async function createPipeline(
  client: Client,
  source: string,
  steps: Step[],
  sink: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const processors = await Promise.all(steps.map(async ({ name, config }) => ({ module_id: await moduleId(client, name), config })))
  const created = await patiently(() =>
    client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', {
      name: unique('pipeline'),
      source: { connector_id: 'conn_stream', config: { stream_id: source } },
      processors,
      sink: { connector_id: 'conn_stream', config: { stream_id: sink } },
      ...more,
    }),
  )
  if (created.status !== 201) throw new Error(`creating a pipeline answered ${created.status}: ${JSON.stringify(created.body)}`)
  return stopAfterwards(client, created.body.pipeline_id)
}

export async function waitForStatus(client: Client, pipelineId: string, status: string): Promise<Record<string, unknown>> {
  return eventually(`pipeline ${pipelineId} is ${status}`, async () => {
    const { body } = await client.call('GET', `/v1/pipelines/${pipelineId}/status`)
    return body.status === status && body
  })
}

export type Accounting = { balanced: boolean; totals: Record<string, number>; steps: Record<string, number>[] }

/** Waits until `records` are counted and none is in flight: the offsets are committed a moment after the output is visible. */
export async function waitForAccounting(client: Client, pipelineId: string, records: number): Promise<Accounting> {
  return eventually(`${records} records of ${pipelineId} are accounted for`, async () => {
    const { body } = await client.call<Accounting>('GET', `/v1/pipelines/${pipelineId}/accounting`)
    return body.totals?.in === records && body.totals.in_flight === 0 && body
  })
}

/** Waits until every task runs the revision, which then handles what is written. Until its tasks have reported, a pipeline shows none. */
export async function waitForRevision(client: Client, pipelineId: string, revision: number): Promise<void> {
  await eventually(`every task of ${pipelineId} runs revision ${revision}`, async () => {
    const { tasks } = (await client.call<{ tasks: TaskStatus[] }>('GET', `/v1/pipelines/${pipelineId}/status`)).body
    if (tasks.length > 0 && tasks.every((task) => task.revision === revision && task.status === 'running')) return true
    // What it runs in place of that, for the error of a test that waits in vain.
    throw new Error(JSON.stringify(tasks.map(({ revision: runs, status, reason }) => [runs, status, reason])))
  })
}

type TaskStatus = { revision: number; status: string; reason: string | null }

/** What the pipelines of this file show, for the error of a test that waited for their records in vain. */
async function showMade(): Promise<string> {
  const shown = await Promise.all(
    made.map(async ({ client, id }) => {
      const { status, tasks = [] } = (await client.call<{ status: string; tasks: TaskStatus[] }>('GET', `/v1/pipelines/${id}/status`)).body
      return `${id} ${status}: ${tasks.map((task) => `revision ${task.revision} ${task.status} ${task.reason ?? ''}`).join(', ')}`
    }),
  )
  return shown.join('\n')
}

export async function write(client: Client, streamId: string, records: unknown[]): Promise<void> {
  // Sent again, it is still written once.
  const headers = { 'Idempotency-Key': unique('write') }
  const answer = await patiently(() => client.call('POST', `/v1/streams/${streamId}/data`, { records }, headers))
  if (answer.status !== 201) throw new Error(`writing answered ${answer.status}: ${JSON.stringify(answer.body)}`)
}

export type Page = {
  data: Record<string, unknown>[]
  pagination: {
    total: number
    page: number
    limit: number
    next_cursor?: string
    has_more?: true
    approximate?: true
    undecodable?: unknown[]
  }
}

export async function waitForTotal(client: Client, streamId: string, total: number): Promise<void> {
  await eventually(`stream ${streamId} has ${total} records`, async () => {
    const { pagination } = (await client.call<Page>('GET', `/v1/streams/${streamId}/data?limit=1`)).body
    // An estimate counts offsets, also those of transactions that are still open.
    return pagination.total >= total && !pagination.approximate
  }).catch(async (error: unknown) => {
    throw new Error(`${reasonOf(error)}\n${await showMade()}`, { cause: error })
  })
}

/** All records, by cursor. */
export async function readAll(client: Client, streamId: string): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = []
  for (let cursor = ''; ;) {
    const { body } = await patiently(() => client.call<Page>('GET', `/v1/streams/${streamId}/data?limit=1000${cursor}`))
    records.push(...body.data)
    if (!body.pagination.has_more) return records
    cursor = `&cursor=${body.pagination.next_cursor}`
  }
}

/** A page of records as the service writes it, with all digits of its numbers. */
export async function dataText(client: Client, streamId: string): Promise<string> {
  const headers = { authorization: `Bearer ${client.token}` }
  return (await fetch(`${service().apiUrl}/v1/streams/${streamId}/data?limit=1000`, { headers })).text()
}

/** The values of n in one partition, oldest first. In a stream that only the API writes there are no gaps, so the index is the offset. */
export async function readPartition(client: Client, streamId: string, partition: number): Promise<number[]> {
  const values: number[] = []
  for (let cursor = ''; ;) {
    const { body } = await patiently(() =>
      client.call<{ data: { n: number }[]; pagination: { next_cursor?: string; has_more?: true } }>(
        'GET',
        `/v1/streams/${streamId}/data?limit=1000&partition=${partition}${cursor}`,
      ),
    )
    values.push(...body.data.map(({ n }) => n))
    if (body.pagination.next_cursor === undefined) return values
    cursor = `&cursor=${body.pagination.next_cursor}`
  }
}

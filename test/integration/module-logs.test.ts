/** What SmartModules of a running pipeline log and measure: read by page and as it comes, within bounds, by its account alone. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { connect } from '../harness/connectors.ts'
import { listen } from '../harness/events.ts'
import { createPipeline, createStream, waitForRevision, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

const CODE = `import { Config, Record, Path, count, log, numberOf, observe } from 'dps'
const n = new Path('n')
export function init(config: Config): void { log('ready') }
export function filter(record: Record): bool {
  const slice = record.find(n)
  const value = numberOf(slice.start, slice.end)
  count('seen')
  observe('n', value)
  if (value >= 1000) log('line ' + (value as i32).toString())
  if (value == 2) log('two is odd', 'warn')
  if (value == 3) log('three', 'error')
  if (value == 4) count('Not A Name')
  if (value == 5 || value == 6) count('huge', 1e308)
  return value != 7
}
`

type Line = { id: string; revision: number; level: string; step: number | null; module: string | null; message: string; dropped?: number }

async function setUp() {
  const name = unique('logs')
  expect(await client.call('POST', '/v1/smartmodules', { name, source: { language: 'typescript', code: CODE } })).toMatchObject({
    status: 201,
  })
  const [from, to] = [
    await createStream(client, { n: 'integer' }, { partitions: 1 }),
    await createStream(client, { n: 'integer' }, { partitions: 1 }),
  ]
  const id = await createPipeline(client, from.id, [{ name, config: {} }], to.id)
  const logs = async (query = '') => (await client.call<{ logs: Line[] }>('GET', `/v1/pipelines/${id}/logs?limit=1000${query}`)).body.logs
  return { id, name, from, to, logs }
}
/** Records of some 500 characters. */
const WIDE = { n: 'integer', ...Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`t${index}`, 'string'])) }
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))

describe('the log of a pipeline', () => {
  it('has the lines of SmartModules and tasks, by level, step and time', async () => {
    const { id, name, from, to, logs } = await setUp()
    await write(client, from.id, numbers(0, 10))
    await waitForTotal(client, to.id, 9)
    await eventually('the lines are there', async () => (await logs('&step=1')).length >= 4)
    // A round that is made again says it again.
    const said = new Map((await logs('&step=1')).map((line) => [line.message, line]))
    expect([...said.values()].map(({ level, message, module }) => ({ level, message, module }))).toEqual([
      { level: 'info', message: 'ready', module: name },
      { level: 'warn', message: 'two is odd', module: name },
      { level: 'error', message: 'three', module: name },
      { level: 'warn', message: expect.stringContaining('"Not A Name"'), module: name },
    ])
    expect(new Set((await logs('&level=error')).map(({ message }) => message))).toEqual(new Set(['three']))
    expect((await logs('&step=0')).map(({ message }) => message)).toContain('task started')
    const { logs: timed } = (await client.call<{ logs: (Line & { at: string })[] }>('GET', `/v1/pipelines/${id}/logs?level=warn&step=1`))
      .body
    expect(await logs(`&since=${encodeURIComponent(new Date(Date.parse(timed[0]!.at) + 3_600_000).toISOString())}`)).toEqual([])
    expect((await logs(`&step=1&level=warn&since=${encodeURIComponent(timed[0]!.at)}`)).length).toBeGreaterThanOrEqual(3)
    expect((await client.call('GET', `/v1/pipelines/${id}/logs?since=yesterday`)).body.error).toMatchObject({
      details: [{ path: '/query/since' }],
    })
  })

  it('has each line of a task under the revision that it ran then', async () => {
    const { id, from, to, logs } = await setUp()
    await write(client, from.id, numbers(0, 1))
    await waitForTotal(client, to.id, 1)
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { processors: [] })).status).toBe(200)
    await waitForRevision(client, id, 2)
    const linesOf = async (start: string) => (await logs('&step=0')).filter(({ message }) => message.startsWith(start))
    // A task that has to start anew at this moment starts with revision 2.
    const startsOf = async (revision: number) => (await linesOf('task started')).filter((line) => line.revision === revision)
    await eventually('it is told', async () => [...(await linesOf('revision 2 took over')), ...(await startsOf(2))].length > 0)
    expect((await client.call('POST', `/v1/pipelines/${id}/stop`)).status).toBeOneOf([200, 202])
    await eventually('the end is told', async () => (await linesOf('task ended')).at(-1)?.revision === 2)
    expect((await linesOf('task started'))[0]).toMatchObject({ revision: 1 })
    for (const { revision } of await linesOf('revision 2 took over')) expect(revision).toBe(2)
  })

  it('comes as events, and goes on after the last one that was seen', async () => {
    const { id, from } = await setUp()
    const first = await listen<Line>(client, `/v1/pipelines/${id}/logs?follow=true&step=1`)
    await write(client, from.id, numbers(0, 4))
    // A round that is made again says it again.
    await eventually('three lines came', async () => first.events.some(({ data }) => data.message === 'three'))
    first.close()
    expect(new Set(first.events.map(({ event, data }) => `${event}: ${data.message}`))).toEqual(
      new Set(['log: ready', 'log: two is odd', 'log: three']),
    )
    const rest = first.events.slice(-1).map(({ id: last }) => last)
    const again = await listen<Line>(client, `/v1/pipelines/${id}/logs?follow=true&step=1`, first.events.at(-2)!.id)
    await write(client, from.id, [{ n: 2 }])
    const later = () => again.events.slice(1).map(({ data }) => data.message)
    await eventually('a later line came', async () => later().includes('two is odd'))
    expect(again.events.slice(0, 1).map(({ id: next }) => next)).toEqual(rest)
    again.close()
  })

  it('ends with its pipeline', async () => {
    const { id } = await setUp()
    await waitForStatus(client, id, 'running')
    const listener = await listen<Line>(client, `/v1/pipelines/${id}/logs?follow=true`)
    expect((await client.call('DELETE', `/v1/pipelines/${id}`)).status).toBeOneOf([202, 204])
    await listener.ended
  })

  it('keeps a bounded number of lines of a module that logs for every record, and says how many are missing', async () => {
    // A round that has to be made again says and drops its lines again: of such a pipeline nothing can be said.
    await eventually('a pipeline whose lines are all told, once', async () => {
      const { from, to, logs } = await setUp()
      await write(client, from.id, numbers(1000, 6000))
      await waitForTotal(client, to.id, 5000)
      let more = 0
      // The dropped lines are told by the next one, which may be dropped itself.
      const told = await eventually('the missing lines are told', async () => {
        await write(client, from.id, [{ n: 2 }])
        more++
        const lines = (await logs()).filter(({ message }) => message.startsWith('line '))
        const missing = (await logs()).reduce((sum, { dropped = 0 }) => sum + dropped, 0)
        expect(lines.length).toBeLessThanOrEqual(250)
        return lines.length >= 50 && lines.length + missing >= 5000 && lines.length + missing
      })
      return told <= 5000 + more
    })
  })

  it('is for its account alone, and ends for a key that is revoked', async () => {
    const { id } = await setUp()
    await waitForStatus(client, id, 'running')
    const other = await loggedIn(service().accounts.other)
    expect((await other.call('GET', `/v1/pipelines/${id}/logs`)).status).toBe(404)
    await expect(listen(other, `/v1/pipelines/${id}/logs?follow=true`)).rejects.toThrow('404')
    const key = await client.call<{ id: string; api_key: string; api_secret: string }>('POST', '/v1/keys', {
      name: unique('key'),
      scopes: ['pipelines:read'],
    })
    const listener = await listen(await loggedIn(key.body), `/v1/pipelines/${id}/logs?follow=true`)
    expect((await client.call('DELETE', `/v1/keys/${key.body.id}`)).status).toBe(204)
    await listener.ended
  })
})

describe('what SmartModules measure', () => {
  it('is added up in the pipeline’s metrics, and in the processors’', async () => {
    type Metrics = { modules: { step: number; module: string; name: string; kind: string; times: number; sum: number }[] }
    // What a round measures that has to be made again is counted again: of such a pipeline nothing can be said.
    const { id, name, modules } = await eventually(
      'a pipeline that makes each round once',
      async () => {
        const { id, name, from, to } = await setUp()
        await write(client, from.id, numbers(0, 5))
        await write(client, from.id, numbers(5, 10))
        await waitForTotal(client, to.id, 9)
        const { modules, seen } = await eventually('all is counted', async () => {
          const { body } = await client.call<Metrics>('GET', `/v1/pipelines/${id}/metrics`)
          const seen = body.modules.find((each) => each.name === 'seen')?.sum ?? 0
          return seen >= 10 && { modules: body.modules, seen }
        })
        return seen === 10 && { id, name, modules }
      },
      120_000,
    )
    expect(modules).toEqual([
      { step: 1, module: name, name: 'huge', kind: 'count', times: 2, sum: Number.MAX_VALUE },
      { step: 1, module: name, name: 'n', kind: 'observe', times: 10, sum: 45 },
      { step: 1, module: name, name: 'seen', kind: 'count', times: 10, sum: 10 },
    ])
    type Timed = { steps: { nanoseconds: number | null }[] }
    const { steps } = (await client.call<Timed>('GET', `/v1/pipelines/${id}/accounting`)).body
    expect(steps.map(({ nanoseconds }) => nanoseconds !== null && nanoseconds > 0)).toEqual([true])
    const exposed = (await Promise.all(service().metricsUrls.map(async (url) => (await fetch(url)).text()))).join('\n')
    expect(exposed).toContain(`dps_module_counted{pipeline="${id}",step="1",name="seen"} 10`)
    expect(exposed).toMatch(new RegExp(`dps_step_seconds\\{pipeline="${id}",step="1"\\} 0\\.\\d+`))
    expect(exposed).not.toContain('name="dps_step_')
    expect(exposed).toContain(`dps_module_observed_sum{pipeline="${id}",step="1",name="n"} 45`)
  })
})

describe('the processor’s own log', () => {
  const written = () =>
    readdirSync(service().logFolder)
      .filter((file) => file.startsWith('processor'))
      .reduce((bytes, file) => bytes + statSync(join(service().logFolder, file)).size, 0)

  it('grows slowly, however much a pipeline logs', async () => {
    const before = written()
    const generator = { connector_id: 'conn_generator', config: { records_per_second: 5000, schema: WIDE } }
    const id = await connect(client, generator, [], { connector_id: 'conn_log', config: { sample: 100 } })
    const logs = async () => (await client.call<{ logs: Line[] }>('GET', `/v1/pipelines/${id}/logs?limit=1000`)).body.logs
    await eventually('rounds were logged', async () => (await logs()).length > 250)
    await client.call('POST', `/v1/pipelines/${id}/stop`)
    expect(written() - before).toBeLessThan(100_000)
  })
})

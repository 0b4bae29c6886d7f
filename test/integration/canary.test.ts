/** A version tried beside the running one: its differences are counted and shown, it is promoted, or rolled back by itself. */
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { openAccount } from '../harness/operator.ts'
import { createPipeline, createStream, readAll, waitForRevision, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { isOfCanary } from '../../shared/smartmodule/canary-share.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

const adds = (what: string) => ({
  language: 'typescript',
  code: `import { Record, Path, Segment, Kind, numberOf } from 'dps'
const n = new Path('n')
const sum = new Segment('sum')
export function map(record: Record): void {
  const slice = record.find(n)
  const value = numberOf(slice.start, slice.end)
  ${what}
}
`,
})
const OLD = adds('record.setText(sum, (value + 1).toString())')
const DIFFERS_BEYOND_5 = adds('record.setText(sum, (value > 5 ? value + 2 : value + 1).toString())')
const FAILS_BEYOND_5 = adds("if (value > 5) record.fail('too large')\n  else record.setText(sum, (value + 1).toString())")

type Example = {
  offset: number
  before: { outcome: string; out: { value: { json: unknown } }[] }
  after: Example['before'] & { error: unknown }
}
type Canary = {
  status: string
  status_reason: string | null
  shadow: boolean
  share: number | null
  handled: number
  handled_failed: number
  version: string
  running_version: string
  compared: number
  differing: number
  failed: number
  examples: Example[]
}

async function deploy(name: string, source: object): Promise<string> {
  const { status, body } = await patiently(() => client.call<{ id: string }>('POST', '/v1/smartmodules', { name, source }))
  expect([status, body]).toEqual([expect.toBeOneOf([200, 201]), expect.anything()])
  return body.id
}
/** SmartModules whose version 1.0.0 is OLD and 1.0.1 their key: compiling takes seconds, so each pair is deployed once. */
const pairs = new Map<object, Promise<{ name: string; module: string }>>()
async function deployPair(next: object) {
  const name = unique('canary')
  const module = await deploy(name, OLD)
  await deploy(name, next)
  return { name, module }
}

/** A running pipeline of one step in its first version, and a second version. */
async function setUp(next: ReturnType<typeof adds>, limits: { timeout_ms?: number } = {}) {
  if (!pairs.has(next)) pairs.set(next, deployPair(next))
  const { name, module } = await pairs.get(next)!
  const [from, to] = [
    await createStream(client, { n: 'integer' }, { partitions: 1, key: 'n' }),
    await createStream(client, { n: 'integer', sum: 'string?' }, { partitions: 1 }),
  ]
  const id = await createPipeline(client, from.id, [], to.id, { processors: [{ module_id: name, version: '1.0.0', ...limits }] })
  await write(
    client,
    from.id,
    Array.from({ length: 30 }, (_, n) => ({ n })),
  )
  await waitForTotal(client, to.id, 30)
  return { id, name, module, from, to }
}
const canaryOf = async (id: string) => (await client.call<Canary>('GET', `/v1/pipelines/${id}/canary`)).body
const patch = (id: string, canary: object | null) =>
  patiently(() =>
    client.call<{ canary?: unknown; error?: { details: { path: string; message: string }[] } }>('PATCH', `/v1/pipelines/${id}`, { canary }),
  )

describe('a canary in shadow', () => {
  it('counts and shows what would differ, delivers nothing, and is promoted', async () => {
    const { id, from, to } = await setUp(DIFFERS_BEYOND_5)
    const shownOf = async () => (await client.call<{ canary: unknown }>('GET', `/v1/pipelines/${id}`)).body.canary
    expect(await shownOf()).toBe(null)
    const started = await patch(id, { step: 1, version: '1.0.1' })
    const shown = { step: 1, version: '1.0.1', share: null, status: 'comparing' }
    expect([started.status, started.body.canary, await shownOf()]).toEqual([200, shown, shown])
    await eventually('the newest records are compared', async () => (await canaryOf(id)).compared === 30, 30_000)
    const found = await canaryOf(id)
    expect(found).toMatchObject({ status: 'comparing', differing: 24, failed: 0, version: '1.0.1', running_version: '1.0.0' })
    expect(found.examples.length).toBe(20)
    expect(found.examples[0]).toMatchObject({
      offset: expect.any(Number),
      before: { version: '1.0.0', out: [{ value: { json: { n: 6, sum: '7.0' } } }] },
      after: { version: '1.0.1', out: [{ value: { json: { n: 6, sum: '8.0' } } }] },
    })
    await write(client, from.id, [{ n: 1 }, { n: 100 }])
    await eventually('later records are compared', async () => (await canaryOf(id)).compared === 32, 30_000)
    expect((await canaryOf(id)).differing).toBe(25)
    await waitForTotal(client, to.id, 32)
    expect((await readAll(client, to.id)).find(({ n }) => n === 100)).toEqual({ n: 100, sum: '101.0' })
    const promoted = await client.call<{ revision: number; processors: { version: string }[]; canary: unknown }>(
      'POST',
      `/v1/pipelines/${id}/canary/promote`,
    )
    expect([promoted.body.canary, await shownOf()]).toEqual([null, null])
    expect([promoted.status, promoted.body.processors[0]!.version, promoted.body.revision]).toEqual([200, '1.0.1', 2])
    // What it found stays to be read; whatever else was changed since.
    expect(await canaryOf(id)).toMatchObject({
      status: 'promoted',
      version: '1.0.1',
      running_version: '1.0.0',
      compared: 32,
      differing: 25,
    })
    expect((await client.call<{ has_canary: boolean }>('GET', `/v1/pipelines/${id}/status`)).body.has_canary).toBe(false)
    expect((await client.call('POST', `/v1/pipelines/${id}/canary/promote`)).status).toBe(409)
    await eventually('a record is handled by the promoted version', async () => {
      await write(client, from.id, [{ n: 200 }])
      return (await readAll(client, to.id)).some(({ sum }) => sum === '202.0')
    })
  })

  it('is rolled back by itself when it fails records that the running version handles, or differs too often', async () => {
    const failing = await setUp(FAILS_BEYOND_5)
    expect((await patch(failing.id, { step: 1, version: '1.0.1' })).status).toBe(200)
    await eventually('it is rolled back', async () => (await canaryOf(failing.id)).status === 'rolled_back', 30_000)
    expect(await canaryOf(failing.id)).toMatchObject({
      failed: 24,
      status_reason: 'failed 24 of 30 records that the running version handles; 0 of them are allowed',
    })
    const differing = await setUp(DIFFERS_BEYOND_5)
    expect((await patch(differing.id, { step: 1, version: '1.0.1', max_differing: 0.5 })).status).toBe(200)
    await eventually('it is rolled back', async () => (await canaryOf(differing.id)).status === 'rolled_back', 30_000)
    expect((await canaryOf(differing.id)).status_reason).toBe('differs in 24 of 30 records; 0.5 of them are allowed')
    expect((await client.call('GET', `/v1/pipelines/${differing.id}`)).body).toMatchObject({ canary: { status: 'rolled_back' } })
    const ended = await patch(differing.id, null)
    expect([ended.status, ended.body.canary]).toEqual([200, null])
    expect((await client.call('GET', `/v1/pipelines/${differing.id}/canary`)).status).toBe(404)
    expect((await client.call('POST', `/v1/pipelines/${differing.id}/canary/promote`)).status).toBe(404)
  })

  it('compares records of any size whole, and takes a version that does not return for one that fails', async () => {
    const name = unique('canary')
    const [from, to] = [
      await createStream(client, { n: 'integer', text: 'string?' }, { partitions: 2 }),
      await createStream(client, { n: 'integer', text: 'string?' }, { partitions: 2 }),
    ]
    const keeps = {
      language: 'typescript',
      code: `import { Record } from 'dps'\nexport function filterMap(record: Record): bool { return true }`,
    }
    const cuts = adds('').code.replace(
      /export function map[^]*/,
      `export function map(record: Record): void {
  const out = record.writer()
  out.bytes(record.start, record.end - record.start)
  if (record.end - record.start > 5000) store<u8>(out.at - 3, 66)
  record.commit(out)
}`,
    )
    const hangs = cuts.replace('const out', 'while (record.end - record.start > 5000) {}\n  const out')
    for (const source of [keeps, { language: 'typescript', code: cuts }, { language: 'typescript', code: hangs }])
      await client.call('POST', '/v1/smartmodules', { name, source, version: undefined })
    const id = await createPipeline(client, from.id, [{ name: `${name}`, config: {} }], to.id, { autostart: false })
    await client.call('PATCH', `/v1/pipelines/${id}`, { processors: [{ module_id: name, version: '1.0.0', timeout_ms: 300 }] })
    await client.call('POST', `/v1/pipelines/${id}/start`)
    await write(client, from.id, [{ n: 1 }, { n: 2, text: 'A'.repeat(600_000) }, { n: 3 }])
    await waitForTotal(client, to.id, 3)
    expect((await patch(id, { step: 1, version: '1.0.1' })).status).toBe(200)
    await eventually('all are compared', async () => (await canaryOf(id)).compared === 3, 30_000)
    expect(await canaryOf(id)).toMatchObject({ differing: 1, failed: 0, status: 'comparing' })
    expect((await patch(id, { step: 1, version: '1.0.2' })).status).toBe(200)
    await eventually('it is rolled back', async () => (await canaryOf(id)).status === 'rolled_back', 240_000)
    expect((await canaryOf(id)).failed).toBe(1)
    expect((await client.call('POST', `/v1/pipelines/${id}/canary/promote`)).status).toBe(409)
  })

  it('is refused where it names no step or version, or other members; and ends with the steps that it was compared with', async () => {
    const { id } = await setUp(DIFFERS_BEYOND_5)
    const paths = async (canary: object) => (await patch(id, canary)).body.error?.details.map(({ path }) => path)
    expect(await paths({ step: 2, version: '1.0.1' })).toEqual(['/canary/step'])
    expect(await paths({ step: 1, version: '9.9.9' })).toEqual(['/canary/version'])
    expect(await paths({ step: 0, version: '1.0.1' })).toEqual(['/canary/step'])
    expect(await paths({ step: 1, version: '1.0.0' })).toEqual(['/canary/version'])
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { canary: null, tasks: 1 })).status).toBe(400)
    expect((await patch(id, { step: 1, version: '1.0.1' })).status).toBe(200)
    const stranger = (await openAccount('developer')).client
    expect((await stranger.call('GET', `/v1/pipelines/${id}/canary`)).status).toBe(404)
    expect((await stranger.call('PATCH', `/v1/pipelines/${id}`, { canary: null })).status).toBe(404)
    expect((await stranger.call('POST', `/v1/pipelines/${id}/canary/promote`)).status).toBe(404)
    expect((await canaryOf(id)).status).toBe('comparing')
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { processors: [] })).status).toBe(200)
    expect((await client.call('GET', `/v1/pipelines/${id}/canary`)).status).toBe(404)
  })
})

describe('a canary with a share', () => {
  const numbers = (from: number, count: number) => Array.from({ length: count }, (_, index) => ({ n: from + index }))
  const isIts = (n: number) => isOfCanary(Buffer.from(String(n)), 0n, 0.4)
  const ALL_DIFFER = adds('record.setText(sum, (value + 2).toString())')
  // Not at the records before the canary: it is compared over those too, and would be rolled back before a task has it.
  const FAILS_BEYOND_500 = adds("if (value > 500) record.fail('too large')\n  else record.setText(sum, (value + 1).toString())")
  const HANGS = adds('while (value > 500) {}\n  record.setText(sum, (value + 1).toString())')
  /**
   * Waits until its tasks say that the canary handled (or failed) records, and gives how many were written for that beside the others. It
   * can't wait for an exact count: a task that starts anew before it reports counts from zero, and one that has to do a round again counts
   * it twice.
   */
  async function untilItCounts(id: string, from: string, record: { n: number }, count: 'handled' | 'handled_failed' = 'handled') {
    let written = 0
    await eventually(`the tasks report what it ${count}`, async () => {
      const canary = await canaryOf(id)
      expect([canary.status, canary.status_reason]).toEqual(['comparing', null])
      if (canary[count] > 0) return true
      await write(client, from, [record])
      return void written++
    })
    return written
  }
  const outOf = async (stream: string) => new Map((await readAll(client, stream)).map(({ n, sum }) => [Number(n), sum]))

  it('handles the records of its keys and no others, is shown at each record, and is promoted', async () => {
    const { id, from, to } = await setUp(ALL_DIFFER)
    const patched = await client.call<{ revision: number }>('PATCH', `/v1/pipelines/${id}`, {
      canary: { step: 1, version: '1.0.1', share: 0.4 },
    })
    expect([patched.status, patched.body.revision]).toEqual([200, 2])
    await waitForRevision(client, id, 2)
    await write(client, from.id, numbers(1000, 100))
    await waitForTotal(client, to.id, 130)
    const out = await outOf(to.id)
    for (const { n } of numbers(1000, 100)) expect([n, out.get(n)]).toEqual([n, `${n + (isIts(n) ? 2 : 1)}.0`])
    // In the order of the source, whichever version handled them.
    expect((await readAll(client, to.id)).map(({ n }) => Number(n))).toEqual([...numbers(0, 30), ...numbers(1000, 100)].map(({ n }) => n))
    const more = await untilItCounts(
      id,
      from.id,
      numbers(1000, 100).find(({ n }) => isIts(n))!,
    )
    expect(await canaryOf(id)).toMatchObject({ shadow: false, share: 0.4, handled_failed: 0, status: 'comparing' })
    for (const n of [numbers(1000, 100).find((each) => isIts(each.n))!.n, numbers(1000, 100).find((each) => !isIts(each.n))!.n]) {
      const { body } = await client.call<{ steps: { version: string }[] }>(
        'GET',
        `/v1/pipelines/${id}/explain?partition=0&offset=${30 + n - 1000}`,
      )
      expect([n, body.steps[0]!.version]).toEqual([n, isIts(n) ? '1.0.1' : '1.0.0'])
    }
    expect((await client.call<{ revision: number }>('POST', `/v1/pipelines/${id}/canary/promote`)).body.revision).toBe(3)
    await waitForRevision(client, id, 3)
    await write(client, from.id, numbers(2000, 20))
    await waitForTotal(client, to.id, 150 + more)
    const after = await outOf(to.id)
    for (const { n } of numbers(2000, 20)) expect(after.get(n)).toBe(`${n + 2}.0`)
    expect(await canaryOf(id)).toMatchObject({ status: 'promoted', share: 0.4, handled_failed: 0 })
    expect((await canaryOf(id)).handled).toBeGreaterThan(0)
  })

  it('that fails a record loses its keys before a record is lost to it', async () => {
    const { id, from, to } = await setUp(FAILS_BEYOND_500)
    expect((await patch(id, { step: 1, version: '1.0.1', share: 0.4 })).status).toBe(200)
    await waitForRevision(client, id, 2)
    const passing = numbers(0, 6).find(({ n }) => isIts(n))!
    await write(client, from.id, [passing])
    await waitForTotal(client, to.id, 31)
    type Explained = { handled: boolean; revision: number; outcome: string; uncertain?: string; steps: { version: string }[] }
    const explained = async (offset: number) =>
      (await client.call<Explained>('GET', `/v1/pipelines/${id}/explain?partition=0&offset=${offset}`)).body
    await eventually('the record is committed', async () => (await explained(30)).handled)
    const first = 31 + (await untilItCounts(id, from.id, passing))
    await write(client, from.id, numbers(1000, 199))
    await eventually('it is rolled back', async () => (await canaryOf(id)).status === 'rolled_back', 30_000)
    expect((await canaryOf(id)).status_reason).toMatch(
      /^failed 1 of the \d+ records that it handled in a task; 0 of them are allowed$|^failed \d+ of \d+ records /,
    )
    const why = /^the canary is taken off \(failed 1 of \d+ records, the last with record_failed: too large\)/
    // The comparison may have met a failing record before a task did.
    if ((await canaryOf(id)).status_reason?.includes('in a task'))
      await eventually('the log has the failure', async () => {
        const { body } = await client.call<{ logs: { message: string }[] }>('GET', `/v1/pipelines/${id}/logs?level=warn`)
        return body.logs.some(({ message }) => why.test(message))
      })
    await waitForRevision(client, id, 3)
    // What it handled stays to be read, though the tasks of the next revision count from zero.
    expect((await canaryOf(id)).handled).toBeGreaterThanOrEqual(1)
    await waitForTotal(client, to.id, first + 199)
    const out = await outOf(to.id)
    for (const { n } of numbers(1000, 199)) expect(out.get(n)).toBe(`${n + 1}.0`)
    expect((await client.call('POST', `/v1/pipelines/${id}/canary/promote`)).status).toBe(409)
    // It would have had a dead letter, or taken the canary off: the running version handled it.
    const failing = await explained(first + numbers(1000, 199).findIndex(({ n }) => isIts(n)))
    expect([failing.outcome, failing.steps[0]!.version, failing.uncertain]).toEqual(['delivered', '1.0.0', undefined])
    expect(await explained(30)).toMatchObject({
      revision: 2,
      outcome: 'delivered',
      steps: [{ version: '1.0.1' }],
      uncertain: expect.stringContaining('1.0.0 handled it in place of 1.0.1 if a task had taken the canary off by then'),
    })
  })

  it('is not judged by what the one before it did', async () => {
    const { id, name, from, to } = await setUp(FAILS_BEYOND_500)
    await deploy(name, ALL_DIFFER)
    expect((await patch(id, { step: 1, version: '1.0.1', share: 0.4 })).status).toBe(200)
    await waitForRevision(client, id, 2)
    await write(client, from.id, numbers(1000, 50))
    await eventually('it is rolled back', async () => (await canaryOf(id)).status === 'rolled_back', 30_000)
    // Also those of the round that stopped it, which the running version then handled.
    const [, failed, of] = /^failed (\d+) of the (\d+) records/.exec((await canaryOf(id)).status_reason ?? '')!.map(Number)
    expect(failed).toBeGreaterThan(0)
    expect(await canaryOf(id)).toMatchObject({ handled: of, handled_failed: failed })
    await waitForTotal(client, to.id, 80)
    // Without a version it is the newest one.
    expect((await patch(id, { step: 1, share: 0.4 })).body.canary).toMatchObject({ version: '1.0.2' })
    await waitForRevision(client, id, 4)
    // What the tasks say is looked at within this time.
    await sleep(6000)
    expect(await canaryOf(id)).toMatchObject({ status: 'comparing', handled: 0, handled_failed: 0 })
    await write(client, from.id, numbers(2000, 50))
    await waitForTotal(client, to.id, 130)
    await untilItCounts(
      id,
      from.id,
      numbers(2000, 50).find(({ n }) => isIts(n))!,
    )
    expect(await canaryOf(id)).toMatchObject({ status: 'comparing', handled_failed: 0 })
  })

  it('may fail as many as it was allowed to: they are dead letters with its version', async () => {
    const { id, from, to } = await setUp(FAILS_BEYOND_500)
    expect((await patch(id, { step: 1, version: '1.0.1', share: 0.4, max_failing: 1 })).status).toBe(200)
    await waitForRevision(client, id, 2)
    await write(client, from.id, numbers(1000, 50))
    const its = numbers(1000, 50).filter(({ n }) => isIts(n))
    const more = await untilItCounts(id, from.id, its[0]!, 'handled_failed')
    await waitForTotal(client, to.id, 80 - its.length)
    type Letters = { dead_letters: { offset: number; version: string }[] }
    const lettersOf = async () =>
      (await client.call<Letters>('GET', `/v1/pipelines/${id}/dead-letters?page_size=100`)).body.dead_letters.sort(
        (a, b) => a.offset - b.offset,
      )
    await eventually('each failure is a dead letter', async () => (await lettersOf()).length === its.length + more)
    expect((await lettersOf()).map(({ offset, version }) => [offset, version])).toEqual(
      [...its.map(({ n }) => n - 1000 + 30), ...Array.from({ length: more }, (_, index) => 80 + index)].map((offset) => [offset, '1.0.1']),
    )
    expect((await outOf(to.id)).size).toBe(80 - its.length)
    expect((await canaryOf(id)).status).toBe('comparing')
  })

  it('that does not return is taken back, and the pipeline goes on', async () => {
    const { id, from, to } = await setUp(HANGS, { timeout_ms: 300 })
    expect((await patch(id, { step: 1, version: '1.0.1', share: 0.4 })).status).toBe(200)
    await waitForRevision(client, id, 2)
    await write(client, from.id, numbers(1000, 50))
    await eventually('it is rolled back', async () => (await canaryOf(id)).status === 'rolled_back', 120_000)
    await waitForStatus(client, id, 'running')
    await write(client, from.id, numbers(2000, 10))
    await eventually('later records arrive', async () => (await outOf(to.id)).get(2009) === '2010.0', 60_000)
  })

  it('ends with null, and is refused beside shadow or for a share of nothing', async () => {
    const { id, from, to } = await setUp(ALL_DIFFER)
    const paths = async (canary: object) => (await patch(id, canary)).body.error?.details.map(({ path }) => path)
    expect(await paths({ step: 1, version: '1.0.1', share: 0.4, shadow: true })).toEqual(['/canary/share'])
    expect(await paths({ step: 1, version: '1.0.1', share: 0 })).toEqual(['/canary/share'])
    expect(await paths({ step: 1, version: '1.0.1', share: 1 })).toEqual(['/canary/share'])
    await patch(id, { step: 1, version: '1.0.1', share: 0.4 })
    expect((await patch(id, null)).status).toBe(200)
    await waitForRevision(client, id, 3)
    await write(client, from.id, numbers(1000, 50))
    await waitForTotal(client, to.id, 80)
    const out = await outOf(to.id)
    for (const { n } of numbers(1000, 50)) expect(out.get(n)).toBe(`${n + 1}.0`)
  })
})

describe('two versions', () => {
  it('are compared over the records of a stream', async () => {
    const { module, from } = await setUp(DIFFERS_BEYOND_5)
    type Compared = { compared: number; differing: number; failed: number; differences: Example[] }
    const compare = (body: object) =>
      patiently(() => client.call<Compared>('POST', `/v1/smartmodules/${module}/compare`, { stream_id: from.id, ...body }))
    const { status, body } = await compare({ before: { version: '1.0.0' }, after: {}, from: 'earliest', limit: 10 })
    expect([status, body.compared, body.differing, body.failed]).toEqual([200, 10, 4, 0])
    expect(body.differences.map(({ offset }) => offset)).toEqual([6, 7, 8, 9])
    expect((await compare({ before: { version: '1.0.0' }, after: { version: '1.0.0' } })).body.differing).toBe(0)
    expect((await compare({ before: { version: '7.0.0' }, after: {} })).status).toBe(400)
  })
})

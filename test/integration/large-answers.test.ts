/** Answers that show records are limited in bytes, however large the records are, and say when something is left out. */
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { connect, stream } from '../harness/connectors.ts'
import { deployModule, filterOverN } from '../harness/modules.ts'
import { createStream, write } from '../harness/pipelines.ts'

const ANSWER_BYTES_MAX = 17 << 20
const RECORDS = 30
const STEPS = 16

let client: Client
let id: string
let source: string
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  const from = await createStream(client, { n: 'integer', text: 'string' }, { partitions: 1 })
  source = from.id
  const to = await createStream(client, { n: 'integer', text: 'string' })
  // The last step fails every record that the others let pass.
  const module = await deployModule(client, filterOverN(`record.fail('too large for us')\n  return true`))
  const filter = { name: 'dps/filter', config: { field: 'n', operator: 'gte', value: 0 } }
  const steps = [...Array.from({ length: STEPS - 1 }, () => filter), { name: module.name, config: {} }]
  id = await connect(client, stream(from.id), steps, stream(to.id), { failure_threshold: 1 })
  for (let n = 0; n < RECORDS; n++) await write(client, from.id, [{ n, text: String(n % 10).repeat(900_000) }])
})

type StreamPage = { data: { n: number }[]; pagination: { has_more?: true; next_cursor?: string } }

async function asked<T>(method: string, path: string, body?: unknown): Promise<{ body: T; bytes: number }> {
  const answer = await client.call<T>(method, path, body)
  expect(answer.status).toBe(200)
  return { body: answer.body, bytes: JSON.stringify(answer.body).length }
}

describe('large records', () => {
  it.each(['page=1', 'page=1&order=desc', 'order=desc', 'partition=0'])(
    'are never left out of numbered pages: one that is too large is refused (%s)',
    async (query) => {
      const path = `/v1/streams/${source}/data?${query}`
      const { status, body } = await client.call<{ error?: { details: unknown } }>('GET', `${path}&limit=20`)
      expect([status, body.error?.details]).toEqual([
        400,
        [{ path: '/query/limit', message: expect.stringContaining('larger than 16 MiB') }],
      ])
      const small = await asked<StreamPage>('GET', `${path}&limit=15`)
      expect(small.body.data).toHaveLength(15)
    },
  )

  it('are all read by cursor after a first page that ended early', async () => {
    const read: number[] = []
    let pages = 0
    for (let cursor = '', more: true | undefined = true; more; pages++) {
      const { body, bytes } = await asked<StreamPage>('GET', `/v1/streams/${source}/data?limit=30${cursor}`)
      expect(bytes).toBeLessThan(ANSWER_BYTES_MAX + 900_000)
      read.push(...body.data.map(({ n }) => n))
      cursor = `&cursor=${body.pagination.next_cursor}`
      more = body.pagination.has_more
    }
    expect([pages, read]).toEqual([2, Array.from({ length: RECORDS }, (_, n) => n)])
  })

  it('are listed as dead letters over several pages, each once', async () => {
    type Page = { dead_letters: { id: string; offset: number; value: { json: { n: number } } }[]; total: number; next_cursor?: string }
    const path = `/v1/pipelines/${id}/dead-letters?page_size=100`
    await eventually('all records have failed', async () => (await client.call<Page>('GET', path)).body.total === RECORDS, 30_000)
    const offsets: number[] = []
    let pages = 0
    for (let cursor = ''; ;) {
      const { body, bytes } = await asked<Page>('GET', `${path}${cursor}`)
      expect(bytes).toBeLessThan(ANSWER_BYTES_MAX)
      for (const letter of body.dead_letters) {
        expect(letter.value.json.n).toBe(letter.offset)
        offsets.push(letter.offset)
      }
      pages++
      if (body.next_cursor === undefined) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(pages).toBeGreaterThan(1)
    expect(offsets.toSorted((a, b) => a - b)).toEqual(Array.from({ length: RECORDS }, (_, offset) => offset))
  })

  it.each(['latest', 'earliest'] as const)('are previewed from the %s up to the answer’s limit, marked as truncated', async (from) => {
    type Preview = { records: { offset: number }[]; truncated?: true }
    const { body, bytes } = await asked<Preview>('POST', `/v1/pipelines/${id}/preview`, { from, limit: 100 })
    expect(bytes).toBeLessThan(ANSWER_BYTES_MAX)
    expect(body.truncated).toBe(true)
    expect(body.records.length).toBeGreaterThan(0)
    expect(body.records.at(from === 'latest' ? -1 : 0)!.offset).toBe(from === 'latest' ? RECORDS - 1 : 0)
    const small = await asked<Preview>('POST', `/v1/pipelines/${id}/preview`, { from, limit: 3, processors: [] })
    expect([small.body.records.length, small.body.truncated]).toEqual([3, undefined])
  })

  it('are previewed as dead letters up to the answer’s limit, those that failed last first', async () => {
    type Preview = { records: { offset: number }[]; truncated?: true; total: number }
    await eventually('all are dead letters', async () => {
      const { body } = await client.call<{ total: number }>('GET', `/v1/pipelines/${id}/dead-letters?page_size=1`)
      return body.total === RECORDS
    })
    const { body, bytes } = await asked<Preview>('POST', `/v1/pipelines/${id}/preview`, { dead_letters: {}, processors: [], limit: 100 })
    expect(bytes).toBeLessThan(ANSWER_BYTES_MAX)
    expect([body.truncated, body.total]).toEqual([true, RECORDS])
    expect(body.records.length).toBeGreaterThan(1)
    expect(body.records.length).toBeLessThan(RECORDS)
    const small = await asked<Preview>('POST', `/v1/pipelines/${id}/preview`, { dead_letters: {}, processors: [], limit: 3 })
    expect([small.body.records.length, small.body.truncated]).toEqual([3, undefined])
  })

  it('are truncated in an explanation when sixteen steps exceed the limit of the answer', async () => {
    type Value = { base64: string; truncated?: true }
    type Explained = { input: { value: Value }; steps: { in: { value: Value }[] }[] }
    const { body, bytes } = await asked<Explained>('GET', `/v1/pipelines/${id}/explain?partition=0&offset=5`)
    expect(bytes).toBeLessThan(ANSWER_BYTES_MAX)
    expect(body.input.value.truncated).toBeUndefined()
    const values = body.steps.flatMap((step) => step.in.map(({ value }) => value))
    expect(values).toHaveLength(STEPS)
    expect(values.some(({ truncated }) => truncated)).toBe(true)
  })
})

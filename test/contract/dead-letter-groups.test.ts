/** Groups of dead letters: each is what failed alike, and a redrive by its filter takes exactly its dead letters. */
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { createPipeline, createStream, write, type Step } from '../harness/pipelines.ts'

type Group = { step: number; module: string; version: string; error_code: string; pattern: string | null; count: number }

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

const groupsOf = async (id: string, query = ''): Promise<Group[]> => {
  const { groups } = (await client.call<{ groups: Group[] }>('GET', `/v1/pipelines/${id}/dead-letters/groups${query}`)).body
  return groups.toSorted((a, b) => (a.pattern ?? '').localeCompare(b.pattern ?? ''))
}

/** The filter of the group, as it is documented. */
const filterOf = ({ step, module, version, error_code, pattern }: Group) => ({
  step,
  module,
  version,
  error: error_code,
  ...(pattern === null ? {} : { pattern }),
})

const redrive = async (id: string, group: Group, dry_run = false): Promise<number> =>
  (await client.call<{ count: number }>('POST', `/v1/pipelines/${id}/dead-letters/redrive`, { filter: filterOf(group), dry_run })).body
    .count

/** A pipeline in which all of the records have failed. */
async function failing(schema: Record<string, string>, step: Step, records: object[]): Promise<string> {
  const [from, to] = [await createStream(client, schema, { partitions: 1 }), await createStream(client, schema)]
  const id = await createPipeline(client, from.id, [step], to.id, { failure_threshold: 1 })
  await write(client, from.id, records)
  await eventually('all have failed', async () => (await groupsOf(id)).reduce((sum, { count }) => sum + count, 0) === records.length)
  return id
}

describe('failures of one step with the same code', () => {
  it('are groups by what their messages have in common, each of which is listed and redriven alone', async () => {
    const fields = { id: 'integer', day: 'date' }
    const id = await failing({ id: 'string', day: 'string' }, { name: 'dps/cast', config: { fields } }, [
      { id: 'three', day: '2026-11-22' },
      { id: '4', day: 'yesterday' },
      { id: 'five', day: '2026-11-22' },
    ])
    const groups = await groupsOf(id)
    expect(groups).toMatchObject([
      { count: 1, pattern: 'the field day is not a date: …; expected YYYY-MM-DD' },
      { count: 2, pattern: 'the field id is not an integer: …' },
    ])
    const [days, ids] = groups as [Group, Group]
    expect([await redrive(id, days, true), await redrive(id, ids, true)]).toEqual([1, 2])
    const { version, error_code } = ids
    const query = new URLSearchParams({ step: '1', module: 'dps/cast', version, error: error_code, pattern: ids.pattern! })
    const listed = await client.call<{ total: number; dead_letters: { offset: number }[] }>(
      'GET',
      `/v1/pipelines/${id}/dead-letters?${query}`,
    )
    expect([listed.body.total, listed.body.dead_letters.map(({ offset }) => offset)]).toEqual([2, [0, 2]])
    expect(await redrive(id, days)).toBe(1)
    await eventually('it has failed again', async () => (await groupsOf(id)).length === 2)
    const letters = await client.call<{ dead_letters: { offset: number; redrives: number }[] }>('GET', `/v1/pipelines/${id}/dead-letters`)
    const redrives = letters.body.dead_letters.filter((letter) => letter.redrives > 0).map(({ offset }) => offset)
    expect(redrives).toEqual([1])
  })

  it('are one group where almost every message is another one', async () => {
    const name = unique('customers')
    const code = `import { Path, Record } from 'dps'
const n = new Path('n')
export function filter(record: Record): bool {
  record.fail('no such customer ' + 'abcdefghijkl'.charAt(<i32>record.integer(n)), 40)
  return true
}
`
    const source = { language: 'typescript', code }
    expect((await patiently(() => client.call('POST', '/v1/smartmodules', { name, source }))).status).toBe(201)
    const records = Array.from({ length: 12 }, (_, n) => ({ n }))
    const id = await failing({ n: 'integer' }, { name, config: {} }, records)
    const groups = await groupsOf(id)
    expect(groups).toMatchObject([{ count: 12, pattern: null, module: name, error_code: 'module_error_40' }])
    expect(await redrive(id, groups[0]!, true)).toBe(12)
  })
})

describe('a pattern in a filter', () => {
  it('is a text of at most 200 characters', async () => {
    const { id } = await createStream(client, { n: 'integer' })
    const pipeline = await createPipeline(client, id, [], (await createStream(client, { n: 'integer' })).id, { autostart: false })
    const path = `/v1/pipelines/${pipeline}/dead-letters`
    for (const [pattern, status] of [
      ['…'.repeat(200), 200],
      ['…'.repeat(201), 400],
      ['', 400],
    ] as const) {
      const listed = await client.call('GET', `${path}?pattern=${encodeURIComponent(pattern)}`)
      const redriven = await client.call('POST', `${path}/redrive`, { filter: { pattern }, dry_run: true })
      expect([pattern.length, listed.status, redriven.status]).toEqual([pattern.length, status, status])
    }
  })
})

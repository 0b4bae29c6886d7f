/** The overview of an account, and dead letters by what they have in common. */
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, unique, type Client } from '../harness/client.ts'
import { openAccount } from '../harness/operator.ts'
import { createPipeline, createStream, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  ;({ client } = await openAccount('enterprise'))
})

type Glance = { id: string; attention: string | null; status: string; dead_letters: number; lag: number; records_per_second: number }
type Overview = { pipelines: Glance[]; totals: { pipelines: number; attention: number; dead_letters: number } }
const overview = async () => (await client.call<Overview>('GET', '/v1/overview')).body

async function deploy(): Promise<string> {
  const name = unique('fails')
  const code = `import { Path, Record } from 'dps'
const n = new Path('n')
export function filter(record: Record): bool {
  if (record.integer(n) % 5 == 0) record.fail('a five', 40)
  else if (record.integer(n) % 7 == 0) record.fail('a seven', 41)
  return true
}
`
  const deployed = await client.call('POST', '/v1/smartmodules', { name, source: { language: 'typescript', code } })
  expect(deployed.status).toBe(201)
  return name
}

describe('the overview', () => {
  it('has every pipeline, and those first that need attention', async () => {
    expect(await overview()).toMatchObject({ pipelines: [], totals: { pipelines: 0, attention: 0 } })
    const streams = await Promise.all(Array.from({ length: 4 }, () => createStream(client, { n: 'integer' }, { partitions: 1 })))
    const [from, fine, failing, stopped] = streams.map(({ id }) => id) as [string, string, string, string]
    const module = await deploy()
    const quiet = await createPipeline(client, from, [], fine)
    const sick = await createPipeline(client, from, [{ name: module, config: {} }], failing)
    const still = await createPipeline(client, from, [], stopped, { autostart: false })
    await write(
      client,
      from,
      Array.from({ length: 20 }, (_, n) => ({ n })),
    )
    await waitForTotal(client, failing, 14)
    await waitForTotal(client, fine, 20)
    // Dead letters and the reports of tasks arrive by topics of their own, in any order.
    const { pipelines, totals } = await eventually('the dead letters are counted, and all tasks have reported', async () => {
      const found = await overview()
      const isExpected = ({ id, status, attention, lag }: Glance) =>
        status === (id === still ? 'created' : 'running') && attention === (id === sick ? '6 dead letters wait' : null) && lag === 0
      return found.pipelines.every(isExpected) && found
    })
    expect(pipelines.map(({ id }) => id)[0]).toBe(sick)
    expect(pipelines[0]).toMatchObject({ status: 'running', attention: '6 dead letters wait', dead_letters: 6 })
    expect(pipelines.find(({ id }) => id === quiet)).toMatchObject({ status: 'running', attention: null, lag: 0 })
    expect(pipelines.find(({ id }) => id === still)).toMatchObject({ status: 'created', attention: null })
    expect(totals).toMatchObject({ pipelines: 3, attention: 1 })

    type Groups = { groups: { step: number; module: string; error_code: string; count: number; message: string; latest_id: string }[] }
    const { groups } = (await client.call<Groups>('GET', `/v1/pipelines/${sick}/dead-letters/groups`)).body
    expect(groups).toMatchObject([
      { step: 1, module, error_code: 'module_error_40', count: 4, message: 'a five' },
      { step: 1, module, error_code: 'module_error_41', count: 2, message: 'a seven' },
    ])
    const latest = await client.call<{ offset: number }>('GET', `/v1/pipelines/${sick}/dead-letters/${groups[0]!.latest_id}`)
    expect(latest.body.offset).toBe(15)
    const none = await client.call<Groups>('GET', `/v1/pipelines/${sick}/dead-letters/groups?status=redriven`)
    expect(none.body.groups).toEqual([])
  })
})

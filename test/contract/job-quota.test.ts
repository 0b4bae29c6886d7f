/** Jobs against the quota `tasks`. */
import { describe, expect, it } from 'vitest'
import { eventually } from '../harness/client.ts'
import { openAccount, setQuotas } from '../harness/operator.ts'
import { createPipeline, createStream } from '../harness/pipelines.ts'
import { setStatus } from '../harness/rows.ts'

describe('quotas', () => {
  it('count a job as a task until it has ended', async () => {
    const { account, client } = await openAccount('enterprise')
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id, { autostart: false })
    const used = async () => (await client.call<{ quotas: { tasks: { used: number } } }>('GET', '/v1/account')).body.quotas.tasks.used
    const replay = () => client.call<{ id: string }>('POST', `/v1/pipelines/${id}/replay`, { from: 'earliest', to: 'latest' })
    const before = await used()
    await setQuotas(account.account_id, { tasks: before + 1 })
    const first = await replay()
    expect(first.status).toBe(202)
    await eventually('the replay has ended', async () => (await client.call('GET', `/v1/jobs/${first.body.id}`)).body.status === 'finished')
    expect(await used()).toBe(before)
    for (const status of ['starting', 'running', 'cancelling']) {
      // Its processor may say once more that it has finished.
      await eventually(`${status} counts`, async () => {
        await setStatus('jobs', first.body.id, status)
        return (await used()) === before + 1
      })
      expect((await replay()).body.error?.code).toBe('quota_exceeded')
    }
    await setStatus('jobs', first.body.id, 'finished')
    expect((await replay()).status).toBe(202)
  })
})

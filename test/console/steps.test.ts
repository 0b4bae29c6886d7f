/** What the console lets one do with a step: try another config of it beside the running one, in a real browser. */
import { describe, expect, it } from 'vitest'
import { hasBrowser, useConsole } from '../harness/browser.ts'
import { service, unique } from '../harness/client.ts'
import { createPipeline, createStream, waitForStatus, write } from '../harness/pipelines.ts'
import { limitMs } from '../harness/machine-speed.ts'

const { client, inConsole } = await useConsole()
const at = (path: string) => `${service().apiUrl}/console/${path}`

describe.skipIf(!hasBrowser)('a canary', () => {
  it('has another config of the running version, which is compared and promoted', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }, { partitions: 1 }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [{ name: 'dps/filter', config: { field: 'n', operator: 'gt', value: 10 } }], to.id)
    await waitForStatus(client, id, 'running')
    await write(client, from.id, [{ n: 5 }, { n: 50 }])
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}`))
      await page.locator('summary', { hasText: 'Try another version or config' }).click()
      const config = page.getByLabel(/^Config/)
      expect(JSON.parse(await config.inputValue())).toEqual({ field: 'n', operator: 'gt', value: 10 })
      const tryIt = page.getByRole('button', { name: 'Try it' })
      await page.getByText('Choose another version, or change the config, first.').waitFor()
      expect(await tryIt.isEnabled()).toBe(false)
      await config.fill('{"field": "n", "operator": "gt", "value": 1}')
      await tryIt.click()
      const differing = page.getByRole('region', { name: 'Records that would differ' })
      await differing.getByText('{"n":5}').waitFor({ timeout: limitMs(40_000) })
      await page.getByText('with another config').waitFor()
      await page.getByRole('button', { name: 'Promote the config' }).click()
      await page.getByRole('button', { name: 'Promote the config' }).waitFor({ state: 'detached' })
    })
    const { body } = await client.call<{ processors: { config: unknown }[] }>('GET', `/v1/pipelines/${id}`)
    expect(body.processors[0]!.config).toEqual({ field: 'n', operator: 'gt', value: 1 })
  })
})

/** What the console's forms keep, send and ask while one fills them in, in a real browser. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, inConsoleOf, openBrowser, type Tab } from '../harness/browser.ts'
import { service, unique, type Client } from '../harness/client.ts'
import { openAccount } from '../harness/operator.ts'
import { createPipeline, createStream, type Step } from '../harness/pipelines.ts'

let browser: Browser
let client: Client
let accountId: string
beforeAll(async () => {
  if (!hasBrowser) return
  browser = await openBrowser()
  const opened = await openAccount('enterprise')
  client = opened.client
  accountId = opened.account.account_id
})
afterAll(() => browser?.close())

const inConsole = (work: (tab: Tab) => Promise<void>) => inConsoleOf(browser, accountId, work)
const at = (path: string) => `${service().apiUrl}/console/${path}`

const filter = (value: number): Step => ({ name: 'dps/filter', config: { field: 'n', operator: 'gt', value } })

/** A pipeline that is not running, which its own form changes. */
async function stopped(name: string, steps: Step[], more: Record<string, unknown> = {}): Promise<string> {
  const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
  return createPipeline(client, from.id, steps, to.id, { name, autostart: false, ...more })
}

const valueOf = (page: Page, step: number) => page.getByRole('group', { name: `Step ${step}` }).getByLabel(/^Value/)

describe.skipIf(!hasBrowser)('the form of a pipeline', () => {
  it('leaves the policy of its steps to the pipeline', async () => {
    const name = unique('policies')
    const id = await stopped(name, [filter(10)], { on_error: { policy: 'skip' } })
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/change`))
      await valueOf(page, 1).fill('100')
      const policy = page.getByRole('group', { name: 'Step 1' }).getByLabel('A record that fails')
      expect(await policy.locator('option:checked').innerText()).toBe('the pipeline’s default')
      await page.getByRole('button', { name: 'Show what it changes' }).click()
      await page.getByRole('button', { name: 'Save it' }).click()
      await page.getByRole('heading', { name, exact: true }).waitFor()
    })
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { on_error: { policy: 'fail' } })).status).toBe(200)
    const { body } = await client.call<{ processors: unknown[] }>('GET', `/v1/pipelines/${id}`)
    expect(body.processors).toMatchObject([{ config: { value: 100 }, on_error: { policy: 'fail' } }])
  })
})

/** What the console's forms keep, send and ask while one fills them in, in a real browser. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, inConsoleOf, openBrowser, type Tab } from '../harness/browser.ts'
import { eventually, service, unique, type Client } from '../harness/client.ts'
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

  it('shows each step its own config when the steps of one SmartModule change places', async () => {
    const id = await stopped(unique('places'), [filter(1), filter(2), filter(3)])
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/change`))
      const step = (number: number) => page.getByRole('group', { name: `Step ${number}` })
      const values = () => Promise.all([1, 2, 3].map((number) => valueOf(page, number).inputValue()))
      await valueOf(page, 3).waitFor()
      expect(await values()).toEqual(['1', '2', '3'])
      // No JSON yet: it stays in the field of its step.
      await valueOf(page, 3).fill('[3')
      await step(2).getByRole('button', { name: 'up', exact: true }).click()
      await eventually('the second is the first', async () => (await values()).join() === '2,1,[3')
      await step(2).getByRole('button', { name: 'remove', exact: true }).click()
      await page.getByRole('group', { name: 'Step 3' }).waitFor({ state: 'detached' })
      expect([await valueOf(page, 1).inputValue(), await valueOf(page, 2).inputValue()]).toEqual(['2', '[3'])
      await valueOf(page, 2).fill('30')
      await page.getByRole('button', { name: 'Show what it changes' }).click()
      await page.getByRole('region', { name: 'What it changes' }).getByText('30').first().waitFor()
    })
  })

  it('takes numbers as people type them, with all their digits', async () => {
    const id = await stopped(unique('numbers'), [{ name: 'dps/sample', config: { share: 0.25 } }])
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/change`))
      const share = page.getByLabel(/^Share/)
      await share.fill('')
      await share.pressSequentially('.5000000000000000055511151231257827')
      expect(await share.inputValue()).toBe('.5000000000000000055511151231257827')
      await page.getByRole('button', { name: 'Show what it changes' }).click()
      await page.getByRole('region', { name: 'What it changes' }).getByText('0.5000000000000000055511151231257827').waitFor()
    })
  })
})

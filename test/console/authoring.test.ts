/** What people make in the console, in a real browser: a pipeline with all of its parts, and a SmartModule. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { codeIn, hasBrowser, pressUntil, useConsole } from '../harness/browser.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { createPipeline, createStream, waitForTotal, write } from '../harness/pipelines.ts'
import { limitMs } from '../harness/machine-speed.ts'

const { client, inConsole } = await useConsole()

describe.skipIf(!hasBrowser)('a pipeline in full', () => {
  it('is made from its connectors’ and steps’ own fields, tried before, and changed by a plan', async () => {
    const [from, to] = [unique('full-from'), unique('full-to')]
    const [source, sink] = [
      await createStream(client, { n: 'integer' }, { name: from }),
      await createStream(client, { n: 'integer' }, { name: to }),
    ]
    await write(client, source.id, [{ n: 5 }, { n: 50 }])
    await inConsole(async ({ page }) => {
      const name = unique('in-full')
      await page.goto(`${service().apiUrl}/console/pipelines/new`)
      await page.getByLabel(/^Name/).fill(name)
      // Why it can't be tried yet.
      await page.getByText('Choose a stream first.').waitFor()
      await page
        .getByRole('group', { name: 'Source' })
        .getByLabel(/^Stream/)
        .selectOption({ label: from })
      await page.getByText('Add a step first.').waitFor()
      await page.getByLabel('Add a step').selectOption({ label: 'dps/filter' })
      const step = page.getByRole('group', { name: 'Step 1' })
      await step.getByLabel(/^Field/).fill('n')
      await step.getByLabel(/^Operator/).selectOption({ label: 'gt' })
      await step.getByLabel(/^Value/).fill('10')
      await pressUntil(page.getByRole('button', { name: /Try on the newest/ }), page.getByText('2 records:'))
      const end = page.getByRole('group', { name: 'Sink' })
      await end.getByLabel('Write to').selectOption({ label: 'table' })
      await end.getByLabel(/^Table/).fill('in_full')
      await end.getByText(/more: .*Create/).click()
      await end.getByLabel(/^Create/).selectOption('false')
      await end.getByRole('button', { name: 'Check by connecting' }).click()
      // Beside the field that it is about.
      const fault = end.locator('.field', { hasText: 'Table' }).locator('small.bad')
      const why = await fault.innerText()
      // Refused for the same reason, it is said there once, and once for the whole form.
      const error = { code: 'invalid_request', message: 'refused', details: [{ path: '/sink/config/table', message: why }] }
      await page.route('**/v1/pipelines', (route) =>
        route.request().method() === 'POST' ? route.fulfill({ status: 400, json: { error } }) : route.continue(),
      )
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.getByRole('alert').getByText('refused').waitFor()
      await eventually('it is said twice', async () => (await page.getByText(why).count()) === 2)
      await page.unroute('**/v1/pipelines')
      await end.getByLabel(/^Create/).selectOption('')
      await end.getByRole('button', { name: 'Check by connecting' }).click()
      await end.getByText('It answers').waitFor()
      await end.getByLabel(/^Table/).fill('in_full_too')
      await end.getByText('It answers').waitFor({ state: 'detached' })
      await end.getByLabel('Write to').selectOption({ label: 'stream' })
      await end.getByLabel(/^Stream/).selectOption({ label: to })
      await page.locator('summary', { hasText: 'The same as' }).click()
      await page.getByRole('button', { name: 'YAML', exact: true }).click()
      const yaml = await page.getByLabel('The same as YAML').innerText()
      // Named, so that a copy of it applies anywhere.
      const copy = parse(yaml.replaceAll(name, `${name}-copy`)) as object
      const plan = await client.call<{ changes: object[] }>('POST', '/v1/manifests/plan', { manifest: copy })
      expect(plan.body.changes).toMatchObject([{ action: 'create', kind: 'pipeline', name: `${name}-copy` }])
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.getByRole('heading', { name }).waitFor()
      await waitForTotal(client, sink.id, 1)

      await page.getByRole('link', { name: 'Change', exact: true }).click()
      await page
        .getByRole('group', { name: 'Step 1' })
        .getByLabel(/^Value/)
        .fill('100')
      await page.getByRole('button', { name: 'Show what it changes' }).click()
      await page.getByText('nothing stops').waitFor()
      const changed = page.getByRole('region', { name: 'What it changes' }).locator('tbody tr')
      expect(await changed.allInnerTexts()).toEqual(['step 1: config.value\t10\t100'])
      await page.getByRole('button', { name: 'Save it' }).click()
      await page.getByRole('heading', { name, exact: true }).waitFor()
      const { body } = await client.call<{ pipelines: { revision: number }[] }>('GET', `/v1/pipelines?name=${encodeURIComponent(name)}`)
      expect(body.pipelines[0]!.revision).toBe(2)
    })
  })
})

/** Puts this source into the editor, over all that is there. */
async function writeCode(page: Page, text: string): Promise<void> {
  await page.getByLabel('Code').press('Control+A')
  await page.keyboard.press('x')
  await eventually('the letter has replaced all', async () => (await codeIn(page)) === 'x')
  await page.keyboard.press('Backspace')
  await page.keyboard.insertText(text)
}

describe.skipIf(!hasBrowser)('a SmartModule', () => {
  it('is written, mended at its line, run over real records and deployed; its next version is compared and promoted', async () => {
    const from = await createStream(client, { amount: 'number' }, { partitions: 1, name: unique('aa-amounts') })
    await write(client, from.id, [{ amount: 12 }, { amount: 120 }])
    await inConsole(async ({ page, context }) => {
      await page.getByRole('link', { name: 'SmartModules' }).click()
      await page.getByRole('link', { name: 'New SmartModule' }).click()
      const code = page.getByLabel('Code')
      const right = await codeIn(page)
      await writeCode(page, right.replace('.number(', '.nomber('))
      await page.getByRole('combobox', { name: /^Records/ }).selectOption(`stream:${from.id}`)
      const line = page.getByRole('button', { name: /line 7:/ })
      await pressUntil(page.getByRole('button', { name: 'Run', exact: true }), line)
      await line.click()
      expect(await page.locator('.cm-lintRange-error').innerText()).toBe('nomber')
      // The click puts the cursor there; what is typed before that would be put there too.
      await eventually('the editor has the focus', () => page.evaluate(() => document.activeElement?.className === 'code'))
      await writeCode(page, right)
      await page.getByLabel(/^Name/).fill('a draft')
      await page.getByLabel(/^Config/).fill('{"least": 7}')
      const other = await context.newPage()
      await other.goto(page.url())
      await eventually('the draft is there', async () => (await codeIn(other)).includes('.number('))
      expect(await other.getByLabel(/^Name/).inputValue()).toBe('a draft')
      expect(await other.getByLabel(/^Config/).inputValue()).toContain('"least": 7')
      await other.close()
      await code.press('Control+Enter')
      // Compiled first, which takes its time where the machine has other work.
      await page.getByText('2 records:').waitFor({ timeout: limitMs(60_000) })
      expect(await page.getByRole('region', { name: 'What became of the records' }).locator('.badge').allTextContents()).toEqual([
        'filtered',
        'delivered',
      ])
      const name = unique('big-only')
      await page.getByLabel(/^Name/).fill(name)
      await page.getByRole('button', { name: 'Deploy', exact: true }).click()
      await page.getByRole('heading', { name }).waitFor()
      await page.getByText('version 1.0.0', { exact: true }).waitFor()
      await page.getByLabel(/^Config/).fill('{"least": 1}')
      // The next version is tried beside the first in a pipeline, and becomes the running one.
      const to = await createStream(client, { amount: 'number' })
      const id = await createPipeline(client, from.id, [{ name, config: {} }], to.id)
      await writeCode(page, (await codeIn(page)).replace('> 50', '> 5'))
      await page.getByText('What differs from version 1.0.0').click()
      expect(await page.getByLabel('What differs from version 1.0.0').innerText()).toMatch(/- .*> 50\n\+ .*> 5\n/)
      await page.getByRole('button', { name: 'Deploy the next version' }).click()
      await page.getByText('version 1.0.1', { exact: true }).waitFor()
      expect(await page.getByLabel(/^Config/).inputValue()).toBe('{"least": 1}')
      await page.getByText('Versions and tests').click()
      await page.getByRole('region', { name: 'Versions' }).getByText('1.0.1').waitFor()
      await page.goto(`${service().apiUrl}/console/pipelines/${id}`)
      await page.locator('summary', { hasText: 'Try another version' }).click()
      await page.getByLabel('Version').selectOption('1.0.1')
      await page.getByLabel('May fail').selectOption('0.01')
      await page.getByRole('button', { name: 'Try it' }).click()
      await page
        .getByRole('region', { name: 'Records that would differ' })
        .getByText('{ "amount": 12 }')
        .waitFor({ timeout: limitMs(40_000) })
      expect((await client.call('GET', `/v1/pipelines/${id}/canary`)).body).toMatchObject({ version: '1.0.1', max_failing: 0.01 })
      await page.getByRole('button', { name: 'Promote 1.0.1' }).click()
      await page.locator('.chain').getByText('1.0.1').waitFor()
    })
  })
})

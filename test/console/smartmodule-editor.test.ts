/** A SmartModule beside the records that it is for, in a real browser: dead letters, kept tests, its config, and its way into pipelines. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { codeIn, hasBrowser, pressUntil, useConsole } from '../harness/browser.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { createPipeline, createStream, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'

const { client, inConsole } = await useConsole()
const at = (path: string): string => `${service().apiUrl}/console/${path}`

const HALVED = `import { Path, Record } from 'dps'
const count = new Path('count')
export class Settings {
  /** What is added to each. */
  more: i32 = 0
}
export const settings = new Settings()
export function filter(record: Record): bool {
  if (record.integer(count) == 0) record.fail('nothing to halve')
  return true
}
`
const MENDED = HALVED.replace(`record.fail('nothing to halve')`, 'return false')

const records = (page: Page) => page.getByRole('combobox', { name: /^Records/ })
const badges = (page: Page) => page.getByRole('region', { name: 'What became of the records' }).locator('.badge').allTextContents()
/** The editor's text is replaced through its own draft, as it is found after a reload. */
async function writeDraft(page: Page, code: string): Promise<void> {
  await page.getByLabel('Code').press('Control+A')
  await page.keyboard.press('Backspace')
  await page.keyboard.insertText(code)
  await eventually('the code is there', async () => (await codeIn(page)).trim() === code.trim())
}

describe.skipIf(!hasBrowser)('a SmartModule that fails records', () => {
  it('is mended beside its dead letters, keeps them as a test, and goes into its pipelines at once or as a canary', async () => {
    const schema = { count: 'integer' }
    const [from, to] = [await createStream(client, schema, { partitions: 1 }), await createStream(client, schema, { partitions: 1 })]
    const name = unique('halved')
    const { body: module } = await client.call<{ id: string }>('POST', '/v1/smartmodules', {
      name,
      source: { language: 'typescript', code: HALVED },
    })
    const more = { failure_threshold: 1 }
    const steps = [
      { name: 'dps/cel', config: { set: { count: 'value.count - 1' } } },
      { name, config: { more: 7 } },
    ]
    const [first, second] = [
      await createPipeline(client, from.id, steps, to.id, more),
      await createPipeline(client, from.id, steps, to.id, more),
    ]
    await waitForStatus(client, first, 'running')
    await write(client, from.id, [{ count: 1 }, { count: 5 }, { count: 1 }])
    await waitForTotal(client, to.id, 2)
    await eventually('two are dead letters', async () => {
      const { body } = await client.call<{ total: number }>('GET', `/v1/pipelines/${first}/dead-letters`)
      return body.total === 2
    })
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${first}/dead-letters`))
      await page.locator('.groups a').first().click()
      await page.getByRole('link', { name: 'Edit it beside these records' }).click()
      await eventually('they are chosen', async () => (await records(page).inputValue()) === `letters:${first}`)
      // Its step’s config, in the SmartModule’s own fields.
      await eventually('it has the step’s config', async () => (await page.getByLabel('More').inputValue()) === '7')
      await pressUntil(page.getByRole('button', { name: 'Run', exact: true }), page.getByText('2 records:'))
      expect(await badges(page)).toEqual(['dead letter', 'dead letter'])
      await writeDraft(page, MENDED)
      await page.getByLabel('Code').press('Control+s')
      await eventually('they are dropped', async () => (await badges(page)).join() === 'filtered,filtered', 60_000)
      await page.getByLabel('Test', { exact: true }).fill('drops what is empty')
      await pressUntil(page.getByRole('button', { name: 'Keep these as a test' }), page.getByText('Test drops what is empty, 2 records'))
      await page.getByRole('button', { name: 'Deploy the next version' }).click()
      await page.getByText('version 1.0.1', { exact: true }).waitFor()
      const { body: version } = await client.call<{ tests: unknown[] }>('GET', `/v1/smartmodules/${module.id}/versions/1.0.1`)
      // As they came into the step, not as they are in the source.
      expect(version.tests).toMatchObject([
        {
          title: 'drops what is empty',
          config: { more: 7 },
          records: [{ value: { count: 0 } }, { value: { count: 0 } }],
          out: [],
          failures: [],
        },
      ])

      const used = page.getByRole('region', { name: 'Pipelines that use it' })
      await used.locator('tr').first().getByRole('button', { name: 'Swap to 1.0.1' }).click()
      await eventually('one has it', async () => (await used.innerText()).includes('step 2 runs 1.0.1'))
      await used.getByRole('link', { name: 'Canary first' }).click()
      await page.getByRole('heading', { name: 'Canary' }).waitFor()
      const field = (name: RegExp) => page.getByRole('combobox', { name })
      expect([await field(/^Step/).inputValue(), await field(/^Version/).inputValue()]).toEqual(['2', '1.0.1'])
      await page.getByLabel('May fail').selectOption('0.01')
      await page.getByRole('button', { name: 'Try it' }).click()
      await page.getByText('in shadow beside 1.0.0').waitFor({ timeout: limitMs(40_000) })
      const revisions = await Promise.all(
        [first, second].map(async (id) => (await client.call<{ revision: number; canary?: object }>('GET', `/v1/pipelines/${id}`)).body),
      )
      expect(revisions.map(({ processors }) => (processors as { version: string }[])[1]!.version).toSorted()).toEqual(['1.0.0', '1.0.1'])

      await page.goto(at(`smartmodules/${module.id}?records=test:0`))
      await pressUntil(page.getByRole('button', { name: 'Run', exact: true }), page.getByText('As the test says.'))
      await writeDraft(page, HALVED)
      await pressUntil(page.getByRole('button', { name: 'Run', exact: true }), page.getByText('The test says otherwise'))
      await page.getByRole('button', { name: 'Deploy the next version' }).click()
      await page
        .getByText('test 1')
        .first()
        .waitFor({ timeout: limitMs(60_000) })
      await page.getByRole('button', { name: 'Drop test drops what is empty' }).click()
      await page.getByRole('button', { name: 'Deploy the next version' }).click()
      await page.getByText('version 1.0.2', { exact: true }).waitFor()
    })
  })
})

describe.skipIf(!hasBrowser)('a built-in SmartModule', () => {
  it('is tried on real records by the fields of its config, and taken into a pipeline with that', async () => {
    const from = await createStream(client, { n: 'integer' }, { partitions: 1, name: unique('aa-built-in') })
    await write(client, from.id, [{ n: 1 }, { n: 5 }])
    const { body } = await client.call<{ modules: { id: string }[] }>('GET', '/v1/smartmodules?name=dps/filter')
    await inConsole(async ({ page }) => {
      await page.goto(at(`smartmodules/${body.modules[0]!.id}?records=stream:${from.id}`))
      await page.getByText('It is built in').waitFor()
      await page.getByLabel(/^Field/).fill('n')
      await page.getByLabel(/^Operator/).selectOption('gt')
      await page.getByLabel(/^Value/).fill('3')
      await pressUntil(page.getByRole('button', { name: 'Run', exact: true }), page.getByText('2 records:'))
      expect(await badges(page)).toEqual(['filtered', 'delivered'])
      await page.getByRole('link', { name: 'Use it in a pipeline' }).click()
      const step = page.getByRole('group', { name: 'Step 1' })
      await step.getByLabel(/^Value/).waitFor()
      expect(await step.getByLabel(/^Value/).inputValue()).toBe('3')
    })
  })
})

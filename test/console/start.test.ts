/** The form for a first pipeline, where another has its name by now, in a real browser. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { hasBrowser, useConsole } from '../harness/browser.ts'
import { service, unique } from '../harness/client.ts'
import { createStream } from '../harness/pipelines.ts'

const { client, inConsole } = await useConsole()

/** The form, before it knows which names there are. */
async function openForm(page: Page): Promise<void> {
  await page.route('**/v1/streams?*', () => {})
  await page.goto(`${service().apiUrl}/console/start`)
  await page.getByRole('heading', { name: 'New pipeline' }).waitFor()
}

const streams = async (): Promise<string[]> => {
  const { body } = await client.call<{ streams: { name: string }[] }>('GET', '/v1/streams?page_size=100')
  return body.streams.map(({ name }) => name)
}

describe.skipIf(!hasBrowser)('a first pipeline whose name is taken', () => {
  it('gets the next free one where the name was proposed', async () => {
    for (const name of ['orders', 'orders-2-filtered']) await createStream(client, { id: 'string' }, { name })
    await inConsole(async ({ page }) => {
      await openForm(page)
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.getByRole('heading', { name: 'orders-3-pipeline' }).waitFor()
    })
    // Of the attempts before it nothing is left.
    expect((await streams()).toSorted()).toEqual(['orders', 'orders-2-filtered', 'orders-3', 'orders-3-filtered'])
  })

  it('is made with the next free one on a click where a person chose the name', async () => {
    const name = unique('chosen')
    await createStream(client, { id: 'string' }, { name })
    await inConsole(async ({ page }) => {
      await openForm(page)
      await page.getByLabel(/^Name/).fill(name)
      await page.getByRole('button', { name: 'Make the pipeline' }).click()
      await page.getByRole('alert').getByText(`a stream named "${name}" already exists`).waitFor()
      await page.getByRole('button', { name: `Make it as ${name}-2` }).click()
      await page.getByRole('heading', { name: `${name}-2-pipeline` }).waitFor()
    })
  })
})

describe.skipIf(!hasBrowser)('a first pipeline of records that a stream would refuse', () => {
  it('takes no file that is not UTF-8: its texts would be others', async () => {
    await inConsole(async ({ page }) => {
      await openForm(page)
      const before = await page.getByLabel('Some records').inputValue()
      const buffer = Buffer.from('id,land\na,Österreich\n', 'latin1')
      await page.getByLabel('A file instead').setInputFiles({ name: 'latin.csv', mimeType: 'text/csv', buffer })
      await page.getByText('is not UTF-8').waitFor()
      expect(await page.getByLabel('Some records').inputValue()).toBe(before)
      // Nor is anything made of what was there before.
      await page.getByLabel(/^Name/).fill(unique('latin'))
      for (const button of ['Make the pipeline', 'Try it on them']) {
        await page.getByRole('button', { name: button }).click()
        await page.getByText('is not UTF-8').waitFor()
        expect(await page.getByText('delivered').count()).toBe(0)
      }
      expect(page.url()).toContain('/console/start')
      await page.getByLabel('Some records').fill('{"id":"a","amount":70}')
      await page.getByRole('button', { name: 'Try it on them' }).click()
      await page.getByText('1 record').first().waitFor()
    })
  })

  it('is refused at the trial already, beside the records', async () => {
    await inConsole(async ({ page }) => {
      await openForm(page)
      await page.getByLabel('Some records').fill('{"id": "a1", "meta": {}}\n{"id": "a2", "meta": {"serial": 9007199254740993}}')
      await page.getByRole('button', { name: 'Try it on them' }).click()
      await page.getByText('record 2, meta, serial: a number that JSON readers would round; in quotes it keeps all digits').waitFor()
    })
  })
})

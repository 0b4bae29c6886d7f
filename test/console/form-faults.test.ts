/** What the console says of what people type wrong, and where; ways that lead on. In a real browser. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { hasBrowser, useConsole } from '../harness/browser.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { createPipeline, createStream, waitForTotal, write } from '../harness/pipelines.ts'

const { client, inConsole } = await useConsole()
const at = (path: string) => `${service().apiUrl}/console/${path}`
/** What is said beside a field. */
const beside = (page: Page, field: RegExp) =>
  page.locator('label.field', { has: page.locator('span', { hasText: field }) }).locator('small.bad')

describe.skipIf(!hasBrowser)('a fault', () => {
  it('of a new stream is said beside its field, and in words', async () => {
    const taken = unique('taken')
    await createStream(client, { n: 'integer' }, { name: taken })
    await inConsole(async ({ page }) => {
      await page.goto(at('streams'))
      await page.getByText('New stream', { exact: true }).click()
      await page.getByLabel('Name', { exact: true }).fill(taken)
      const make = page.getByRole('button', { name: 'Make the stream' })
      await page.getByLabel(/^Fields/).fill('id: string')
      await make.click()
      await beside(page, /^Fields$/)
        .getByText('is not JSON')
        .waitFor()
      await page.getByLabel(/^Fields/).fill('{"id": "text"}')
      await make.click()
      await beside(page, /^Fields$/)
        .getByText(/^id must be a type name/)
        .waitFor()
      await page.getByLabel(/^Fields/).fill('{"id": "string"}')
      await make.click()
      await beside(page, /^Name$/)
        .getByText(/taken|exists/)
        .waitFor()
      // It is not said once more below.
      expect(await page.locator('.refused').count()).toBe(0)
      await page.goto(at('start'))
      await page.getByLabel(/^Some records/).fill('a;b\n1;2')
      await page.getByRole('button', { name: 'Try it on them' }).click()
      await beside(page, /^Some records$/)
        .getByText('line 1 is not a JSON object, nor the header of CSV with commas')
        .waitFor()
    })
  })

  it('of a connector’s field that is not JSON keeps it from being checked without that', async () => {
    await inConsole(async ({ page }) => {
      await page.goto(at('pipelines/new'))
      const source = page.getByRole('group', { name: 'Source' })
      await source.getByLabel('Read from').selectOption({ label: 'http' })
      await source.getByLabel(/^U(RL|rl)/).fill(`${service().apiUrl}/health`)
      await source.getByText(/more: .*Authentication/).click()
      const field = source.getByLabel(/^Auth/)
      await field.fill('my-token')
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await source.getByRole('button', { name: 'Check by connecting' }).click()
      await eventually('the field has the focus', () => field.evaluate((each) => each === document.activeElement))
      expect(asked.filter((url) => url.endsWith('/check'))).toEqual([])
    })
  })
})

describe.skipIf(!hasBrowser)('a new SmartModule', () => {
  it('of a name that is taken makes no version of the other one, and the page of what sources can use is there', async () => {
    const name = unique('mine')
    const code = `import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }\n`
    await client.call('POST', '/v1/smartmodules', { name, source: { language: 'typescript', code } })
    await inConsole(async ({ page }) => {
      await page.goto(at('smartmodules/new'))
      await page.getByLabel('Name').fill(name)
      await page.getByRole('button', { name: 'Deploy' }).click()
      await page.getByText(`A SmartModule named ${name} exists already`).waitFor()
      const href = await page.getByRole('link', { name: 'What sources can use' }).getAttribute('href')
      expect((await fetch(href!)).status).toBe(200)
      expect((await fetch(href!.replace(/\.html$/, ''))).url).toBe(href)
    })
    const { body } = await client.call<{ modules: { name: string; version: string }[] }>('GET', `/v1/smartmodules?name=${name}`)
    expect(body.modules.find((each) => each.name === name)?.version).toBe('1.0.0')
  })
})

describe.skipIf(!hasBrowser)('a record', () => {
  it('leads to the one before it, over the markers of transactions', async () => {
    const [from, middle, to] = [
      await createStream(client, { n: 'integer' }, { partitions: 1 }),
      await createStream(client, { n: 'integer' }, { partitions: 1 }),
      await createStream(client, { n: 'integer' }, { partitions: 1 }),
    ]
    await createPipeline(client, from.id, [], middle.id)
    const reader = await createPipeline(client, middle.id, [], to.id)
    for (let n = 1; n <= 2; n++) {
      await write(client, from.id, [{ n }])
      await waitForTotal(client, to.id, n)
    }
    type Records = { records: { offset: number }[] }
    const { body } = await client.call<Records>('GET', `/v1/streams/${middle.id}/records?partition=0&limit=10`)
    const [first, second] = body.records.map(({ offset }) => offset)
    expect(second).toBeGreaterThan(first! + 1)
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${reader}/records/0/${second}`))
      await page.getByRole('link', { name: `← offset ${first}` }).click()
      await page.getByRole('heading', { name: `Record 0:${first}` }).waitFor()
      await page.getByRole('heading', { name: 'As it came' }).waitFor()
      await page.getByRole('link', { name: `offset ${second} →` }).waitFor()
      expect(await page.getByRole('link', { name: /←/ }).count()).toBe(0)
    })
  })
})

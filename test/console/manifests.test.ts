/** A manifest in the console: planned, applied as it was planned, changed and exported, in a real browser. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { hasBrowser, useConsole } from '../harness/browser.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { limitMs } from '../harness/machine-speed.ts'

const { client, inConsole, newTab } = await useConsole()

const STREAMS = { from: 'string', to: 'string', more: 'string' }
/** A set with streams of these names and a pipeline between them. */
const manifestOf = (set: string, { source = 'from', least = 1, streams = Object.keys(STREAMS) } = {}) => ({
  dps: 1,
  set,
  streams: Object.fromEntries(streams.map((name) => [`${set}-${name}`, { schema: { n: 'integer' } }])),
  pipelines: {
    [`${set}-kept`]: {
      source: { stream: `${set}-${source}` },
      steps: [{ module: 'dps/filter', with: { field: 'n', operator: 'gt', value: least } }],
      sink: { stream: `${set}-to` },
    },
  },
})

const field = (page: Page) => page.getByLabel('Manifest', { exact: false }).and(page.locator('textarea'))
const show = (page: Page) => page.getByRole('button', { name: 'Show what it changes' })

/** The plan's rows, once they are there: the name and the change of each. */
async function planned(page: Page, manifest: unknown): Promise<string[]> {
  await field(page).fill(JSON.stringify(manifest))
  await show(page).click()
  await page.getByRole('heading', { name: 'What it changes' }).waitFor()
  return shown(page)
}
async function shown(page: Page): Promise<string[]> {
  const names = await page
    .locator('.scroll > table > tbody > tr > th')
    .evaluateAll((all) => all.map((each) => each.firstChild!.textContent))
  const changes = await page.locator('.scroll > table > tbody > tr > td .badge').allInnerTexts()
  return names.map((name, index) => `${name} ${changes[index]}`)
}

async function applied(page: Page, button: string | RegExp): Promise<void> {
  await page.getByRole('button', { name: button }).click()
  await page.getByRole('heading', { name: 'What was changed' }).waitFor({ timeout: limitMs(60_000) })
}

const idOf = async (name: string): Promise<string | undefined> => {
  const { body } = await client.call<{ pipelines: { id: string; name: string }[] }>('GET', '/v1/pipelines?page_size=100')
  return body.pipelines.find((each) => each.name === name)?.id
}

describe.skipIf(!hasBrowser)('a manifest', () => {
  it('is applied as it was planned: what is made, changed live, made anew and removed', async () => {
    const set = unique('shop')
    await inConsole(async ({ page }) => {
      await page.getByRole('link', { name: 'Manifests' }).click()
      expect(await planned(page, manifestOf(set))).toEqual([
        `${set}-from created`,
        `${set}-to created`,
        `${set}-more created`,
        `${set}-kept created`,
      ])
      await applied(page, 'Apply these 4 changes')
      const first = await idOf(`${set}-kept`)
      expect(first).toBeDefined()

      expect(await planned(page, manifestOf(set, { least: 2 }))).toEqual([`${set}-kept changed live`])
      expect(await page.locator('.difference tr').allInnerTexts()).toEqual(['step 1: with.value\t1\t2'])
      await applied(page, 'Apply this change')
      expect(await idOf(`${set}-kept`)).toBe(first)

      // What loses something is asked for by name.
      await field(page).fill(JSON.stringify(manifestOf(set, { least: 2, source: 'more', streams: ['to', 'more'] })))
      await show(page).click()
      await page.getByRole('alert').getByText('which loses its position').waitFor()
      await page.getByLabel(`delete the pipeline ${set}-kept and make it anew`).check()
      await page.getByLabel('remove members of the set').check()
      await show(page).click()
      await page.getByText('Lost: its position, its dead letters, and the address that records are pushed to.').waitFor()
      expect(await shown(page)).toEqual([`${set}-kept replaced`, `${set}-from removed`])
      await page.getByText('Lost: its records').waitFor()
      await applied(page, 'Apply these 2 changes')
      expect(await idOf(`${set}-kept`)).not.toBe(first)

      await show(page).click()
      await page.getByText('Nothing: all is as it should be (3 unchanged).').waitFor()
    })
  })

  it('is not applied by a plan that is out of date, nor by one of another text', async () => {
    const set = unique('stale')
    await inConsole(async ({ page }) => {
      await page.goto(`${service().apiUrl}/console/manifests`)
      await planned(page, manifestOf(set))
      await client.call('POST', '/v1/streams', { name: `${set}-more`, schema: { n: 'integer' } })
      await page.getByRole('button', { name: 'Apply these 4 changes' }).click()
      await page.getByRole('alert').getByText('plan again').waitFor()
      await show(page).click()
      await page.getByRole('heading', { name: 'What it changes' }).waitFor()
      expect(await shown(page)).toContain(`${set}-more adopted`)
      await field(page).fill(JSON.stringify(manifestOf(set, { streams: ['from', 'to'] })))
      await page.getByRole('heading', { name: 'What it changes' }).waitFor({ state: 'detached' })
      expect(await page.getByRole('button', { name: /^Apply/ }).count()).toBe(0)
    })
    expect(await idOf(`${set}-kept`)).toBeUndefined()
  })

  it('is taken from files in YAML, with the sources and tests that it names', async () => {
    const set = unique('files')
    const yaml = [
      'dps: 1',
      `set: ${set}`,
      'streams:',
      `  ${set}-from: { schema: { n: integer } } # a comment`,
      'smartmodules:',
      `  ${set}-odd: { source: ./src/odd.ts, tests: ./odd.json }`,
      'pipelines:',
    ].join('\n')
    const source = `import { Path, Record } from 'dps'
const n = new Path('n')
export function filter(record: Record): bool { return record.integer(n) % 2 == 1 }
`
    const tests = [{ records: [{ value: { n: 1 } }, { value: { n: 2 } }], out: [{ n: 1 }] }]
    const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
    await inConsole(async ({ page }) => {
      await page.goto(`${service().apiUrl}/console/manifests`)
      await page.getByLabel(/^Files/).setInputFiles([file('shop.yaml', yaml), file('odd.ts', source)])
      await eventually('it is there', async () => (await field(page).inputValue()) === yaml)
      await show(page).click()
      await page.getByRole('alert').getByText(`The SmartModule ${set}-odd names ./odd.json: choose that file too`).waitFor()
      await page.getByLabel(/^Files/).setInputFiles([file('odd.json', '[]'), file('shop.yml', yaml.replace('integer', 'intger'))])
      await page.getByText('with odd.ts, odd.json').waitFor()
      await show(page).click()
      await page.getByRole('alert').getByText('schema').first().waitFor()
      await field(page).fill(`${yaml}\nset: again`)
      await show(page).click()
      await page
        .getByRole('alert')
        .getByText(/^line 8, column 1: duplicated mapping key/)
        .waitFor()
      await page.getByLabel(/^Files/).setInputFiles([file('odd.json', JSON.stringify(tests)), file('shop.yaml', yaml)])
      await eventually('it is there again', async () => (await field(page).inputValue()) === yaml)
      await show(page).click()
      await page.getByRole('heading', { name: 'What it changes' }).waitFor({ timeout: limitMs(60_000) })
      expect(await shown(page)).toEqual([`${set}-from created`, `${set}-odd created`])
      await applied(page, 'Apply these 2 changes')
    })
    const { body } = await client.call<{ modules: { id: string }[] }>('GET', `/v1/smartmodules?name=${set}-odd`)
    const version = await client.call('GET', `/v1/smartmodules/${body.modules[0]!.id}/versions/1.0.0`)
    expect(version.body).toMatchObject({ source: { code: source }, tests })
  })

  it('is dropped as a file, exported, and changed from there', async () => {
    const set = unique('copied')
    const manifest = manifestOf(set)
    expect((await client.call('POST', '/v1/manifests/apply', { manifest })).status).toBe(200)
    await inConsole(async ({ page }) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog').getByRole('combobox').fill('manifests')
      await page.keyboard.press('Enter')
      const dropped = await page.evaluateHandle(() => {
        const data = new DataTransfer()
        data.items.add(new File(['dps: 1\nset: shop\n'], 'shop.yaml'))
        return data
      })
      await field(page).dispatchEvent('drop', { dataTransfer: dropped })
      await eventually('it is there', async () => (await field(page).inputValue()) === 'dps: 1\nset: shop\n')
      await field(page).fill('')
      await page.getByRole('region', { name: 'A set as it is' }).getByRole('combobox').selectOption(set)
      await page.getByRole('button', { name: 'Export' }).click()
      const text = page.getByLabel('The set as a manifest')
      const exported = JSON.parse(await text.innerText()) as { set: string; pipelines: Record<string, unknown> }
      expect([exported.set, Object.keys(exported.pipelines)]).toEqual([set, [`${set}-kept`]])
      await page.getByRole('button', { name: 'copy', exact: true }).last().click()
      await eventually('it is copied', async () => (await page.evaluate(() => navigator.clipboard.readText())) === (await text.innerText()))
      await page.getByRole('button', { name: 'change it' }).click()
      await show(page).click()
      await page.getByText('Nothing: all is as it should be (4 unchanged).').waitFor()
    })
  })

  it('is only planned by a member who may look', async () => {
    const { body } = await client.call<{ sign_in_token: string }>('POST', '/v1/members', {
      name: 'Vera',
      email: `${unique('vera')}@example.com`,
      role: 'viewer',
    })
    const tab = await newTab()
    const { page } = tab
    await page.goto(`${service().apiUrl}/console/#link=${body.sign_in_token}`)
    await page.getByRole('button', { name: 'Sign in by the link' }).click()
    await page.getByRole('link', { name: 'Manifests' }).click()
    await planned(page, manifestOf(unique('looked-at')))
    expect(await page.getByRole('button', { name: 'Apply these 4 changes' }).isEnabled()).toBe(false)
    await tab.context.close()
  })
})

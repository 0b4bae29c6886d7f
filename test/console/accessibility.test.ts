/** Every screen in both themes and two widths: no violation of WCAG 2.2 AA, nothing wider than the page, nothing that the CSP refuses. */
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, picture, pressUntil, signInTo, useConsole, violations, type Tab } from '../harness/browser.ts'
import { eventually, patiently, service, unique } from '../harness/client.ts'
import { createPipeline, createStream, waitForStatus, write } from '../harness/pipelines.ts'

const { client, accountId, newTab } = await useConsole()
let screens: [name: string, path: string][]
/** Its plan makes a stream, adopts one, and changes a pipeline. */
let manifest: unknown
beforeAll(async () => {
  if (!hasBrowser) return
  const schema = { id: 'string', city: 'string', amount: 'number' }
  const [source, sink] = [{ stream: unique('orders') }, { stream: unique('kept') }]
  const from = await createStream(client, schema, { partitions: 1, name: source.stream })
  const to = await createStream(client, schema, { name: sink.stream })
  const steps = [{ name: 'dps/cel', config: { filter: 'value.amount > 50.0', set: { share: '1 / int(value.amount - 99.0)' } } }]
  const name = unique('orders-above-fifty')
  const id = await createPipeline(client, from.id, steps, to.id, { name })
  await waitForStatus(client, id, 'running')
  await write(
    client,
    from.id,
    Array.from({ length: 20 }, (_, n) => ({ id: `a${n}`, city: n % 2 ? 'Wien' : 'Berlin', amount: 92 + n })),
  )
  await createPipeline(client, from.id, [], to.id, { autostart: false, name: unique('not-started') })
  await eventually('one has failed', async () => {
    const { body } = await client.call<{ groups: unknown[] }>('GET', `/v1/pipelines/${id}/dead-letters/groups`)
    return body.groups.length > 0
  })
  // It fails again: its record has a redrive to show, and the list of jobs a job.
  const redriven = await patiently(() => client.call<{ id: string }>('POST', `/v1/pipelines/${id}/dead-letters/redrive`, {}))
  await eventually('its redrive has ended', async () => {
    const { body } = await client.call<{ status: string }>('GET', `/v1/jobs/${redriven.body.id}`)
    return body.status === 'finished'
  })
  await patiently(() => client.call('POST', '/v1/secrets', { name: unique('warehouse'), value: 'open sesame' }))
  const { body: module } = await patiently(() =>
    client.call<{ id: string }>('POST', '/v1/smartmodules', {
      name: unique('large-only'),
      source: {
        language: 'typescript',
        code: "import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }\n",
      },
    }),
  )
  const builtIn = await client.call<{ modules: { id: string }[] }>('GET', '/v1/smartmodules?name=dps/cel')
  manifest = {
    dps: 1,
    set: 'shop',
    streams: { [source.stream]: { schema, partitions: 1 }, [unique('refunds')]: { schema } },
    pipelines: { [name]: { source, steps: [{ module: 'dps/cel', with: { filter: 'value.amount > 60.0' } }], sink } },
  }
  screens = [
    ['pipelines', ''],
    ['pipeline', `pipelines/${id}`],
    ['record', `pipelines/${id}/records/0/9`],
    ['record-failed', `pipelines/${id}/records/0/7`],
    ['dead-letters', `pipelines/${id}/dead-letters`],
    ['start', 'start'],
    ['pipeline-new', 'pipelines/new'],
    ['pipeline-change', `pipelines/${id}/change`],
    ['streams', 'streams'],
    ['stream', `streams/${from.id}`],
    ['smartmodules', 'smartmodules'],
    ['editor', 'smartmodules/new'],
    ['smartmodule', `smartmodules/${module.id}`],
    ['built-in', `smartmodules/${builtIn.body.modules[0]!.id}?records=letters:${id}`],
    ['connectors', 'connectors'],
    ['lineage', 'lineage'],
    ['jobs', 'jobs'],
    ['manifests', 'manifests'],
    ['access', 'access'],
    ['audit', 'audit'],
    ['you', 'you'],
  ]
})

const LOOKS = (['light', 'dark'] as const).flatMap((theme) => [1440, 320].map((width) => ({ theme, width })))

/** Waits until nothing is being read. */
async function settled({ page }: Tab): Promise<void> {
  await page.locator('h1').first().waitFor()
  await eventually('everything is read', async () => (await page.getByText('Reading…').count()) === 0)
}

describe.skipIf(!hasBrowser)('a screen', () => {
  it.each(LOOKS)('is accessible and fits: $theme, $width px', async (look) => {
    const tab = await newTab(look)
    const found: string[] = []
    await tab.page.goto(`${service().apiUrl}/console/`)
    await tab.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const check = async (name: string): Promise<void> => {
      found.push(...(await violations(tab.page)).map((each) => `${name}: ${each}`))
      const wider = await tab.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      if (wider > 0) found.push(`${name}: ${wider} px wider than the page`)
      if (look.width === 320) {
        // The cells of a row go on below.
        const cut = await tab.page.locator('.scroll > table > tbody > tr > *').evaluateAll((all) => {
          const endOf = (of: Element): number => Math.floor(of.getBoundingClientRect().right)
          return all.filter((cell) => endOf(cell) > endOf(cell.closest('.scroll')!)).map(({ textContent }) => textContent)
        })
        if (cut.length > 0) found.push(`${name}: out of sight: ${cut.slice(0, 3).join(' | ')}`)
      }
      const high = await tab.page.evaluate(() => document.querySelector('header.top')?.clientHeight ?? 0)
      if (high > 90) found.push(`${name}: its header is ${high} px high`)
      await picture(tab.page, `${name}-${look.theme}-${look.width}`)
    }
    await check('sign-in')
    await signInTo(tab, accountId)
    for (const [name, path] of screens) {
      await tab.page.goto(`${service().apiUrl}/console/${path}`)
      await settled(tab)
      if (name === 'dead-letters') {
        await tab.page.locator('.groups a').first().click()
        await pressUntil(tab.page.getByRole('button', { name: /^Try on/ }), tab.page.locator('.fix td .badge'))
      }
      if (name === 'pipeline') {
        await tab.page.getByRole('button', { name: 'Show the newest' }).click()
        await tab.page.getByRole('region', { name: 'Newest records' }).waitFor()
      }
      if (name === 'smartmodule' || name === 'built-in') {
        await tab.page.locator('summary', { hasText: 'Versions' }).click()
        await pressUntil(
          tab.page.getByRole('button', { name: 'Run', exact: true }),
          tab.page.getByRole('region', { name: 'What became of the records' }),
        )
      }
      if (name === 'smartmodule') {
        await tab.page.getByLabel('Test', { exact: true }).fill('keeps all')
        await pressUntil(tab.page.getByRole('button', { name: 'Keep these as a test' }), tab.page.getByText('Test keeps all'))
      }
      if (name === 'start') await tab.page.locator('summary', { hasText: 'The same as' }).click()
      if (name === 'manifests') {
        await tab.page.getByLabel(/^Manifest/).fill(JSON.stringify(manifest))
        await tab.page.getByRole('button', { name: 'Show what it changes' }).click()
        await tab.page.locator('.difference').waitFor()
        // What is not saved would ask before the next screen.
        tab.page.once('dialog', (dialog) => void dialog.accept())
      }
      if (name === 'access') {
        await tab.page.locator('summary', { hasText: 'New key' }).click()
        const reads = await tab.page
          .getByRole('checkbox', { name: /:read$/ })
          .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().x))
        if (new Set(reads).size !== 1) found.push('access: what a key may read is not in one column')
      }
      await check(name)
    }
    if (look.width === 320) {
      // What the narrow header leaves out is one press away.
      await tab.page.getByRole('button', { name: 'Menu' }).click()
      await tab.page.getByRole('button', { name: 'Sign out' }).waitFor()
      await tab.page.getByRole('link', { name: 'Streams' }).click()
      await tab.page.getByRole('heading', { name: 'Streams' }).waitFor()
      await tab.page.getByRole('button', { name: 'Sign out' }).waitFor({ state: 'hidden' })
    }
    expect(found).toEqual([])
    expect(tab.complaints).toEqual([])
    await tab.context.close()
  })
})

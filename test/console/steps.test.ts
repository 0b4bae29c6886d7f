/** What the console lets one do with a step: fill in its config, and try another one beside the running one, in a real browser. */
import { describe, expect, it } from 'vitest'
import { hasBrowser, useConsole } from '../harness/browser.ts'
import { service } from '../harness/client.ts'
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
      const value = page.getByRole('region', { name: 'Canary' }).getByLabel(/^Value/)
      await value.waitFor()
      expect(await value.inputValue()).toBe('10')
      const tryIt = page.getByRole('button', { name: 'Try it' })
      await page.getByText('Choose another version, or change the config, first.').waitFor()
      expect(await tryIt.isEnabled()).toBe(false)
      await value.fill('1')
      await tryIt.click()
      const differing = page.getByRole('region', { name: 'Records that would differ' })
      await differing.getByText('{ "n": 5 }').waitFor({ timeout: limitMs(40_000) })
      await page.getByText('with another config').waitFor()
      await page.getByRole('button', { name: 'Promote the config' }).click()
      await page.getByRole('button', { name: 'Promote the config' }).waitFor({ state: 'detached' })
      // What it found stays to be read.
      await page.getByRole('region', { name: 'Canary' }).getByText('promoted').waitFor()
      await differing.getByText('{ "n": 5 }').waitFor()
    })
    const { body } = await client.call<{ processors: { config: unknown }[] }>('GET', `/v1/pipelines/${id}`)
    expect(body.processors[0]!.config).toEqual({ field: 'n', operator: 'gt', value: 1 })
  })
})

describe.skipIf(!hasBrowser)('a config whose members have any names', () => {
  it('has a row for each, and JSON only where a value needs it', async () => {
    const [from, to] = [await createStream(client, { a: 'any' }), await createStream(client, { a: 'any' })]
    const kept = { type: 'decimal', decimal_point: ',' }
    const cast = { name: 'dps/cast', config: { fields: { amount: kept, n: 'integer' } } }
    const id = await createPipeline(client, from.id, [cast], to.id, { autostart: false })
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/change`))
      const own = page.getByRole('group', { name: 'Step 1' })
      const [options, type] = [own.getByLabel('Fields: value 1'), own.getByLabel('Fields: value 2')]
      await type.selectOption('date')
      expect(JSON.parse(await options.inputValue())).toEqual(kept)
      await own.getByRole('button', { name: 'add' }).click()
      await own.getByLabel('Fields: name 3').fill('n')
      await own.getByLabel('Fields: value 3').selectOption('boolean')
      // Two can't have one name.
      expect(await own.getByLabel('Fields: name 3').evaluate((input: HTMLInputElement) => input.validationMessage)).toContain('already')
      await own.getByLabel('Fields: name 3').fill('paid')
      await page.getByLabel('Add a step').selectOption({ label: 'dps/cel' })
      const cel = page.getByRole('group', { name: 'Step 2' })
      await cel.getByLabel(/^Filter/).fill('value.n > 1')
      const assignments = cel.getByRole('group', { name: 'Set' })
      await assignments.getByRole('button', { name: 'add' }).click()
      await cel.getByLabel('Set: name 1').fill('double')
      await cel.getByLabel('Set: value 1').fill('value.n * 2')
      await assignments.getByRole('button', { name: 'add' }).click()
      await assignments.getByRole('button', { name: 'remove' }).last().click()
      await page.getByRole('button', { name: 'Show what it changes' }).click()
      await page.getByRole('button', { name: 'Save it' }).click()
      await page.getByRole('link', { name: 'Change', exact: true }).waitFor()
    })
    const { body } = await client.call<{ processors: { config: unknown }[] }>('GET', `/v1/pipelines/${id}`)
    expect(body.processors.map(({ config }) => config)).toEqual([
      { fields: { amount: kept, n: 'date', paid: 'boolean' } },
      { filter: 'value.n > 1', set: { double: 'value.n * 2' } },
    ])
  })
})

describe.skipIf(!hasBrowser)('a config’s member that is a text or a list of texts', () => {
  it('has a row for each, and stays a text or a list as it came', async () => {
    const [from, to] = [await createStream(client, { a: 'any' }), await createStream(client, { a: 'any' })]
    const steps = ['value.items', ['value.a', 'value.b'], ['[value]'], 'value'].map((emit) => ({ name: 'dps/cel', config: { emit } }))
    const id = await createPipeline(client, from.id, steps, to.id, { autostart: false })
    await inConsole(async ({ page }) => {
      await page.goto(at(`pipelines/${id}/change`))
      const emit = (step: number) => page.getByRole('group', { name: `Step ${step}` }).getByRole('group', { name: 'Emit' })
      const row = (step: number, number: number) => emit(step).getByLabel(`Emit: value ${number}`)
      await row(4, 1).waitFor()
      expect(await Promise.all([row(1, 1), row(2, 1), row(2, 2), row(3, 1)].map((each) => each.inputValue()))).toEqual([
        'value.items',
        'value.a',
        'value.b',
        '[value]',
      ])
      await row(1, 1).fill('value.items.map(i, i.n)')
      await emit(2).getByRole('button', { name: 'remove' }).last().click()
      await row(3, 1).fill('[value, value]')
      await emit(4).getByRole('button', { name: 'add' }).click()
      await row(4, 2).fill('{"of": value}')
      // One that is new begins without any.
      await page.getByLabel('Add a step').selectOption({ label: 'dps/cel' })
      await emit(5).getByRole('button', { name: 'add' }).click()
      await row(5, 1).fill('value')
      await page.getByRole('button', { name: 'Show what it changes' }).click()
      await page.getByRole('button', { name: 'Save it' }).click()
      await page.getByRole('link', { name: 'Change', exact: true }).waitFor()
    })
    const { body } = await client.call<{ processors: { config: unknown }[] }>('GET', `/v1/pipelines/${id}`)
    expect(body.processors.map(({ config }) => config)).toEqual([
      { emit: 'value.items.map(i, i.n)' },
      { emit: ['value.a'] },
      { emit: ['[value, value]'] },
      { emit: ['value', '{"of": value}'] },
      { emit: 'value' },
    ])
  })
})
